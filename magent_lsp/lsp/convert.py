"""Between the core's words and LSP's: URIs and paths, code points and UTF-16, edits and `WorkspaceEdit`s."""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from lsprotocol import types

from magent_lsp.core.document import Position, Span, line_starts, split_lines
from magent_lsp.core.edits import CreateFile, DeleteFile, FileEdit, RenameFile, Replacement, TextEdits
from magent_lsp.core.errors import CallerError
from magent_lsp.core.halves import nameable, spelt
from magent_lsp.lsp.mirror import column_of, units_of

_DRIVE = re.compile(r"^/[A-Za-z]:(?=/|$)")


def to_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for any other kind, and for what no file can be called."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file":
        return None
    # `?` and `#` are part of the name for clients that do not encode them.
    name = parts.path + (f"?{parts.query}" if parts.query else "")
    name = unquote(name + (f"#{parts.fragment}" if parts.fragment else ""), errors="surrogateescape")
    name = spelt(name)
    if not nameable(name) or not name.startswith("/"):
        return None
    if parts.netloc and parts.netloc.lower() != "localhost":
        return Path(f"//{unquote(parts.netloc)}{name}")
    if _DRIVE.match(name) and sys.platform == "win32":
        name = name[1].lower() + name[2:]
    return Path(name)


def file_path(uri: str) -> Path:
    """The path of a `file:` URI; CallerError for any other kind."""
    path = to_path(uri)
    if path is None:
        raise CallerError(f"{uri!r} is no file: only URIs that begin with 'file://' name one.")
    return path


def to_uri(path: Path) -> str:
    """The `file:` URI of an absolute path."""
    name = path.as_posix()
    if name.startswith("//") and not name.startswith("///"):
        return "file:" + quote(name, errors="surrogateescape")
    if re.match(r"^[A-Za-z]:", name):
        return f"file:///{name[0].lower()}:{quote(name[2:])}"
    return "file://" + quote(name, errors="surrogateescape")


def to_position(text: str, line: int, character: int, starts: list[int] | None = None) -> Position:
    """A place that the client names, in code points and clamped to the text."""
    starts = line_starts(text) if starts is None else starts
    if line < 0:
        return Position(0, 0)
    if line >= len(starts):
        return Position(len(starts) - 1, len(text) - starts[-1])
    end = starts[line + 1] if line + 1 < len(starts) else len(text)
    return Position(line, column_of(text[starts[line] : end], character))


def to_span(text: str, range: types.Range) -> Span:
    """A range that the client names."""
    starts = line_starts(text)
    start = to_position(text, range.start.line, range.start.character, starts)
    end = to_position(text, range.end.line, range.end.character, starts)
    return Span(min(start, end), max(start, end))


def range_of(text: str, span: Span) -> types.Range:
    """A span of the text as the client counts."""
    starts = line_starts(text)
    return types.Range(start=_units(text, span.start, starts), end=_units(text, span.end, starts))


def _units(text: str, position: Position, starts: list[int]) -> types.Position:
    line = min(max(position.line, 0), len(starts) - 1)
    column = max(position.column, 0) if line == position.line else len(text)
    end = starts[line + 1] if line + 1 < len(starts) else len(text)
    return types.Position(line=line, character=units_of(text[starts[line] : min(starts[line] + column, end)]))


def line_edits(edit: TextEdits) -> list[types.TextEdit]:
    """The smallest runs of whole lines that change: character 0 at both ends, or the end of the text."""
    text = edit.before
    starts = line_starts(text)
    result: list[types.TextEdit] = []
    for first, stop, replacements in _line_groups(edit, starts):
        begin, end = _offset(text, starts, first), _offset(text, starts, stop)
        new = _spliced(text, begin, end, replacements)
        if new and not new.endswith(("\n", "\r")) and stop < len(starts):
            stop += 1
            new += text[end : _offset(text, starts, stop)]
            end = _offset(text, starts, stop)
        old = split_lines(text[begin:end])
        for head, tail, lines in _trimmed(old, split_lines(new)):
            # Not `stop`, which counts the place behind the last line break as a line.
            span = types.Range(
                start=_place(text, starts, first + head),
                end=_place(text, starts, first + len(old) - tail),
            )
            made = "".join(lines)
            if result and result[-1].range.end == span.start:  # clients differ in the order at one place
                last = result.pop()
                span, made = types.Range(last.range.start, span.end), last.new_text + made
            result.append(types.TextEdit(range=span, new_text=made))
    return result


def with_last_break(edit: TextEdits) -> TextEdits:
    """The edit with a line break at the end of what it gives.

    For a client that ends each text with one, and joins what is put behind the last to the line before.
    """
    if not edit.after or edit.after.endswith(("\n", "\r")):
        return edit
    end = "\r\n" if "\r\n" in edit.before else "\n"
    size = len(edit.before)
    *most, last = edit.replacements
    if last.end == size:
        changes = (*most, last._replace(text=last.text + end))
    else:
        changes = (*most, last, Replacement(size, size, end))
    return replace(edit, replacements=changes, after=edit.after + end)


