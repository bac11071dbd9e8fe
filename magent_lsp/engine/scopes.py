"""Where a scoped run may edit, while its own edits and the person's typing move the text about."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from magent_lsp.core.document import Span, line_starts, position_at, split_lines
from magent_lsp.core.edits import FileEdit, TextEdits
from magent_lsp.core.request import Scope
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.scope import leaves, lines_of, scope_problem

MOST_LINES: Final = 1_500
"""Changed lines in one stretch that are compared one by one; a longer stretch counts as replaced."""

Change = tuple[int, int, int, int]
"""Lines `[i1, i2)` became lines `[j1, j2)`."""


class Target:
    """The whole lines that a run was started on, as offsets into the text it was last seen with."""

    def __init__(self, scope: Scope, text: str) -> None:
        self._scope = scope
        self._text = text
        self._begin, self._end = lines_of(scope, text)

    @property
    def scope(self) -> Scope:
        """The scope as it is now: from the start of its first line to the end of its last one."""
        return replace(
            self._scope,
            span=Span(position_at(self._text, self._begin), position_at(self._text, self._end)),
        )

    def follow(self, text: str) -> bool:
        """Take note of a text that somebody else changed; whether the span has moved.

        Lines that stayed the same are found wherever they went. Lines that were changed across a border of
        the target belong to it no longer: what a person has written there stays theirs. Lines added right
        before or behind it are outside.
        """
        if text == self._text:
            return False
        before = (self._begin, self._end)
        own = self._text[self._begin : self._end]
        at = _only_place(own, text) if _only_place(own, self._text) is not None else None
        if at is not None:
            self._begin, self._end = at, at + len(own)
        else:
            self._begin, self._end = _mapped(self._text, text, self._begin, self._end)
        self._text = text
        return before != (self._begin, self._end)

    def edited(self, edit: TextEdits) -> None:
        """Take note of an edit of the run itself that stayed inside: the target grows and shrinks with it."""
        self.follow(edit.before)
        self._end += len(edit.after) - len(edit.before)
        self._text = edit.after

    def problem(self, edit: TextEdits) -> str:
        """Why an edit leaves the target, as a sentence; empty if it does not."""
        self.follow(edit.before)
        if not leaves(edit, self._begin, self._end):
            return ""
        name = edit.path.name
        if self._begin == self._end:
            return f"The lines of {name!r} this run was started on are gone; only their place may be filled."
        first, last = line_numbers(self.scope)
        return f"This run may only edit lines {first} to {last} of {name!r}, and must leave them whole lines."


def outside_scope(edit: FileEdit, scope: Scope | None, target: Target | None, place: Place) -> str:
    """Why the edit leaves the scope, as a sentence; empty if it stays inside."""
    if scope is None:
        return ""
    spanless = replace(scope, span=None) if target is not None and isinstance(edit, TextEdits) else scope
    why = scope_problem(spanless, edit, place)
    if why is None and target is not None and isinstance(edit, TextEdits):
        why = target.problem(edit)
    return why or ""


def overlap(one: Scope | None, other: Scope | None) -> bool:
    """Whether two scoped runs could touch the same text; runs without a scope never wait for each other."""
    if one is None or other is None:
        return False
    if one.path is None or other.path is None:
        return True
    if "directory" in (one.kind, other.kind):
        return (one.kind == "directory" and other.path.is_relative_to(one.path)) or (
            other.kind == "directory" and one.path.is_relative_to(other.path)
        )
    if one.path != other.path:
        return False
    if one.span is None or other.span is None:
        return True
    (first, last), (other_first, other_last) = line_numbers(one), line_numbers(other)
    return first <= other_last and other_first <= last


def line_numbers(scope: Scope) -> tuple[int, int]:
    """First and last line of a scope with a span, from 1."""
    assert scope.span is not None
    start, end = scope.span
    last = end.line if end.column or end.line == start.line else end.line - 1
    return start.line + 1, last + 1


def _only_place(lines: str, text: str) -> int | None:
    """Where whole lines stand in a text that holds them once; None if it does not."""
    if not lines.strip():
        return None
    at = text.find(lines)
    if at < 0 or text.find(lines, at + 1) >= 0:
        return None
    return at if {at, at + len(lines)} <= {*line_starts(text), len(text)} else None


def _mapped(old: str, new: str, begin: int, end: int) -> tuple[int, int]:
    """Where two borders of lines are in another version of the text."""
    before, after = split_lines(old), split_lines(new)
    changes = _changes(before, after)
    first = _border(_count(before, begin), changes, at_end=False)
    last = max(_border(_count(before, end), changes, at_end=True), first)
    return sum(map(len, after[:first])), sum(map(len, after[:last]))


def _border(line: int, changes: Sequence[Change], *, at_end: bool) -> int:
    """Where the border before a line went; one within a change goes to the side that is not the target's."""
    moved = 0
    for i1, i2, j1, j2 in changes:
        if i1 < line < i2:
            return j1 if at_end else j2
        if i2 > line or (at_end and i1 == line):
            break
        moved = j2 - i2
    return line + moved


def _count(lines: Sequence[str], offset: int) -> int:
    """How many whole lines lie before an offset."""
    count = at = 0
    while count < len(lines) and at < offset:
        at += len(lines[count])
        count += 1
    return count


def _changes(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """The stretches that differ, in order; a person's typing is found without comparing everything."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old and not new:
        return []
    if max(len(old), len(new)) > MOST_LINES:
        return [(head, head + len(old), head, head + len(new))]
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i1 + head, i2 + head, j1 + head, j2 + head) for kind, i1, i2, j1, j2 in codes if kind != "equal"]
