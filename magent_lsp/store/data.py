"""YAML and JSON as plain values that remember on which line each key stands."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from magent_lsp.core.errors import ConfigError

Keys = tuple[str | int, ...]
"""The way from the top to a value: keys of mappings, indices of lists."""

MAX_NODES = 20_000
"""Counted with aliases expanded, so that a small file cannot grow huge."""
MAX_DEPTH = 60
MAX_NUMBER = 10**15
"""A larger one stays text: nothing here is counted so far, and sums with it could fail."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PREFIX = "tag:yaml.org,2002:"


@dataclass(frozen=True, kw_only=True)
class Data:
    """A parsed file."""

    value: Any = None
    """None, bool, int, float, str, list and dict with str keys; nothing else."""
    lines: Mapping[Keys, int] = field(default_factory=dict)
    """Where each key or item stands, from 1."""
    duplicates: tuple[tuple[Keys, Any], ...] = ()
    """Keys that were given again, with the later value; `value` holds the first."""

    def line(self, *keys: str | int) -> int | None:
        """The line of a key, else of the nearest thing around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)


def parse_yaml(text: str, *, first_line: int = 1) -> Data:
    """Parse one YAML document; ConfigError has the line. Dates stay text, tags are refused."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip().count("\n")  # what is missing at the end is missing there, not behind it
        line = min(mark.line, last) + first_line if mark else None
        raise ConfigError(_explain(error), line=line) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigError(f"is no valid YAML: {str(error).splitlines()[0]}") from None
    reader = _Reader(first_line)
    value = None if node is None else reader.value(node, ())
    return Data(value=value, lines=reader.lines, duplicates=tuple(reader.duplicates))


def parse_json(text: str) -> Data:
    """Parse JSON; ConfigError has the line."""
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_int=lambda digits: _sane(int(digits), digits),
            parse_float=lambda digits: _sane(float(digits), digits),
            object_pairs_hook=_first_wins,
        )
    except json.JSONDecodeError as error:
        raise ConfigError(f"is no valid JSON: {error.msg}", line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is no valid JSON: {error}") from None
    try:  # JSON is YAML but for tabs and surrogate pairs, and only the YAML parser knows lines
        places = parse_yaml(_SURROGATE.sub(r"\\u0020", text.replace("\t", " ")))
    except ConfigError:
        places = Data()
    return Data(value=value, lines=places.lines, duplicates=places.duplicates)


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        result.setdefault(key, value)
    return result


def _sane(number: int | float, text: str) -> int | float | str:
    return number if -MAX_NUMBER <= number <= MAX_NUMBER else text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _explain(error: yaml.MarkedYAMLError) -> str:
    """What the parser said, with what people usually have to do about it."""
    said = error.problem or "syntax error"
    if "tab" in said:
        return "a tab cannot indent YAML; use blanks"
    if "scanning an alias" in (error.context or "") or "scanning an anchor" in (error.context or ""):
        return 'a text that begins with "*" or "&" must be in quotes, as in "*": ask'
    if "mapping values are not allowed" in said:
        return 'a text that holds ": " must be in quotes'
    context = f" {error.context}" if error.context else ""
    return f"is no valid YAML: {said}{context}"


class _Reader:
    """Turns YAML nodes into values; a class only for what it collects."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.lines: dict[Keys, int] = {}
        self.duplicates: list[tuple[Keys, Any]] = []
        self.scalars = SafeConstructor()
        self.count = 0
        self.merges = 0
        """Mappings that are being merged at the moment: they do not lengthen the way to a value."""

    def error(self, node: yaml.Node, reason: str) -> ConfigError:
        return ConfigError(reason, line=node.start_mark.line + self.first_line)

    def value(self, node: yaml.Node, keys: Keys) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise self.error(node, f"holds more than {MAX_NODES} values")
        if len(keys) + self.merges > MAX_DEPTH:
            raise self.error(node, f"is nested more than {MAX_DEPTH} levels deep, or holds itself")
        self.lines.setdefault(keys, node.start_mark.line + self.first_line)
        match node:
            case yaml.ScalarNode():
                return self.scalar(node)
            case yaml.SequenceNode() if node.tag == _PREFIX + "seq":
                return [self.value(item, (*keys, index)) for index, item in enumerate(node.value)]
            case yaml.MappingNode() if node.tag == _PREFIX + "map":
                return self.mapping(node, keys)
        raise self.error(node, f"the tag {node.tag!r} is not supported; remove it")

    def mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error(key_node, "a key must be plain text; put it in quotes")
            if key_node.tag == _PREFIX + "merge":
                bases = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for base in bases:
                    self.merges += 1
                    value = self.value(base, keys)
                    self.merges -= 1
                    if not isinstance(value, dict):
                        raise self.error(value_node, "`<<` takes a mapping")
                    merged = {**value, **merged}
                continue
            key: str = key_node.value
            if key in result:
                self.duplicates.append(((*keys, key), self.value(value_node, (*keys, f"{key} (again)"))))
                self.lines[(*keys, f"{key} (again)")] = key_node.start_mark.line + self.first_line
                continue
            self.lines[(*keys, key)] = key_node.start_mark.line + self.first_line
            result[key] = self.value(value_node, (*keys, key))
        return {**merged, **result}

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        match node.tag.removeprefix(_PREFIX):
            case "str" | "timestamp" | "value":
                return text
            case "null":
                return None
            case "bool" if text.lower() in self.scalars.bool_values:
                return self.scalars.bool_values[text.lower()]
            case "int" | "float" if ":" in text:
                return text  # YAML 1.1 would read 12:30 as a number to the base 60
            case "int" | "float":
                return self.number(node)
        raise self.error(node, f"the tag {node.tag!r} is not supported; remove it")

    def number(self, node: yaml.ScalarNode) -> int | float | str:
        try:
            is_int = node.tag == _PREFIX + "int"
            number: int | float = (
                self.scalars.construct_yaml_int(node) if is_int else self.scalars.construct_yaml_float(node)
            )
        except (ValueError, OverflowError, ConstructorError):
            return str(node.value)
        return _sane(number, str(node.value))
