"""Unified diffs for people, and the whole-line hunks they are made of."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from magent_lsp.core.document import split_lines

_EXACT = 250_000
"""Old lines times new lines up to which all are compared with all; beyond it lines that both texts have once
are matched first (patience diff), and what is left between them without any is one hunk."""

CUT = "… "
"""Begins the last line of a diff that was cut."""

_MARKS = str.maketrans({"\t": "→", " ": "·", "\r": "␍", "\n": "␊", "\u00a0": "⍽"})
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
"""Characters that cannot be seen, or that change the order in which others are seen."""


_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class LineHunk(NamedTuple):
    """Lines `[start, end)` of the old text become lines `[new_start, new_end)` of the new one, from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, kw_only=True)
class Diff:
    """A rendered diff."""

    text: str
    added: int
    removed: int
    whole: bool
    """False if it was cut to the size asked for."""


def line_hunks(old: Sequence[str], new: Sequence[str]) -> list[LineHunk]:
    """The smallest runs of whole lines in which two texts differ, in order."""
    return list(_hunks(old, new, LineHunk(0, len(old), 0, len(new))))


def _hunks(old: Sequence[str], new: Sequence[str], part: LineHunk) -> Iterator[LineHunk]:
    """The hunks of a part of both texts."""
    i1, i2, j1, j2 = part
    while i1 < i2 and j1 < j2 and old[i1] == new[j1]:
        i1, j1 = i1 + 1, j1 + 1
    while i1 < i2 and j1 < j2 and old[i2 - 1] == new[j2 - 1]:
        i2, j2 = i2 - 1, j2 - 1
    if i1 == i2 or j1 == j2:
        if i1 < i2 or j1 < j2:
            yield LineHunk(i1, i2, j1, j2)
        return
    if (i2 - i1) * (j2 - j1) <= _EXACT:
        matcher = SequenceMatcher(None, old[i1:i2], new[j1:j2], autojunk=False)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes():
            if tag != "equal":
                yield LineHunk(i1 + a1, i1 + a2, j1 + b1, j1 + b2)
        return
    anchors = _anchors(old, new, LineHunk(i1, i2, j1, j2))
    if not anchors:
        yield LineHunk(i1, i2, j1, j2)
        return
    for i, j in [*anchors, (i2, j2)]:
        yield from _hunks(old, new, LineHunk(i1, i, j1, j))
        i1, j1 = i, j


def _anchors(old: Sequence[str], new: Sequence[str], part: LineHunk) -> list[tuple[int, int]]:
    """Lines that both texts have once, as many as are in the same order in both."""
    i1, i2, j1, j2 = part
    times, other_times = Counter(old[i1:i2]), Counter(new[j1:j2])
    where = {line: j for j, line in enumerate(new[j1:j2], j1) if other_times[line] == 1}
    pairs = [(i, where[line]) for i, line in enumerate(old[i1:i2], i1) if times[line] == 1 and line in where]
    # The longest run of growing places: patience sorting with a link from each card to the one before.
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1], ends[pile : pile + 1] = [j], [number]
    run: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]


def reveal(text: str) -> str:
    """The text with invisible and direction-changing characters written as `⟨U+202E⟩`."""
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", text)


def one_line(text: str) -> str:
    """The text with its line breaks written as `␊`, for places that hold one line."""
    return _BREAKS.sub("␊", text)


def unified_diff(
    before: str,
    after: str,
    name: str,
    *,
    context: int = 3,
    max_lines: int = 400,
    max_chars: int = 20_000,
    escape: bool = False,
    new_file: bool = False,
) -> Diff:
    """A unified diff of two texts, by LSP's idea of lines.

    Where a hunk changes nothing but white space, that is made visible. With `escape`, characters that
    cannot be seen are written out, so that what a person approves is what they see.
    """
    old, new = split_lines(before), split_lines(after)
    hunks = line_hunks(old, new)
    lines = [f"--- {'/dev/null' if new_file else name}", f"+++ {name}"] if hunks else []
    for group in _grouped(hunks, context):
        lines += _render(old, new, group, context)
    if escape:
        lines = [reveal(line) for line in lines]
    shown, whole = _capped(lines, max_lines, max_chars)
    return Diff(
        text="\n".join(shown),
        added=sum(hunk.new_end - hunk.new_start for hunk in hunks),
        removed=sum(hunk.end - hunk.start for hunk in hunks),
        whole=whole,
    )


def _grouped(hunks: Sequence[LineHunk], context: int) -> list[list[LineHunk]]:
    groups: list[list[LineHunk]] = []
    for hunk in hunks:
        if groups and hunk.start - groups[-1][-1].end <= 2 * context:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return groups


def _render(old: Sequence[str], new: Sequence[str], group: Sequence[LineHunk], context: int) -> list[str]:
    start = max(group[0].start - context, 0)
    end = min(group[-1].end + context, len(old))
    new_start = group[0].new_start - (group[0].start - start)
    new_end = group[-1].new_end + (end - group[-1].end)
    lines = [f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"]
    at = start
    for hunk in group:
        lines += _marked(" ", old[at : hunk.start])
        removed, added = old[hunk.start : hunk.end], new[hunk.new_start : hunk.new_end]
        if _only_blanks(removed, added):
            removed = [_visible(line) for line in removed]
            added = [_visible(line) for line in added]
            lines += [f"-{line}" for line in removed] + [f"+{line}" for line in added]
        else:
            lines += _marked("-", removed) + _marked("+", added)
        at = hunk.end
    return lines + _marked(" ", old[at:end])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    marked = []
    for line in lines:
        content = line.rstrip("\r\n")
        marked.append(mark + content)
        if content == line:
            marked.append("\\ No newline at end of file")
    return marked


def _only_blanks(removed: Sequence[str], added: Sequence[str]) -> bool:
    if not removed or not added:
        return False
    return "".join("".join(removed).split()) == "".join("".join(added).split())


def _visible(line: str) -> str:
    """Leading and trailing blanks, tabs and the line end as marks; single blanks inside stay."""
    content = line.strip()
    if not content:
        return line.translate(_MARKS)
    head, _, tail = line.partition(content)
    return head.translate(_MARKS) + content.replace("\t", "→") + tail.translate(_MARKS)


def _capped(lines: list[str], max_lines: int, max_chars: int) -> tuple[list[str], bool]:
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines):
        if number >= max_lines or size + len(line) + 1 > max_chars:
            room = max(max_chars - size - 1, 0) if number < max_lines else 0
            if room > 40:
                shown.append(line[:room])
            rest = len(lines) - len(shown)
            word = "line" if rest == 1 else "lines"
            return [*shown, f"{CUT}{rest} more {word}, not shown" if rest else f"{CUT}cut"], False
        shown.append(line)
        size += len(line) + 1
    return shown, True
