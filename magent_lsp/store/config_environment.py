"""Settings from `MAGENT_*` variables and from the command line."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from magent_lsp.core.config import Settings
from magent_lsp.core.errors import ConfigError
from magent_lsp.permissions.rules import Rule, Source, parse_permission
from magent_lsp.store.config_values import fields_of, section_of
from magent_lsp.store.data import Data, Keys, parse_json
from magent_lsp.store.problems import Problem
from magent_lsp.store.toolnames import permission_tools

PREFIX = "MAGENT_"
RESERVED = frozenset({"MAGENT_CONFIG", "MAGENT_STATE_DIR"})
"""Variables that are not settings; see `Dirs`."""


def variables(
    model: type[BaseModel] = Settings, keys: Keys = (), prefix: str = PREFIX
) -> dict[str, tuple[Keys, FieldInfo]]:
    """Every variable with its setting, as `MAGENT_BASH_TIMEOUT_SECONDS` for `bash.timeoutSeconds`."""
    result: dict[str, tuple[Keys, FieldInfo]] = {}
    for (key, field), name in zip(fields_of(model).items(), model.model_fields, strict=True):
        variable = f"{prefix}{name.upper()}"
        result[variable] = ((*keys, key), field)
        if inner := section_of(field):
            result |= variables(inner, (*keys, key), f"{variable}_")
    return result


def from_environment(environ: Mapping[str, str]) -> tuple[Data, Mapping[Keys, str], tuple[Problem, ...]]:
    """The settings in the environment, the variable that each came from, and what is wrong."""
    known = variables()
    value: dict[str, Any] = {}
    names: dict[Keys, str] = {}
    problems: list[Problem] = []
    duplicates: tuple[tuple[Keys, Any], ...] = ()
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and name not in RESERVED):
        text = environ[variable].strip()
        if variable not in known:
            problems.append(Problem(message=f"the variable {variable!r} is no setting; it is ignored"))
            continue
        keys, field = known[variable]
        if not text:
            continue
        if keys == ("permission",):
            item, duplicates, more = _permission(text)
            problems += more
        else:
            item, error = _value(text, field)
            if error:
                problems.append(Problem(message=f"{variable}: {error}"))
                continue
        names[keys] = variable
        inner = value.setdefault(str(keys[0]), {}) if len(keys) > 1 else value
        if isinstance(inner, dict):
            inner[str(keys[-1])] = item
    return Data(value=value, duplicates=duplicates), names, tuple(problems)


def _value(text: str, field: FieldInfo) -> tuple[Any, str]:
    """A variable's text as a value, or what is wrong with it."""
    kind = str(field.annotation)
    if text[0] in "{[" and not kind.startswith("<class 'str'>"):
        try:
            return parse_json(text).value, ""
        except ConfigError as error:
            return None, f"{error.reason}; it is ignored"
    if kind.startswith("list"):
        return [part.strip() for part in text.split(",") if part.strip()], ""
    if "bool" in kind and text.lower() in ("true", "false", "1", "0", "yes", "no", "on", "off"):
        return text.lower() in ("true", "1", "yes", "on"), ""
    return text, ""


def _permission(text: str) -> tuple[Any, tuple[tuple[Keys, Any], ...], list[Problem]]:
    """JSON or one verdict; what is neither makes everything ask."""
    if text in ("allow", "ask", "deny"):
        return text, (), []
    try:
        data = parse_json(text)
    except ConfigError as error:
        message = f"MAGENT_PERMISSION {error.reason}; every tool asks"
        return {"*": "ask"}, (), [Problem(message=message, severity="error")]
    return data.value, tuple((("permission", *keys), value) for keys, value in data.duplicates), []


def allow_rules(allow: Sequence[str]) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    """The rules of `--allow TOOL[:PATTERN]`."""
    rules: list[Rule] = []
    problems: list[Problem] = []
    for item in allow:
        tool, colon, pattern = item.partition(":")
        if not tool.strip() or (colon and not pattern.strip()):
            problems.append(
                Problem(message=f"--allow {item!r} must be TOOL or TOOL:PATTERN", severity="error")
            )
            continue
        for name in permission_tools(tool.strip()):
            value = {name: {pattern: "allow"} if colon else "allow"}
            found, words = parse_permission(value, Source(name="--allow"))
            rules += found
            problems += (Problem(message=f"--allow {item!r}: {word}", severity="error") for word in words)
    return tuple(rules), tuple(problems)
