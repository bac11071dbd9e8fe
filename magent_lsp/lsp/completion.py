"""Completion in chat documents and in the files that configure us; registered for those alone."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from magent_lsp.lsp import ours
from magent_lsp.lsp.chat import completion as chat
from magent_lsp.lsp.mirror import column_of

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

_TOOLS = ("tools", "disallowedTools", "allowed-tools")


async def complete(
    edge: "Edge", params: types.CompletionParams
) -> list[types.CompletionItem] | types.CompletionList:
    """What fits at a place; nothing in files that are not ours."""
    uri, line = params.text_document.uri, params.position.line
    kind = ours.kind_of(edge, uri)
    if kind is None:
        return []
    lines = ours.yaml_lines(kind, edge.open_text(uri) or "", line)
    if kind == "chat":
        return await chat.complete(edge, uri, params.position, front=lines is not None)
    if lines is None:
        return []
    text = edge.open_line(uri, line)
    before = text[: column_of(text, params.position.character)]
    here = ours.spot([*lines[:-1], before])
    return list(_yaml(edge, kind, here, before))


def _yaml(edge: "Edge", kind: ours.Kind, here: ours.Spot, before: str) -> Iterator[types.CompletionItem]:
    tools = {tool.name: tool.description for tool in edge.app.snapshot().tools}
    known = ours.keys_at(kind, here.path, list(tools))
    if re.fullmatch(r"\s*(-\s+)*[\w-]*", before) and known:
        for key in known:
            if not key.foreign:
                name = f'"{key.name}"' if key.name.startswith("*") else key.name
                yield _item(name, key.meaning, types.CompletionItemKind.Property, insert=f"{name}: ")
    elif here.key == "agent" and kind != "agent":
        for agent in edge.app.agents().values():
            if not agent.hidden:
                yield _item(agent.name, agent.description, types.CompletionItemKind.Value)
    elif here.key in _TOOLS or (here.path and here.path[-1] in _TOOLS):
        for name, meaning in tools.items():
            yield _item(name, meaning, types.CompletionItemKind.Value)
    elif re.search(r":\s*\w*$", before):
        found = next((key for key in known if key.name == here.key), None)
        inner = "permission" in here.path
        values = ours.values_of(found) if found else tuple(ours.VERDICTS.split(" | ")) if inner else ()
        for value in values:
            yield _item(value, "", types.CompletionItemKind.EnumMember)


def _item(
    label: str, detail: str, kind: types.CompletionItemKind, *, insert: str | None = None
) -> types.CompletionItem:
    first = detail.strip().split("\n", 1)[0]
    return types.CompletionItem(label=label, kind=kind, detail=first or None, insert_text=insert)
