"""The registry of agents: whose definition of a name counts, and what was wrong with the others."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from magent_lsp.core.agent import Agent, AgentMode
from magent_lsp.permissions.rules import Layer, Source, parse_permission
from magent_lsp.store.agent_file import LoadedAgent, agent_of
from magent_lsp.store.agent_save import save_agent
from magent_lsp.store.collect import Definition, collect, native_first
from magent_lsp.store.config_project import without_secrets
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import NO_TEXTS, Texts, is_markdown
from magent_lsp.store.permission import as_mapping
from magent_lsp.store.places import Place, places
from magent_lsp.store.problems import Problem

__all__ = ["Registry", "load_agents", "save_agent"]


@dataclass(frozen=True, kw_only=True)
class Registry:
    """All agents, hidden ones too."""

    agents: Mapping[str, Agent]
    layers: Mapping[str, Layer]
    """The permission layer of each agent; its rules know their lines."""
    problems: tuple[Problem, ...] = ()

    def listed(self, *modes: AgentMode) -> tuple[Agent, ...]:
        """The agents that people and models may pick; with modes, those that can serve in one of them."""
        wanted = {*modes, "all"} if modes else {"primary", "subagent", "all"}
        return tuple(a for a in self.agents.values() if not a.hidden and a.mode in wanted)


def load_agents(
    folder: Path | None,
    dirs: Dirs,
    trusted: bool,
    *,
    root: Path | None = None,
    previous: Registry | None = None,
    texts: Texts = NO_TEXTS,
) -> Registry:
    """All agents a project sees; the first place that defines a name wins.

    A file that can no longer be read keeps its agent of `previous`. Without that, the agent that takes
    its place asks for everything, since the file may have held rules that are stricter.
    """
    collected = collect(
        "agent",
        tuple(places("agents", folder, dirs, trusted, root, texts)),
        is_markdown,
        _read,
        keep=lambda path, place: _kept(previous, path, place),
    )
    chosen = {
        name: _asking(loaded) if name in collected.shadowed else loaded
        for name, loaded in collected.chosen.items()
        if not loaded.disabled
    }
    ordered = native_first(chosen, lambda loaded: loaded.agent.native)
    return Registry(
        agents={name: loaded.agent for name, loaded in ordered.items()},
        layers={name: loaded.layer for name, loaded in ordered.items()},
        problems=tuple(collected.problems),
    )


def _read(path: Path, place: Place) -> Definition[LoadedAgent]:
    loaded = agent_of(place.read(path), trusted=place.trusted, native=place.native)
    problems = loaded.problems
    options, secret = without_secrets(loaded.agent.options)
    if place.project is not None and secret:
        loaded = replace(loaded, agent=replace(loaded.agent, options=options))
        message = f"'options': a project may not hold API keys; ignored: {', '.join(map(repr, secret))}"
        problems = (*problems, Problem(message=message, path=path))
    return Definition(name=loaded.agent.name, path=path, item=loaded, problems=problems)


def _kept(previous: Registry | None, path: Path, place: Place) -> Definition[LoadedAgent] | None:
    """The agent that a file defined before it broke, unless the project lost its trust since."""
    if previous is None:
        return None
    for name, agent in previous.agents.items():
        if agent.source == path and agent.trusted == place.trusted:
            return Definition(
                name=name, path=path, item=LoadedAgent(agent=agent, layer=previous.layers[name])
            )
    return None


def _asking(loaded: LoadedAgent) -> LoadedAgent:
    """The agent with `ask` for all that it allows, and for all that it has no rule for."""
    source = Source(name=f"the file of the agent {loaded.agent.name!r}, which cannot be read")
    kept = (
        replace(rule, verdict="ask", source=source) if rule.verdict == "allow" else rule
        for rule in loaded.layer.rules
    )
    rules = (*kept, *parse_permission({"*": "ask"}, source)[0])
    return replace(
        loaded,
        agent=replace(loaded.agent, permission=as_mapping(rules)),
        layer=replace(loaded.layer, rules=rules),
    )
