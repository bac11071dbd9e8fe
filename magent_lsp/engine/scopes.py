"""Whether an edit stays inside the scope of a run."""

from itertools import pairwise

from magent_lsp.core.document import line_starts, position_at
from magent_lsp.core.edits import DeleteFile, FileEdit, RenameFile, TextEdits
from magent_lsp.core.request import Scope


def outside_scope(edit: FileEdit, scope: Scope | None) -> str:
    """Why the edit leaves the scope, as a sentence; empty if it stays inside."""
    if scope is None or scope.path is None:
        return ""
    if scope.kind == "directory":
        inside = edit.path.is_relative_to(scope.path)
        return "" if inside else f"This run may only edit files in {str(scope.path)!r}."
    if edit.path != scope.path or isinstance(edit, RenameFile | DeleteFile):
        return f"This run may only edit the text of {str(scope.path)!r}."
    if scope.kind == "buffer" or scope.span is None or not isinstance(edit, TextEdits):
        return ""
    first, last = scope.span.start.line, scope.span.end.line
    if scope.span.end.column == 0 and last > first:
        last -= 1
    starts = line_starts(edit.before)
    for start, end, _ in edit.replacements:
        top = position_at(edit.before, start, starts).line
        bottom = position_at(edit.before, end, starts)
        low = bottom.line - 1 if bottom.column == 0 and bottom.line > top else bottom.line
        if top < first or low > last:
            return f"This run may only edit lines {first + 1} to {last + 1} of {str(scope.path)!r}."
    return ""


def overlap(one: Scope | None, other: Scope | None) -> bool:
    """Whether two scoped runs could touch the same text; runs without a scope never wait for each other."""
    if one is None or other is None:
        return False
    if one.path is None or other.path is None:
        return True
    if "directory" in (one.kind, other.kind):
        return one.path.is_relative_to(other.path) or other.path.is_relative_to(one.path)
    if one.path != other.path:
        return False
    if one.span is None or other.span is None:
        return True
    ranges = sorted((scope.span.start.line, scope.span.end.line) for scope in (one, other) if scope.span)
    return any(a[1] >= b[0] for a, b in pairwise(ranges))
