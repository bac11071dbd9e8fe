"""The rules of one layer that speak of one tool, sorted so that few of them have to be tried."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from magent_lsp.permissions.globs import text_matches, universal
from magent_lsp.permissions.paths import compile_pattern, fold_name
from magent_lsp.permissions.rules import Layer, Rule
from magent_lsp.permissions.tools import TEXT_TOOLS

_ENDING: Final = re.compile(r"(?:\*\*/)?\*([^*?\[\]\\/~]+)", re.ASCII)
"""`*.pem`: any name with this ending."""


class Group:
    """Rules that are tried together; those on paths are found by the names that they need."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_name: dict[str, list[Rule]] = {}
        self._by_ending: list[tuple[str, Rule]] = []
        self._rest: list[Rule] = []
        for rule in rules:
            self._sort(rule)
        self._endings = tuple(ending for ending, _ in self._by_ending)

    def _sort(self, rule: Rule) -> None:
        if universal(rule.pattern) or rule.tool in TEXT_TOOLS:
            self._rest.append(rule)
            return
        ending = _ENDING.fullmatch(rule.pattern)
        if ending is not None and ending[1].isascii():
            self._by_ending.append((ending[1].lower(), rule))
            return
        needed = compile_pattern(rule.pattern, True).needed
        if needed is None:
            self._rest.append(rule)
        else:
            self._by_name.setdefault(needed, []).append(rule)

    def near(self, names: frozenset[str]) -> Iterator[Rule]:
        """The rules that may match a path with these folded names, and no rule twice."""
        yield from self._rest
        if self._by_name:
            for name in names & self._by_name.keys():
                yield from self._by_name[name]
        if self._endings and any(name.endswith(self._endings) for name in names):
            yield from (
                rule for ending, rule in self._by_ending if any(name.endswith(ending) for name in names)
            )


def names_in(*paths: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """The folded names of some paths, as `Group.near` takes them."""
    return frozenset(fold_name(name) for spellings in paths for names in spellings for name in names)


def entries(layer: Layer, tool: str) -> Sequence[Group]:
    """The rules that may speak of a tool, as groups in the order in which they are tried."""
    known = layer.groups.get(tool)
    if known is None:
        exact = layer.by_tool.get(tool, [])
        globs = [rule for key in _globs(layer, tool) for rule in layer.by_tool[key]]
        rest = layer.by_tool.get("*", []) if tool != "*" else []
        known = layer.groups[tool] = tuple(Group(rules) for rules in (exact, globs, rest) if rules)
    return known


def closing(layer: Layer, tool: str) -> Group:
    """The rules of a layer that ask for or deny particular things, whatever key they are written under."""
    known = layer.closings.get(tool)
    if known is None:
        keys = [key for key in layer.by_tool if tool_matches(key, tool)]
        rules = [
            rule
            for key in keys
            for rule in layer.by_tool[key]
            if rule.verdict != "allow" and not universal(rule.pattern)
        ]
        known = layer.closings[tool] = Group(rules)
    return known


def _globs(layer: Layer, tool: str) -> list[str]:
    return [key for key in layer.by_tool if "*" in key and key not in (tool, "*") and tool_matches(key, tool)]


def tool_matches(glob: str, tool: str) -> bool:
    """Whether a tool's name fits the key of a rule."""
    return glob == tool or ("*" in glob and text_matches(glob, tool))
