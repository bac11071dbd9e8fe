"""Rules as people write them: which tool, which pattern, which verdict, and where that is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from magent_lsp.core.request import Scope
from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.paths import MAX_PATTERN, pattern_problem
from magent_lsp.permissions.tools import OUTSIDE, READ_ONLY, TEXT_TOOLS, TOOLS

if TYPE_CHECKING:
    from magent_lsp.permissions.groups import Group

LayerName = Literal["default", "agent", "user", "project", "client", "environment", "grant"]

LAYERS: Final = get_args(LayerName)
"""From the weakest to the strongest."""

USER_LEVEL: Final[frozenset[str]] = frozenset({"user", "client", "environment", "grant"})
"""Layers that only the person can write."""

STRICTNESS: Final[Mapping[Verdict, int]] = {"allow": 0, "ask": 1, "deny": 2}

MAX_RULES: Final = 500
"""In one source; more is a mistake, or an attempt to make every call slow."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a rule is written."""

    name: str
    """`built-in defaults`, `agent plan`, a config path, `--allow`, `MAGENT_PERMISSION`, `grant 3`."""
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One line of a permission: what it speaks of and what it says."""

    tool: str
    """A tool's name, or a glob of names."""
    pattern: str
    verdict: Verdict
    source: Source

    def __str__(self) -> str:
        return f"`{self.tool}: {self.pattern}: {self.verdict}` of {self.source}"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The rules of one origin; layers are never merged."""

    name: LayerName
    rules: tuple[Rule, ...]
    trusted: bool = True
    """False: a project that is not trusted; counts only where it is stricter."""

    @cached_property
    def by_tool(self) -> Mapping[str, list[Rule]]:
        """The rules by the name or glob of their tool."""
        result: dict[str, list[Rule]] = {}
        for rule in self.rules:
            result.setdefault(rule.tool, []).append(rule)
        return result

    @cached_property
    def groups(self) -> "dict[str, tuple[Group, ...]]":
        """What `groups.entries` found out, by tool."""
        return {}

    @cached_property
    def closings(self) -> "dict[str, Group]":
        """What `groups.closing` found out, by tool."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything that decides about the calls of one run."""

    layers: tuple[Layer, ...]
    parent: "Policy | None" = None
    """The policy of the agent that delegated; the stricter of both counts."""
    scope: Scope | None = None
    sandboxed: bool = False
    """Commands run in the sandbox: what cannot be analysed follows the rules alone."""
    headless_allow: tuple[Rule, ...] = ()
    """`--allow` of the command line: opens what is otherwise always asked."""

    @property
    def confined(self) -> bool:
        """Whether the run was started on less than the whole project, so that its commands may only read."""
        return any(policy.scope is not None and policy.scope.kind != "project" for policy in self.chain())

    def chain(self) -> Iterator["Policy"]:
        """This policy and those of its parents."""
        policy: Policy | None = self
        while policy is not None:
            yield policy
            policy = policy.parent


def stricter(one: Verdict, other: Verdict) -> Verdict:
    """The stricter of two verdicts."""
    return one if STRICTNESS[one] >= STRICTNESS[other] else other


Lines = Mapping[tuple[str, ...], int]
"""Line numbers by key: `("bash",)` or `("bash", "git *")`."""


