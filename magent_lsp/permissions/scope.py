"""A run that was started on a line, a region or a file stays there."""

from pathlib import Path
from typing import Final

from magent_lsp.core.document import line_starts
from magent_lsp.core.edits import FileEdit, TextEdits
from magent_lsp.core.request import Scope
from magent_lsp.permissions.place import Map, Place, is_below, names_of

WRITERS: Final = frozenset({"edit_file", "write_file"})
"""Tools whose subject is a file that changes."""


def scope_allows(scope: Scope | None, path: Path, place: Place) -> bool:
    """Whether a scoped run may change this file at all; links count by where they lead."""
    return scope is None or within_scope(scope, str(path), Map(place))


def within_scope(scope: Scope, path: str, map: Map) -> bool:
    """Whether every reading of a path lies in the scope."""
    located = map.locate(path)
    if located.impossible or located.problem:
        return False
    if scope.kind == "project" or scope.path is None:
        return all(not form.outside for form in located.forms)
    limits = {names_of(str(scope.path)), names_of(map.real(str(scope.path)) or str(scope.path))}
    for form in located.forms:
        names = form.item.absolute
        if scope.kind == "directory":
            if not any(is_below(each, limit) for each in names for limit in limits):
                return False
        elif not limits & set(names):
            return False
    return True


def scope_problem(scope: Scope | None, edit: FileEdit, place: Place) -> str | None:
    """Why an edit leaves the scope of its run, as a sentence; None if it stays inside."""
    if scope is None:
        return None
    paths = [edit.path] if not hasattr(edit, "target") else [edit.path, edit.target]
    for path in paths:
        if not scope_allows(scope, path, place):
            return f"`{path}` is outside the {scope.kind} this run was started on."
    if scope.kind not in ("line", "region") or scope.span is None:
        return None
    if not isinstance(edit, TextEdits):
        return f"Only the {scope.kind} this run was started on may change, not the whole file."
    return _span_problem(scope, edit)


def _span_problem(scope: Scope, edit: TextEdits) -> str | None:
    """The lines before and behind must stay as they are, as lines."""
    begin, end = lines_of(scope, edit.before)
    return f"The edit leaves the {scope.kind} this run was started on." if leaves(edit, begin, end) else None


def leaves(edit: TextEdits, begin: int, end: int) -> bool:
    """Whether an edit touches text outside these offsets of whole lines, or joins them to what follows."""
    if any(each.start < begin or each.end > end for each in edit.replacements):
        return True
    behind = len(edit.before) - end
    inside = edit.after[begin : len(edit.after) - behind]
    return not (not inside or inside.endswith(("\n", "\r")) or not behind)


def lines_of(scope: Scope, text: str) -> tuple[int, int]:
    """The offsets of the scope's whole lines, with the last line's end."""
    assert scope.span is not None
    starts = [*line_starts(text), len(text)]
    first, last = scope.span.start.line, scope.span.end.line
    if scope.span.end.column == 0 and last > first:
        last -= 1
    return starts[min(first, len(starts) - 1)], starts[min(last + 1, len(starts) - 1)]
