"""Completion in chat documents: `@` files and `@selection`, `/` commands, agents and models."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from magent_lsp.core.document import position_at
from magent_lsp.engine.summaries import described
from magent_lsp.lsp.chat.document import KEYS, parse
from magent_lsp.lsp.chat.files import name_of
from magent_lsp.lsp.commands.lists import models_within
from magent_lsp.lsp.mirror import column_of, units_of

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

MENTION: Final = re.compile(r"""(?<![\w`@/.])@("?)([^\s@"]*|(?<=")[^"]*)\Z""")
COMMAND: Final = re.compile(r"/[\w:.-]*\Z")
VALUE: Final = re.compile(r"(agent|model)[ \t]*:[ \t]*(\S*)\Z")

MOST: Final = 200
"""Items in one answer; what is typed next narrows them down."""
MODELS_SECONDS: Final = 2.0

Kind = types.CompletionItemKind


async def complete(edge: "Edge", uri: str, position: types.Position, *, front: bool) -> types.CompletionList:
    """What fits at a place of a chat document; `front` says that it is front matter."""
    line = edge.open_line(uri, position.line)
    before = line[: column_of(line, position.character)]
    if front:
        return _whole(await _values(edge, before))
    if COMMAND.match(before):
        text = edge.open_text(uri) or ""
        begins = position_at(text, parse(text).start).line == position.line
        return _whole(list(_commands(edge)) if begins else [])
    if (mention := MENTION.search(before)) is not None:
        return await _mentions(edge, position, mention[1], mention[2])
    return _whole([])


async def _mentions(edge: "Edge", position: types.Position, quote: str, begun: str) -> types.CompletionList:
    open_ones = [name_of(edge, document.path) for document in edge.editor.documents()]
    names = list(dict.fromkeys([*open_ones, *await edge.chats.files.names(edge)]))
    low = begun.lower()
    fit = [name for name in names if low in name.lower()]
    fit.sort(key=lambda name: not name.rpartition("/")[2].lower().startswith(low))
    start = types.Position(position.line, position.character - units_of(quote + begun))
    place = types.Range(start, position)
    items = []
    if not quote and "selection".startswith(low):
        items.append(_mention("selection", "what was last selected in another document", Kind.Text, place))
    items += [_mention(name, "", Kind.File, place) for name in fit[:MOST]]
    for number, item in enumerate(items):
        item.sort_text = f"{number:04}"
        # Many editors match beginnings only; what was found in the middle of a path must not be left out.
        item.filter_text = f"{quote}{begun}" or item.label
    return types.CompletionList(is_incomplete=True, items=items)


def _mention(name: str, detail: str, kind: Kind, place: types.Range) -> types.CompletionItem:
    plain = re.fullmatch(r"""[^\s`"'()<>\[\]{}]+""", name) is not None
    text = name if plain else f'"{name}"'
    return types.CompletionItem(
        label=name,
        kind=kind,
        detail=detail or None,
        text_edit=types.TextEdit(range=place, new_text=text),
    )


def _commands(edge: "Edge") -> Iterator[types.CompletionItem]:
    for name, description in described(edge.app.commands()):
        detail = description.strip().split("\n", 1)[0]
        yield types.CompletionItem(label=name, kind=Kind.Function, detail=detail or None)


async def _values(edge: "Edge", before: str) -> list[types.CompletionItem]:
    match = VALUE.match(before)
    if match is None:
        keys = KEYS if re.fullmatch(r"[\w-]*", before) else ()
        return [
            types.CompletionItem(
                label=key.name, kind=Kind.Property, detail=key.meaning, insert_text=f"{key.name}: "
            )
            for key in keys
        ]
    if match[1] == "agent":
        agents = [a for a in edge.app.agents().values() if not a.hidden and a.mode != "subagent"]
        return [types.CompletionItem(label=a.name, kind=Kind.Value, detail=a.description) for a in agents]
    return [
        types.CompletionItem(label=str(item["model"]), kind=Kind.Value, detail=str(item.get("reason") or ""))
        for item in await models_within(edge, MODELS_SECONDS)
    ]


def _whole(items: list[types.CompletionItem]) -> types.CompletionList:
    return types.CompletionList(is_incomplete=False, items=items)