def parse_permission(
    value: Any, source: Source, lines: Lines | None = None
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of a `permission` setting and what is wrong with it, in words; mistakes become denies."""
    parser = _Parser(source, lines or {})
    if isinstance(value, str):
        parser.add(("*",), "*", value)
    elif isinstance(value, Mapping):
        for tool, entry in value.items():
            parser.tool(tool, entry)
    else:
        parser.problem(
            (), f"`permission` must be a verdict or a map of tools, not {value!r}; everything is denied"
        )
        parser.add(("*",), "*", "deny")
    if len(parser.rules) > MAX_RULES:
        parser.problem((), f"more than {MAX_RULES} rules; everything is denied")
        parser.rules = []
        parser.add(("*",), "*", "deny")
    return tuple(parser.rules), tuple(parser.problems)


class _Parser:
    """Collects the rules and the problems of one source."""

    def __init__(self, source: Source, lines: Lines) -> None:
        self.source = source
        self.lines = lines
        self.rules: list[Rule] = []
        self.problems: list[str] = []

    def tool(self, name: Any, entry: Any) -> None:
        """Read what is said of one tool."""
        if not isinstance(name, str) or not name.strip():
            self.problem((), f"{name!r} is not the name of a tool; write it as text")
            return
        known = known_tool(name)
        if not known:
            self.problem((name,), f"there is no tool {name!r}; its rules grant nothing")
        if isinstance(entry, Mapping):
            if not entry:
                self.problem((name,), f"{name!r} has no patterns; it is denied")
                self.add((name,), "*", "deny")
            for pattern, verdict in entry.items():
                self.pattern(name, pattern, verdict, known)
        else:
            self.add((name,), "*", entry if known else "deny")

    def pattern(self, tool: str, pattern: Any, verdict: Any, known: bool) -> None:
        """Read one pattern of a tool."""
        if not isinstance(pattern, str):
            self.problem(
                (tool,), f"pattern {pattern!r} of {tool!r} is not text; quote it. All of {tool!r} is denied"
            )
            self.add((tool,), "*", "deny")
            return
        problem = text_problem(pattern) if tool in TEXT_TOOLS else pattern_problem(pattern)
        if problem:
            self.problem(
                (tool, pattern), f"pattern {pattern!r} of {tool!r}: {problem}. All of {tool!r} is denied"
            )
            self.add((tool, pattern), "*", "deny")
            return
        self.add((tool, pattern), pattern, verdict if known else "deny")

    def add(self, keys: tuple[str, ...], pattern: str, verdict: Any) -> None:
        """Make the rule; whatever is not a verdict is a deny."""
        if not isinstance(verdict, str) or verdict not in STRICTNESS:
            named = " of ".join(repr(key) for key in reversed(keys))
            wrong = f"{named}: {verdict!r} is not a verdict (allow, ask, deny){_hint(verdict)}"
            self.problem(keys, f"{wrong}; it counts as deny")
            verdict = "deny"
        source = Source(name=self.source.name, line=self.line(keys))
        for tool in ("edit_file", "write_file") if keys[0] == "edit" else (keys[0],):
            self.rules.append(Rule(tool=tool, pattern=pattern, verdict=verdict, source=source))

    def line(self, keys: tuple[str, ...]) -> int | None:
        """The line of a key, or of the one around it."""
        while keys:
            if keys in self.lines:
                return self.lines[keys]
            keys = keys[:-1]
        return self.source.line

    def problem(self, keys: tuple[str, ...], message: str) -> None:
        """Report a mistake with its place."""
        line = self.line(keys)
        self.problems.append(f"{self.source.name}{f':{line}' if line else ''}: {message}")


def text_problem(pattern: str) -> str | None:
    """Why a text pattern cannot be used, in words; None if it can."""
    if not pattern.strip():
        return "the pattern is empty"
    if pattern.startswith("@") and pattern != READ_ONLY:
        return f"the only named set is `{READ_ONLY}`"
    return (
        f"the pattern is longer than {MAX_PATTERN * 10} characters"
        if len(pattern) > MAX_PATTERN * 10
        else None
    )


def known_tool(name: str) -> bool:
    """Whether a key of `permission` can mean one of our tools."""
    return name in TOOLS or name == "edit" or name.startswith(OUTSIDE) or "*" in name


def _hint(verdict: Any) -> str:
    if isinstance(verdict, bool):
        return "; YAML reads `yes`, `no`, `on` and `off` as true and false"
    if isinstance(verdict, str) and verdict.strip().lower() in STRICTNESS:
        return f"; write {verdict.strip().lower()!r}"
    return ""
