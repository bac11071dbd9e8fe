"""Explains the keys of the files that configure us; registered for those alone."""

from typing import TYPE_CHECKING

from lsprotocol import types

from magent_lsp.lsp import ours
from magent_lsp.lsp.mirror import column_of
from magent_lsp.store.fields import canonical

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


def hover(edge: "Edge", params: types.HoverParams) -> types.Hover | None:
    """What a key means, its type and its default; None at any other place."""
    uri, position = params.text_document.uri, params.position
    kind = ours.kind_of(edge, uri)
    text = edge.open_text(uri) if kind is not None else None
    if kind is None or text is None:
        return None
    lines = ours.yaml_lines(kind, text, position.line)
    if lines is None:
        return None
    here = ours.spot(lines)
    column = column_of(edge.open_line(uri, position.line), position.character)
    if not here.key or not here.start <= column <= here.end:
        return None
    tools = [tool.name for tool in edge.app.snapshot().tools]
    known = ours.keys_at(kind, here.path, tools)
    spelled = here.key if kind == "config" else canonical(here.key, {})
    for key in known:
        if spelled == (key.name if kind == "config" else canonical(key.name, {})):
            value = types.MarkupContent(types.MarkupKind.Markdown, ours.markdown(key))
            start = types.Position(position.line, here.start)
            return types.Hover(value, types.Range(start, types.Position(position.line, here.end)))
    return None
