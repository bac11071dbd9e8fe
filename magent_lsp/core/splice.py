"""From a place where an old text was found to the smallest replacements of whole lines in the real text."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from magent_lsp.core.diff import LineHunk, line_hunks
from magent_lsp.core.edits import Replacement, apply_replacements
from magent_lsp.core.views import BLANKS, View, line_end_view, to_lf

if TYPE_CHECKING:
    from magent_lsp.core.matching import Strategy

_LINE_END = re.compile(r"\r\n|\n|\r")
_MOST_CHARACTERS = 4000
"""Characters of a changed part up to which folded texts are compared character by character."""


class Found(NamedTuple):
    """A place where an edit applies."""

    view: View
    start: int
    """Offset in the view."""
    seen: Sequence[str]
    """The lines that stand there, in the view; the first and the last may be parts of lines."""
    old: Sequence[str]
    """The lines the model gave, indented as the file is; as many as `seen`."""
    new: Sequence[str]
    """The lines the model wants, indented as the file is."""
    strategy: "Strategy"

    @property
    def length(self) -> int:
        """Characters of the view."""
        return sum(map(len, self.seen)) + len(self.seen) - 1


def rewrite(raw: str, new: str) -> tuple[Replacement, ...]:
    """What makes one whole text of another; lines that stay keep their bytes and line ends."""
    view = line_end_view(raw)
    lines = view.text.split("\n")
    found = Found(view, 0, lines, lines, to_lf(new).split("\n"), "exact")
    return tuple(replacements_of(raw, found))


def replacements_of(raw: str, found: Found) -> list[Replacement]:
    """What changes between old and new lines; whatever they share keeps the bytes of the file."""
    made: list[Replacement] = []
    for one in _by_lines(raw, found):
        if made and made[-1].end == one.start:
            before = made.pop()
            one = Replacement(before.start, one.end, before.text + one.text)
        made.append(one)
    if raw.count("\r") != raw.count("\r\n"):
        # Between bare CRs and LFs, lines that become empty can join two line ends into one.
        added = len(found.new) - len(found.seen)
        if _line_ends(apply_replacements(raw, made)) != _line_ends(raw) + added:
            start, stop = found.view.raw(found.start), found.view.raw(found.start + found.length)
            text = _with_line_ends(raw, start, "\n".join(found.new))
            return [_apart(raw, Replacement(start, stop, text))]
    return made


def _line_ends(text: str) -> int:
    return to_lf(text).count("\n")


def _by_lines(raw: str, found: Found) -> Iterator[Replacement]:
    begins = [found.start]
    for line in found.seen:
        begins.append(begins[-1] + len(line) + 1)

    def begin(index: int) -> int:
        return found.view.raw(begins[index])

    def end(index: int) -> int:
        return found.view.raw(begins[index] + len(found.seen[index]))

    def end_past_blanks(index: int) -> int:
        return end(index) if found.strategy == "exact" else _past_blanks(raw, end(index))

    count = len(found.seen)
    for i1, i2, j1, j2 in _hunks(found.old, found.new):
        lines = found.new[j1:j2]
        if i1 < i2 and lines:
            new = (
                _keep_folded(found, LineHunk(i1, i2, j1, j2))
                if found.strategy == "punctuation"
                else "\n".join(lines)
            )
            blanks = lines[-1] != lines[-1].rstrip(BLANKS)
            start, stop = begin(i1), end_past_blanks(i2 - 1) if blanks else end(i2 - 1)
        elif lines and i1 < count:
            new = "".join(line + "\n" for line in lines)
            start = stop = begin(i1)
        elif lines:
            new = "".join("\n" + line for line in lines)
            start = stop = end_past_blanks(count - 1)
        else:
            new = ""
            start = begin(i1) if i2 < count or i1 == 0 else end_past_blanks(i1 - 1)
            stop = begin(i2) if i2 < count else end(i2 - 1)
        new = _with_line_ends(raw, start, new)
        if raw[start:stop] != new:
            yield Replacement(start, stop, new)


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[LineHunk]:
    """The parts in which the lines differ; as many old as new lines are told apart line by line."""
    for i1, i2, j1, j2 in line_hunks(old, new):
        if i2 - i1 == j2 - j1:
            for step in range(i2 - i1):
                if old[i1 + step] != new[j1 + step]:
                    yield LineHunk(i1 + step, i1 + step + 1, j1 + step, j1 + step + 1)
        else:
            yield LineHunk(i1, i2, j1, j2)


def _keep_folded(found: Found, hunk: LineHunk) -> str:
    """The new text; if quotes were folded, with the file's own wherever the model's texts agree."""
    i1, i2, j1, j2 = hunk
    if found.strategy != "punctuation":
        return "\n".join(found.new[j1:j2])
    seen = "\n".join(found.seen[i1:i2])
    old = "\n".join(line.rstrip() for line in found.old[i1:i2])
    new = "\n".join(found.new[j1:j2])
    if len(old) != len(seen) or len(old) + len(new) > _MOST_CHARACTERS:
        return new
    parts = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        parts.append(seen[a1:a2] if tag == "equal" else new[b1:b2])
    return "".join(parts)


def _past_blanks(raw: str, offset: int) -> int:
    """Behind the blanks that end a line; the offset itself if more than blanks follows."""
    at = offset
    while at < len(raw) and raw[at] in BLANKS:
        at += 1
    return at if at == len(raw) or raw[at] in "\r\n" else offset


def _apart(raw: str, made: Replacement) -> Replacement:
    """The replacement, so that a CR and a LF that come together by it stay two line ends."""
    start, stop, new = made
    if new.endswith("\r") and raw.startswith("\n", stop):
        kept = new.rstrip("\r")
        new = kept + "\n" * (len(new) - len(kept))
    if raw.endswith("\r", 0, start) and (new or raw[stop : stop + 1]).startswith("\n"):
        kept = new.lstrip("\n")
        count = len(new) - len(kept)
        while not kept and raw.startswith("\n", stop):
            stop, count = stop + 1, count + 1
        new = "\r" * count + kept
    return Replacement(start, stop, new)


def _with_line_ends(raw: str, start: int, text: str) -> str:
    """The text with the line end of its neighbours: the next one, or else the one before."""
    if "\n" not in text or "\r" not in raw:
        return text
    following = _LINE_END.search(raw, start)
    if following is not None:
        return text.replace("\n", following.group())
    if raw.endswith(("\n", "\r"), 0, start):
        return text.replace("\n", "\r\n" if raw.endswith("\r\n", 0, start) else raw[start - 1])
    last = max(raw.rfind("\n", 0, start), raw.rfind("\r", 0, start))
    if last < 0:
        return text
    return text.replace("\n", "\r\n" if raw[last - 1 : last + 1] == "\r\n" else raw[last])
