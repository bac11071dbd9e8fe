"""Where the person is looking: built from a command's `uri` and `range` when the command runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types

from magent_lsp.core.document import Position, Span, line_starts, offset_at, slice_span, split_lines
from magent_lsp.core.errors import CallerError, ToolError
from magent_lsp.core.request import Diagnostic, Focus, Scope
from magent_lsp.lsp.commands.arguments import Place, Scoped, Stretch
from magent_lsp.lsp.convert import to_path, to_position, to_uri

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

_WORD = re.compile(r"[^\W\d]\w*")

MAX_BUFFER = 20_000
"""Characters of a buffer without a file that are put into the prompt."""

_SEVERITIES: dict[Any, Literal["error", "warning", "information", "hint"]] = {
    1: "error",
    2: "warning",
    3: "information",
    4: "hint",
}


@dataclass(frozen=True, kw_only=True)
class Looking:
    """What a prompt is about, as far as the command's arguments say."""

    focus: Focus | None = None
    scope: Scope | None = None
    folder: Path | None = None
    """The folder of the run, where the file does not say it."""
    extra: str = ""
    """The text of a buffer that has no file."""


async def look(
    edge: "Edge",
    uri: str | None,
    stretch: Stretch | None,
    *,
    scope: Scoped | None = None,
    diagnostics: Sequence[Mapping[str, Any]] | None = None,
) -> Looking:
    """Focus and scope for a run; CallerError for a URI that the scope cannot mean."""
    if uri is None:
        return Looking(scope=Scope(kind="project") if scope == "project" else None)
    path = to_path(uri)
    if path is None:
        if scope is not None:
            raise CallerError(f"'uri' {uri!r} is no file: a run with a scope needs one.")
        return Looking(extra=_buffer_words(edge, uri))
    if stretch is not None:
        edge.chats.selections.note(edge.documents.open_document(uri), _range(stretch))
    if await edge.in_thread(path.is_dir):
        return Looking(scope=_scope(scope, path, None, None), folder=edge.app.holder(path) or path)
    text, language = await _text(edge, path)
    # In a thread: to find the lines of a long text takes longer than the loop may stand still.
    focus, place = await edge.in_thread(see, path, text, language, stretch, scope, diagnostics or ())
    return Looking(focus=focus, scope=place, folder=None if edge.app.folders else path.parent)


def see(
    path: Path,
    text: str | None,
    language: str,
    stretch: Stretch | None,
    kind: Scoped | None,
    diagnostics: Sequence[Mapping[str, Any]],
) -> tuple[Focus, Scope | None]:
    """Focus and scope in a text; the text's lines are looked for once, however much is asked of them."""
    if text is None:
        return Focus(path=path, language=language), _scope(kind, path, None, None)
    starts = line_starts(text)
    span = _span(text, stretch, starts) if stretch is not None else None
    found = [_diagnostic(path, text, item, starts) for item in diagnostics]
    focus = Focus(
        path=path,
        span=span,
        selection=slice_span(text, span, starts) if span is not None else "",
        symbol=symbol_at(text, span.start, starts) if span is not None else "",
        language=language,
        diagnostics=tuple(item for item in found if item is not None),
    )
    return focus, _scope(kind, path, text, span)


def symbol_at(text: str, position: Position, starts: list[int] | None = None) -> str:
    """The identifier at, or directly before, a position; empty if there is none."""
    offset = offset_at(text, position, starts)
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    for match in _WORD.finditer(line[: offset - start + 200], max(offset - start - 200, 0)):
        if match.start() <= offset - start <= match.end():
            return match.group()
    return ""


def whole_lines(text: str, span: Span) -> Span:
    """The whole lines of a span, with the last one's line end; an end at a line's start leaves it out."""
    lines = split_lines(text)
    first = min(span.start.line, max(len(lines) - 1, 0))
    last = max(span.end.line, first)
    if last > first and span.end.column == 0:
        last -= 1
    if last + 1 < len(line_starts(text)):
        return Span(Position(first, 0), Position(last + 1, 0))
    last = max(min(last, len(lines) - 1), 0)
    return Span(Position(first, 0), Position(last, len(lines[last]) if lines else 0))


def _range(stretch: Stretch) -> types.Range:
    start, end = stretch.start, stretch.end
    return types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))


async def _text(edge: "Edge", path: Path) -> tuple[str | None, str]:
    try:
        document = await edge.editor.read(path)
    except ToolError:
        return None, ""
    return document.text, document.language


def _span(text: str, stretch: Stretch, starts: list[int]) -> Span:
    start, end = _position(text, stretch.start, starts), _position(text, stretch.end, starts)
    return Span(min(start, end), max(start, end))


def _position(text: str, place: Place, starts: list[int]) -> Position:
    return to_position(text, place.line, place.character, starts)


def _scope(kind: Scoped | None, path: Path, text: str | None, span: Span | None) -> Scope | None:
    match kind:
        case None:
            return None
        case "project":
            return Scope(kind="project")
        case "directory":
            return Scope(kind="directory", path=path if path.is_dir() else path.parent)
        case "buffer":
            return Scope(kind="buffer", path=path)
    if text is None or span is None:
        raise CallerError(
            f"'uri' {to_uri(path)!r} cannot be read as text: the scope {kind!r} means its lines."
        )
    return Scope(kind=kind, path=path, span=whole_lines(text, span))


def _diagnostic(path: Path, text: str, item: Mapping[str, Any], starts: list[int]) -> Diagnostic | None:
    """A diagnostic as LSP sends it; None if it is none."""
    message = item.get("message")
    if not isinstance(message, str):
        return None
    try:
        span = _span(text, Stretch.model_validate(item.get("range")), starts)
    except ValueError:
        span = Span(Position(0, 0), Position(0, 0))
    code = item.get("code")
    return Diagnostic(
        path=path,
        span=span,
        severity=_SEVERITIES.get(item.get("severity"), "error"),
        message=message,
        source=str(item.get("source") or ""),
        code=str(code) if isinstance(code, str | int) else "",
    )


def _buffer_words(edge: "Edge", uri: str) -> str:
    text = edge.open_text(uri)
    if text is None:
        raise CallerError(f"'uri' {uri!r} is neither a file nor an open document.")
    return f"The person looks at the buffer {uri}, which has no file yet:\n```\n{text[:MAX_BUFFER]}\n```"
