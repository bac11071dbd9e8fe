"""Renders tables of the reference from the code; `python -m tests.support.docs_tables` writes them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from magent_lsp.core.config import Client, Settings
from magent_lsp.store.config_environment import variables
from magent_lsp.store.config_project import TIGHTENS
from magent_lsp.store.config_values import fields_of, section_of

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


TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "reference/settings.md": {
        "settings": settings_table,
        "client": client_table,
        "tightening": tightening_list,
    },
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
