"""The `permission` of a config or an agent file, entry by entry, so that each rule knows its line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.rules import MAX_RULES, Rule, Source, parse_permission, stricter
from magent_lsp.store.data import Data, Keys
from magent_lsp.store.problems import Problem
from magent_lsp.store.toolnames import permission_tools


def read_permission(
    data: Data, keys: Keys, name: str, path: Path | None = None
) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    """The rules under `keys`, those of keys that were given twice as well, so that the strictest counts."""
    rules: list[Rule] = []
    problems: list[Problem] = []
    for value, line in _entries(data, keys):
        found, more = parse(value, name, line, path)
        rules += found
        problems += more
    if len(rules) > MAX_RULES:
        message = f"more than {MAX_RULES} rules in one `permission`; everything is denied"
        problems.append(Problem(message=message, path=path, line=data.line(*keys), severity="error"))
        rules = [Rule(tool="*", pattern="*", verdict="deny", source=Source(name=name, line=data.line(*keys)))]
    return tuple(rules), tuple(dict.fromkeys(problems))


def parse(
    value: Any, name: str, line: int | None = None, path: Path | None = None
) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    """The rules of one value, and what is wrong with it as problems of its file."""
    source = Source(name=name, line=line)
    rules, words = parse_permission(value, source)
    where = "" if path else f"{name}: "
    return rules, tuple(
        Problem(message=where + word.removeprefix(f"{source}: "), path=path, line=line, severity="error")
        for word in words
    )


def as_mapping(rules: tuple[Rule, ...]) -> dict[str, dict[str, Verdict]]:
    """Rules in the form of the settings: tool to pattern to verdict."""
    result: dict[str, dict[str, Verdict]] = {}
    for rule in rules:
        patterns = result.setdefault(rule.tool, {})
        known = patterns.get(rule.pattern)
        patterns[rule.pattern] = stricter(known, rule.verdict) if known else rule.verdict
    return result


def _entries(data: Data, keys: Keys) -> Iterator[tuple[Any, int | None]]:
    """Every entry as a permission of its own, with its line."""
    value = data.value
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    yield from _split(value, data, keys)
    for place, again in data.duplicates:
        if place[: len(keys)] != keys:
            continue
        marked = (*place[:-1], f"{place[-1]} (again)")
        inner = place[len(keys) :]
        if not inner:
            yield from _split(again, data, marked)
        elif len(inner) == 1:
            yield from _of_tool(str(inner[0]), again, data, marked)
        else:
            for tool in permission_tools(str(inner[0])):
                yield {tool: {inner[1]: again}}, data.line(*marked)


def _split(value: Any, data: Data, keys: Keys) -> Iterator[tuple[Any, int | None]]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield value, data.line(*keys)
        return
    for tool, verdicts in value.items():
        yield from _of_tool(tool, verdicts, data, (*keys, tool))


def _of_tool(tool: str, verdicts: Any, data: Data, keys: Keys) -> Iterator[tuple[Any, int | None]]:
    for name in permission_tools(tool):
        if not isinstance(verdicts, dict) or not verdicts:
            yield {name: verdicts}, data.line(*keys)
            continue
        for pattern, verdict in verdicts.items():
            yield {name: {pattern: verdict}}, data.line(*keys, pattern)
