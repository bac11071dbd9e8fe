"""One agent's file: Markdown whose front matter says who acts, and whose body is the system prompt."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from magent_lsp.core.agent import Agent, AgentMode
from magent_lsp.core.errors import ConfigError
from magent_lsp.permissions.rules import Layer, Rule, Source, parse_permission
from magent_lsp.store import toolnames
from magent_lsp.store.fields import Fields
from magent_lsp.store.frontmatter import Front, read_front
from magent_lsp.store.keys import AGENT, canonical_names
from magent_lsp.store.permission import as_mapping, read_permission
from magent_lsp.store.problems import Problem

SPELLINGS = {
    "maxsteps": "maxturns",
    "steps": "maxturns",
    "permissions": "permission",
    "disabled": "disable",
}
"""Other programs' words, without dashes and capitals."""
KEYS = canonical_names(AGENT)
"""Each key without dashes and capitals, and as we write it."""
SESSION_MODELS = frozenset({"inherit", "sonnet", "opus", "haiku"})
"""Models that mean the session's."""


@dataclass(frozen=True, kw_only=True)
class LoadedAgent:
    """What one file says."""

    agent: Agent
    layer: Layer
    disabled: bool = False
    problems: tuple[Problem, ...] = ()


def read_agent(path: Path, *, trusted: bool = True, native: bool = False) -> LoadedAgent:
    """Read one file; ConfigError if it defines no agent."""
    return agent_of(read_front(path), trusted=trusted, native=native)


def agent_of(front: Front, *, trusted: bool = True, native: bool = False) -> LoadedAgent:
    """The agent that a parsed file defines; ConfigError if it defines none."""
    fields = _AgentFields(front, KEYS, SPELLINGS)
    path = front.path
    name = fields.text("name") or path.stem
    if len(name) > 64 or not name.isprintable():
        raise ConfigError(
            "the name must be at most 64 printable characters", path=path, line=fields.line("name")
        )
    description = fields.text("description")
    disabled = fields.flag("disable")
    if not description and not disabled:
        raise ConfigError("an agent needs a `description`", path=path, line=1)
    if not front.body and not disabled:
        fields.report("this agent has no text below its front matter, so its prompt is empty")
    tools, denied, listed = fields.tools()
    source = f"the built-in agent {name}" if native else f"agent {name} ({path})"
    rules = (*listed, *fields.permission(source))
    if native:  # nobody looks up the lines of these
        rules = tuple(replace(rule, source=Source(name=source)) for rule in rules)
    model = fields.text("model")
    agent = Agent(
        name=name,
        description=description,
        prompt=front.body,
        mode=fields.mode(),
        hidden=fields.flag("hidden"),
        native=native,
        model=None if model in SESSION_MODELS or not trusted else model or None,
        temperature=fields.number("temperature", 2),
        top_p=fields.number("topp", 1),
        max_turns=fields.count("maxturns"),
        color=fields.text("color") or None,
        tools=tools,
        denied_tools=denied,
        permission=as_mapping(rules),
        options=dict(fields.mapping("options")) if trusted else {},
        source=path,
        trusted=trusted,
    )
    layer = Layer(name="agent", rules=rules, trusted=trusted)
    return LoadedAgent(agent=agent, layer=layer, disabled=disabled, problems=tuple(fields.problems))


class _AgentFields(Fields):
    """What only agents say."""

    def mode(self) -> AgentMode:
        value = self.get("mode")
        if value in ("primary", "subagent", "all"):
            return cast(AgentMode, value)
        if value is not None:
            self.bad("mode", "primary, subagent or all")
        return "all"

    def permission(self, source: str) -> tuple[Rule, ...]:
        if "permission" not in self.keys:
            return ()
        rules, problems = read_permission(
            self.front.data, (self.keys["permission"],), source, self.front.path
        )
        self.problems += problems
        return rules

    def tools(self) -> tuple[frozenset[str] | None, frozenset[str], tuple[Rule, ...]]:
        """The tools it is limited to, those it never has, and rules for entries with a pattern."""
        allowed: frozenset[str] | None = None
        denied: set[str] = set()
        rules: list[Rule] = []
        value = self.get("tools")
        listed = toolnames.entries(value)
        if isinstance(value, dict):
            allowed, denied = self._switches(value)
        elif listed is not None:
            known = [entry for entry in listed if entry.known]
            allowed = None if any(e.name == "*" for e in known) else frozenset(e.name for e in known)
            narrowed = toolnames.restriction(known, otherwise="ask")
            rules += self._rules({k: v for k, v in narrowed.items() if isinstance(v, dict)}, "tools")
        elif value is not None:
            allowed = frozenset()
            message = (
                "'tools' must be a list, a text or a mapping of name to true or false; no tool is offered"
            )
            self.report(message, self.keys["tools"], error=True)
        never = self.get("disallowedtools")
        for entry in toolnames.entries(never) or ():
            if not entry.known:
                self.report(
                    f"{entry.name!r} is no tool here, so it is not denied either",
                    self.keys["disallowedtools"],
                )
            elif entry.patterns:
                rules += self._rules({entry.name: dict.fromkeys(entry.patterns, "deny")}, "disallowedtools")
            else:
                denied.add(entry.name)
        if never is not None and toolnames.entries(never) is None:
            self.bad("disallowedtools", "a list or a text")
            denied.add("*")
        return allowed, frozenset(denied), tuple(rules)

    def _switches(self, value: dict[str, Any]) -> tuple[frozenset[str] | None, set[str]]:
        """opencode's `{name: bool}`: false denies; true only counts beside `"*": false`."""
        denied: set[str] = set()
        allowed: set[str] = set()
        for key, on in value.items():
            name = toolnames.tool_name(key)
            if name is None:
                if on is not True:
                    self.report(
                        f"{key!r} is no tool here, so it is not denied either", self.keys["tools"], key
                    )
                continue
            if not isinstance(on, bool):
                self.report(
                    f"{key!r} must be true or false, not {on!r}; the tool is denied", self.keys["tools"], key
                )
            (allowed if on is True else denied).add(name)
        if "*" in denied:
            return frozenset(allowed), denied - {"*"}
        return None, denied

    def _rules(self, permission: dict[str, Any], key: str) -> tuple[Rule, ...]:
        source = Source(name=str(self.front.path), line=self.line(key))
        return parse_permission(permission, source)[0]
