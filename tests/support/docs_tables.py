"""Renders tables of the reference from the code; `python -m tests.support.docs_tables` writes them."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from magent_lsp.core.config import Client, Settings
from magent_lsp.core.events import PermissionRequested, RunEvent, ToolCallEvent, camel
from magent_lsp.lsp.commands.names import COMMANDS as NAMES
from magent_lsp.lsp.commands.registry import COMMANDS
from magent_lsp.store.config_environment import variables
from magent_lsp.store.config_project import TIGHTENS
from magent_lsp.store.config_values import fields_of, section_of
from magent_lsp.store.keys import MCP_SERVER
from magent_lsp.tools.registry import TOOLS
from tests.support import clients_matrix, clients_table

DOCS = Path(__file__).parents[2] / "docs"

Rows = Iterator[tuple[str, ...]]


def settings_table() -> str:
    """Every setting with its type, default, variable and meaning."""
    names = {keys: variable for variable, (keys, _) in variables().items()}

    def rows(model: type[BaseModel], above: tuple[str, ...] = ()) -> Rows:
        for key, field in fields_of(model).items():
            keys = (*above, key)
            if inner := section_of(field):
                yield from rows(inner, keys)
                continue
            default = field.get_default(call_default_factory=True, validated_data={})
            shown = "" if default is None else f"`{json.dumps(default)}`"
            yield f"`{'.'.join(keys)}`", kind_of(field), shown, f"`{names[keys]}`", field.description or ""

    return table(("setting", "type", "default", "variable", "meaning"), rows(Settings))


def client_table() -> str:
    """What a client may say that it can do."""
    return table(
        ("key", "type", "default"),
        (
            (f"`{key}`", kind_of(field), f"`{json.dumps(field.default)}`")
            for key, field in fields_of(Client).items()
        ),
    )


def tightening_list() -> str:
    """The settings that an untrusted project may make stricter."""
    names = [f"`{'.'.join(map(str, keys))}`" for keys in TIGHTENS]
    return ", ".join(names) + "."


def kind_of(field: FieldInfo) -> str:
    """A type in the words of people who write YAML."""
    return " or ".join(dict.fromkeys(_kinds(field.annotation)))


def _kinds(annotation: Any) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Literal:
        yield " or ".join(f"`{value}`" for value in get_args(annotation) if value is not None)
    elif origin in (list, dict):
        yield "list" if origin is list else "map"
    elif get_args(annotation):
        for part in get_args(annotation):
            if part is not NoneType:
                yield from _kinds(part)
    else:
        words = {str: "text", int: "whole number", float: "number", bool: "true or false"}
        yield words[annotation]


def table(head: tuple[str, ...], rows: Rows) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def server_table() -> str:
    """The keys of an entry of `mcpServers`."""
    return table(
        ("key", "type", "default", "meaning"),
        ((f"`{key.name}`", key.type, key.default, key.meaning) for key in MCP_SERVER),
    )


def commands_table() -> str:
    """Every editor command with its argument and what it does."""

    def argument(model: type[BaseModel]) -> str:
        fields = (
            f"{field.alias or name}{'' if field.is_required() else '?'}"
            for name, field in model.model_fields.items()
        )
        return ", ".join(fields) or "–"

    def rows() -> Rows:
        for name in NAMES:
            command = COMMANDS[name]
            yield f"`{name}`", argument(command.arguments), sentence(command.run.__doc__)

    return table(("command", "argument", "what it does"), rows())


def tools_table() -> str:
    """Every tool as the model sees it."""

    def arguments(schema: Mapping[str, Any]) -> str:
        required = schema.get("required", ())
        names = (f"{n}{'' if n in required else '?'}" for n in schema.get("properties", {}))
        return ", ".join(names) or "–"

    return table(
        ("tool", "arguments", "kind", "what the model is told"),
        ((f"`{t.name}`", arguments(t.parameters), t.kind, sentence(t.description)) for t in TOOLS),
    )


def events_table() -> str:
    """Every event of a run with its fields."""

    def rows() -> Rows:
        for event in get_args(RunEvent):
            fields = [f for f in dataclasses.fields(event) if f.name not in ("phase", "request")]
            names = [f"{camel(f.name)}{'' if needed(f) else '?'}" for f in fields]
            types = PHASES if event is ToolCallEvent else (event.type,)
            shape = "the PermissionRequest" if event is PermissionRequested else ", ".join(names)
            yield " ".join(f"`{each}`" for each in types), shape, sentence(event.__doc__)

    return table(("event.type", "fields", "when"), rows())


def needed(field: dataclasses.Field[Any]) -> bool:
    """Whether a field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def features_table() -> str:
    """What each client can do."""
    return table(clients_table.HEADS, clients_table.rows())


def matrix_table() -> str:
    """What is tested in which real editor."""
    return table(("", *clients_matrix.EDITORS), clients_matrix.rows())


PHASES = ("tool_call_started", "tool_call_updated", "tool_call_finished")


def sentence(text: str | None) -> str:
    """The first sentence of a text, on one line."""
    first = " ".join((text or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", first)[0]


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "reference/settings.md": {
        "settings": settings_table,
        "client": client_table,
        "tightening": tightening_list,
    },
    "guide/mcp.md": {"entry": server_table},
    "reference/commands.md": {"commands": commands_table},
    "reference/tools.md": {"tools": tools_table},
    "reference/protocol.md": {"events": events_table},
    "clients.md": {"features": features_table, "matrix": matrix_table},
}
"""Page -> the name between the markers -> what stands there."""


def rendered(page: str) -> str:
    """A page with its tables as they must be."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, make in TABLES[page].items():
        begin, end = f"<!-- {name}: made from the code -->", f"<!-- end of {name} -->"
        pattern = re.compile(rf"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"{page} needs the markers {begin} and {end} once")
        replacement = f"{begin}\n{make()}\n{end}"
        text = pattern.sub(lambda _: replacement, text)  # noqa: B023 - called at once
    return text


if __name__ == "__main__":
    for name in TABLES:
        new = rendered(name)
        (DOCS / name).write_text(new, encoding="utf-8")