def before_last_break(text: str, edits: list[types.TextEdit]) -> list[types.TextEdit]:
    """Line edits of the text that give the same, and leave the line break at its end alone.

    For a client that has no place behind that break; one that takes it away altogether stays as it is.
    """
    broken = _last_break(edits[-1].new_text) if edits else ""
    starts = line_starts(text)
    if not broken or edits[-1].range.end != _place(text, starts, len(starts)):
        return edits
    *rest, last = edits
    new = last.new_text.removesuffix(broken)
    if not text:
        return [types.TextEdit(range=last.range, new_text=new)]
    if _last_break(text) != broken:
        return edits
    line = text[starts[-2] :].removesuffix(broken)
    before = types.Position(line=len(starts) - 2, character=units_of(line))
    start = last.range.start
    if start == last.range.end:
        if rest and rest[-1].range.end >= before:
            # Clients differ in the order of edits at one place, and none may lie in another.
            gap = broken if rest[-1].range.end == before else ""
            start, new = rest[-1].range.start, rest[-1].new_text + gap + new
            rest = rest[:-1]
        else:
            start, new = before, broken + new
    return [*rest, types.TextEdit(range=types.Range(start, before), new_text=new)]


def _last_break(text: str) -> str:
    return "\r\n" if text.endswith("\r\n") else text[-1:] if text.endswith(("\n", "\r")) else ""


def _offset(text: str, starts: list[int], line: int) -> int:
    return starts[line] if line < len(starts) else len(text)


def _place(text: str, starts: list[int], line: int) -> types.Position:
    if line < len(starts):
        return types.Position(line=line, character=0)
    return types.Position(line=len(starts) - 1, character=units_of(text[starts[-1] :]))


def _line_groups(edit: TextEdits, starts: list[int]) -> list[tuple[int, int, list[Replacement]]]:
    """Replacements of touching lines together: first line, the line after the last, replacements."""
    groups: list[tuple[int, int, list[Replacement]]] = []
    for replacement in edit.replacements:
        first = bisect_right(starts, replacement.start) - 1
        stop = bisect_left(starts, replacement.end)
        if replacement.text and not replacement.text.endswith(("\n", "\r")):
            stop = max(stop, first + 1)
        if groups and first <= groups[-1][1]:
            before = groups.pop()
            groups.append((before[0], max(stop, before[1]), [*before[2], replacement]))
        else:
            groups.append((first, stop, [replacement]))
    return groups


def _spliced(text: str, begin: int, end: int, replacements: list[Replacement]) -> str:
    parts: list[str] = []
    at = begin
    for start, stop, new in replacements:
        parts += (text[at:start], new)
        at = stop
    return "".join([*parts, text[at:end]])


def _trimmed(old: list[str], new: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """The lines that differ, and how many equal ones are before and behind; nothing if none differ."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if head < max(len(old), len(new)) - tail:
        yield head, tail, new[head : len(new) - tail]


def takes_versions(capabilities: types.ClientCapabilities) -> bool:
    """Whether the client takes `documentChanges`; resource operations imply it (Neovim says only those)."""
    ability = _ability(capabilities)
    return ability is not None and bool(ability.document_changes or ability.resource_operations)


def takes(capabilities: types.ClientCapabilities, operation: types.ResourceOperationKind) -> bool:
    """Whether the client declared a resource operation."""
    ability = _ability(capabilities)
    return ability is not None and operation in (ability.resource_operations or ())


def workspace_edit(
    edit: FileEdit,
    capabilities: types.ClientCapabilities,
    *,
    uri: str | None = None,
    version: int | None = None,
    hunks: list[types.TextEdit] | None = None,
) -> types.WorkspaceEdit:
    """One document's change in the form that the client understands best.

    `uri` is the client's own spelling of an open document's URI, `version` the text it is computed on, and
    `hunks` the edit's `line_edits` if they are known already.
    """
    uri = uri or to_uri(edit.path)
    match edit:
        case TextEdits():
            return _texts(uri, version, hunks or line_edits(edit), capabilities)
        case CreateFile():
            # Neovim counts an empty buffer as one line with its end; the edit must replace that too,
            # or the file ends with a line too many. Others take the position for the end of the text.
            whole = types.Range(types.Position(line=0, character=0), types.Position(line=1, character=0))
            text = types.TextEdit(range=whole, new_text=edit.text)
            changed = _texts(uri, None, [text], capabilities)
            if changed.document_changes is not None and takes(
                capabilities, types.ResourceOperationKind.Create
            ):
                # Without ignoreIfExists Neovim empties a file that is there; a bare create is never sent.
                options = types.CreateFileOptions(overwrite=False, ignore_if_exists=True)
                create = types.CreateFile(uri=uri, options=options)
                changed.document_changes = [create, *changed.document_changes]
            return changed
        case DeleteFile():
            gone = types.DeleteFile(uri=uri, options=types.DeleteFileOptions(ignore_if_not_exists=True))
            return types.WorkspaceEdit(document_changes=[gone])
        case RenameFile():
            move = types.RenameFile(
                old_uri=uri, new_uri=to_uri(edit.target), options=types.RenameFileOptions(overwrite=False)
            )
            return types.WorkspaceEdit(document_changes=[move])


def _texts(
    uri: str, version: int | None, edits: list[types.TextEdit], capabilities: types.ClientCapabilities
) -> types.WorkspaceEdit:
    if not takes_versions(capabilities):
        return types.WorkspaceEdit(changes={uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=edits)])


def _ability(capabilities: types.ClientCapabilities) -> types.WorkspaceEditClientCapabilities | None:
    return capabilities.workspace.workspace_edit if capabilities.workspace is not None else None
