"""Config and registries of one workspace folder, immutable; a run keeps the one it began with."""

import fnmatch
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from magent_lsp.core.agent import Agent
from magent_lsp.core.config import Settings
from magent_lsp.core.request import Scope
from magent_lsp.core.tool import Tool
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.rules import Layer, Policy, Rule, Source, parse_permission
from magent_lsp.permissions.tools import READ_ONLY
from magent_lsp.store.agents import Registry, load_agents
from magent_lsp.store.commands import Command, load_commands
from magent_lsp.store.config import Loaded, load_settings
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import NO_TEXTS, Texts
from magent_lsp.store.grants import GrantStore
from magent_lsp.store.problems import Problem, bounded
from magent_lsp.store.skills import Skill, load_skills
from magent_lsp.store.trust import TrustStore


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where a snapshot comes from, apart from the folder."""

    dirs: Dirs
    environ: Mapping[str, str]
    client: Mapping[str, Any]
    """The settings of the language client."""
    allow: Sequence[str] = ()
    overrides: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that people and projects configured, as it stood at one moment."""

    folder: Path | None
    settings: Settings
    layers: tuple[Layer, ...]
    """Permission layers of user, project, client and environment."""
    registry: Registry
    commands: Mapping[str, Command]
    skills: Mapping[str, Skill]
    grants: Layer
    """What was allowed for good."""
    trusted: bool
    problems: tuple[Problem, ...]
    loaded: Loaded
    """The settings as they were read; a file that no longer parses keeps its state from here."""
    extra_tools: tuple[Tool, ...] = ()
    """Tools that come from elsewhere, such as MCP servers."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """All agents, hidden ones too."""
        return self.registry.agents

    @property
    def own_tools(self) -> tuple[Tool, ...]:
        """Our tools in their stable order."""
        from magent_lsp.tools.registry import TOOLS  # with the first run: a server that has none does without

        return TOOLS

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools: ours, then those that come from elsewhere."""
        return (*self.own_tools, *self.extra_tools)

    def policy(
        self,
        agent: Agent,
        *,
        grants: tuple[Rule, ...] = (),
        restriction: Mapping[str, Any] | None = None,
        scope: Scope | None = None,
        parent: Policy | None = None,
        scratch: Path | None = None,
    ) -> Policy:
        """The layers of rules for one agent; `restriction` is a command's list of allowed tools."""
        own_rules = self.registry.layers.get(agent.name, Layer(name="agent", rules=()))
        closed = tuple(self._closed(agent.tools, agent.denied_tools, f"tools of agent {agent.name}"))
        if restriction is not None:
            # What limits a child limits here too: the stricter verdict counts, and an allow opens nothing.
            limits, _ = parse_permission(dict(restriction), Source(name="allowed-tools of the command"))
            parent = Policy(layers=(Layer(name="agent", rules=limits),), parent=parent)
        kept = (
            (
                Rule(
                    tool="read_file",
                    pattern=f"{scratch}/**",
                    verdict="allow",
                    source=Source(name="output kept by this program"),
                ),
            )
            if scratch
            else ()
        )
        return Policy(
            layers=(
                default_layer(),
                replace(own_rules, rules=(*self._named(own_rules.rules), *closed)),
                *self.layers,
                Layer(name="grant", rules=(*self.grants.rules, *grants, *kept)),
            ),
            parent=parent,
            scope=scope,
            sandboxed=self.settings.bash.sandbox != "off",
            headless_allow=self.loaded.allow,
        )

    def _named(self, rules: Iterable[Rule]) -> Iterable[Rule]:
        """The rules, with `@read-only` of other tools than `bash` as the names of those that only read."""
        for rule in rules:
            if rule.pattern != READ_ONLY or rule.tool == "bash":
                yield rule
                continue
            for tool in self.extra_tools:
                if tool.kind in ("read", "search") and fnmatch.fnmatchcase(tool.name, rule.tool):
                    yield replace(rule, tool=tool.name, pattern="*")

    def _closed(self, only: frozenset[str] | None, without: frozenset[str], name: str) -> Iterable[Rule]:
        """Denies for the tools that a list leaves out; a list never allows anything by itself."""
        for tool in self.tools:
            left_out = only is not None and not any(fnmatch.fnmatchcase(tool.name, glob) for glob in only)
            denied = any(fnmatch.fnmatchcase(tool.name, glob) for glob in without)
            if left_out or denied:
                yield Rule(tool=tool.name, pattern="*", verdict="deny", source=Source(name=name))


def load_snapshot(
    folder: Path | None, sources: Sources, previous: Snapshot | None = None, texts: Texts = NO_TEXTS
) -> Snapshot:
    """Read everything that is configured for a folder; bad files become problems, never errors."""
    trust = TrustStore(sources.dirs)
    trusted = folder is None or trust.is_trusted(folder)
    loaded = load_settings(
        dirs=sources.dirs,
        folder=folder,
        trusted=trusted,
        client=sources.client,
        environ=sources.environ,
        allow=sources.allow,
        overrides=sources.overrides or {},
        previous=previous.loaded if previous else None,
        texts=texts,
    )
    agents = load_agents(
        folder, sources.dirs, trusted, previous=previous.registry if previous else None, texts=texts
    )
    commands = load_commands(folder, sources.dirs, trusted, texts=texts)
    skills = load_skills(folder, sources.dirs, trusted, texts=texts)
    grants = GrantStore(sources.dirs)
    return Snapshot(
        folder=folder,
        settings=loaded.settings,
        layers=loaded.layers,
        registry=agents,
        commands=commands.commands,
        skills=skills.skills,
        grants=grants.load(),
        trusted=trusted,
        loaded=loaded,
        problems=bounded(
            (
                *loaded.problems,
                *agents.problems,
                *commands.problems,
                *skills.problems,
                *grants.read()[1],
                *_not_served(loaded.settings),
            )
        ),
    )


def _not_served(settings: Settings) -> tuple[Problem, ...]:
    """What is configured and has no effect: people must not wait for tools that never come."""
    if not settings.mcp_servers or importlib.util.find_spec("mcp") is not None:
        return ()
    names = ", ".join(sorted(settings.mcp_servers))
    install = "`pipx inject magent-lsp 'mcp>=2.3,<3'`, or in its environment `pip install 'mcp>=2.3,<3'`"
    message = f"mcpServers ({names}): MCP servers need a further library: {install}"
    return (Problem(message=message, path=None, line=None),)
