"""Which documents are ours, and what may stand at a place in them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from magent_lsp.core.config import Settings
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.chat.document import KEYS as CHAT
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.own_files import FOLDERS
from magent_lsp.store import keys
from magent_lsp.store.config_values import fields_of, section_of
from magent_lsp.store.keys import Key
from magent_lsp.store.places import KINDS

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

Kind = Literal["chat", "agent", "skill", "command", "config"]

VERDICTS = "allow | ask | deny"

_KEY = re.compile(r"""(\s*(?:-\s+)*)(["']?)([\w.*@/-]+)\2\s*:(?=\s|$)""")
_FRONT: dict[Kind, tuple[Key, ...]] = {"agent": keys.AGENT, "skill": keys.SKILL, "command": keys.COMMAND}
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true | false"}


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A place in a YAML part of a document."""

    path: tuple[str, ...]
    """The keys around the line, outermost first."""
    key: str
    """The key that the line begins with; empty if it has none."""
    start: int
    end: int
    """Columns of that key."""


def selector(edge: "Edge") -> list[dict[str, str]]:
    """The files for which completion and hover are registered."""
    user = edge.dirs.user.as_posix()
    patterns = (f"**/*{SUFFIX}", *(f"**/{folder}/**" for folder in sorted(FOLDERS)), f"{user}/**")
    return [{"scheme": "file", "pattern": pattern} for pattern in patterns]


def kind_of(edge: "Edge", uri: str) -> Kind | None:
    """What kind of file of ours a document is; None for all others."""
    path = to_path(uri)
    if path is None:
        return None
    if path.name.endswith(SUFFIX):
        return "chat"
    if path == edge.dirs.config_file:
        return "config"
    if path.is_relative_to(edge.dirs.user):
        family, inner = ".magent", path.relative_to(edge.dirs.user).parts
    else:
        at = max((number for number, part in enumerate(path.parts) if part in FOLDERS), default=None)
        if at is None:
            return None
        family, inner = path.parts[at], path.parts[at + 1 :]
    return _by_folder(family, inner)


def _by_folder(family: str, inner: Sequence[str]) -> Kind | None:
    """What a file is by its place in a folder of ours or of another program."""
    if inner in (("config.yaml",), ("config.yml",)):
        return "config" if family == ".magent" else None
    if len(inner) < 2 or not inner[-1].endswith(".md"):
        return None
    if inner[0] in KINDS["skills"]:
        return "skill" if inner[-1] == "SKILL.md" else None
    if inner[0] in KINDS["agents"]:
        return "agent"
    return "command" if inner[0] in KINDS["commands"] else None


def yaml_lines(kind: Kind, text: str, line: int) -> Sequence[str] | None:
    """The lines up to and with this one, of a config or of front matter; None outside of it."""
    lines = text.removeprefix("\ufeff").splitlines()[: line + 1]
    lines += [""] * (line + 1 - len(lines))
    if kind == "config":
        return lines
    inside = line > 0 and lines[0].strip() == "---" and all(each.strip() != "---" for each in lines[1:])
    return ["", *lines[1:]] if inside else None


def spot(lines: Sequence[str]) -> Spot:
    """Where the last of these lines is."""
    here = lines[-1]
    match = _KEY.match(here)
    start, end = match.span(3) if match else (len(here) - len(here.lstrip(" -")), 0)
    path: list[str] = []
    column = start
    for text in reversed(lines[:-1]):
        above = _KEY.match(text)
        if above is not None and len(above[1]) < column and not text.lstrip().startswith("#"):
            path.insert(0, above[3])
            column = len(above[1])
    return Spot(path=tuple(path), key=match[3] if match else "", start=start, end=end)


def keys_at(kind: Kind, path: Sequence[str], tools: Sequence[str] = ()) -> tuple[Key, ...]:
    """The keys that are known below a path; `tools` are the names for permissions."""
    if kind == "chat":
        return () if path else CHAT
    if kind == "config":
        return tuple(_setting_keys(path, tools))
    if not path:
        return _FRONT[kind]
    return tuple(_verdicts(path[1:], tools)) if kind == "agent" and path[0] == "permission" else ()


def _setting_keys(path: Sequence[str], tools: Sequence[str]) -> Iterator[Key]:
    match list(path):
        case []:
            yield from (_of_field(name, field) for name, field in fields_of(Settings).items())
        case ["permission", *rest]:
            yield from _verdicts(rest, tools)
        case ["hooks"]:
            yield from keys.EVENT
        case ["hooks", _] | ["hooks", _, "hooks"]:
            yield from keys.HOOK
        case ["mcpServers", _]:
            yield from keys.MCP_SERVER
        case [section]:
            field = fields_of(Settings).get(section)
            inner = section_of(field) if field is not None else None
            if inner is not None:
                yield from (_of_field(name, field) for name, field in fields_of(inner).items())


def _verdicts(path: Sequence[str], tools: Sequence[str]) -> Iterator[Key]:
    """Tools in a permission; patterns are the person's own."""
    if not path:
        for name in ("*", "edit", *tools):
            yield Key(name=name, type=f"{VERDICTS}, or a map of pattern to one of them", meaning="")


def _of_field(name: str, field: FieldInfo) -> Key:
    """A setting, as its model has it."""
    default = field.get_default(call_default_factory=True, validated_data={})
    group = section_of(field) is not None
    shown = "" if group or default is None else json.dumps(default, ensure_ascii=False)
    kind = "group of settings" if group else " or ".join(dict.fromkeys(_types(field.annotation)))
    return Key(name=name, type=kind, meaning=field.description or "", default=shown)


def _types(annotation: Any) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Literal:
        yield " | ".join(str(value) for value in get_args(annotation))
    elif origin in (list, dict):
        yield "list" if origin is list else "mapping"
    elif get_args(annotation):
        for part in get_args(annotation):
            if part is not NoneType:
                yield from _types(part)
    else:
        yield _WORDS.get(annotation, "mapping")


def values_of(key: Key) -> tuple[str, ...]:
    """The values that a key may have, if they can be listed."""
    choices = key.type.partition(",")[0].split(" | ")
    return tuple(choices) if len(choices) > 1 else ()


def markdown(key: Key) -> str:
    """A key explained: meaning, type, default."""
    facts = f"Type: {key.type}"
    if key.default:
        facts += ". Required" if key.default == "required" else f". Default: {key.default}"
    return "\n\n".join(part for part in (f"**{key.name}**", key.meaning, f"{facts}.") if part)
