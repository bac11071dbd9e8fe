"""Three texts into one, by LSP's idea of lines, and the edit that makes one text of another."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from merge3 import Merge3

from magent_lsp.core.diff import line_hunks
from magent_lsp.core.document import split_lines
from magent_lsp.core.edits import Replacement, TextEdits

MAX_CHARS: Final = 1_000_000
"""Larger texts are not merged, and differ in one piece."""
_MAX_WORK: Final = 100_000_000
"""Lines times lines; more would hold the interpreter for seconds."""


def merge(base: str, ours: str, theirs: str) -> str | None:
    """`theirs` with what `ours` changed of `base`; None if both changed the same lines, or if it is too much.

    Lines keep their ends, whatever they are. Pure work: use a thread.
    """
    if max(len(base), len(ours), len(theirs)) > MAX_CHARS:
        return None
    lines = [split_lines(text) for text in (base, ours, theirs)]
    if len(lines[0]) * max(len(lines[1]), len(lines[2])) > _MAX_WORK:
        return None
    merger = Merge3(*lines, sequence_matcher=_Lines)
    merged: list[str] = []
    for region in merger.merge_regions():
        kind, start, end = region[:3]
        if kind == "conflict":
            return None
        source = {"unchanged": lines[0], "b": lines[2]}.get(kind, lines[1])
        merged += source[start:end]
    text = "".join(merged)
    return text if split_lines(text) == merged else None  # two lines must not grow into one


class _Lines:
    """What merge3 asks of a matcher, on our own line hunks."""

    def __init__(
        self,
        isjunk: Callable[[str], bool] | None = None,
        a: Sequence[str] = "",
        b: Sequence[str] = "",
        autojunk: bool = True,
    ) -> None:
        self._a = a
        self._b = b

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:
        """Runs of equal lines: start in a, start in b, length; an empty one at the end."""
        blocks: list[tuple[int, int, int]] = []
        at = new_at = 0
        for hunk in line_hunks(self._a, self._b):
            if hunk.start > at:
                blocks.append((at, new_at, hunk.start - at))
            at, new_at = hunk.end, hunk.new_end
        if at < len(self._a):
            blocks.append((at, new_at, len(self._a) - at))
        return [*blocks, (len(self._a), len(self._b), 0)]


def text_edit(path: Path, before: str, after: str, real_path: Path | None = None) -> TextEdits:
    """The edit of whole lines that makes `after` of `before`. Pure work: use a thread."""
    replacements = (
        _by_lines(before, after) if len(before) + len(after) <= 2 * MAX_CHARS else _middle(before, after)
    )
    return TextEdits(
        path=path, replacements=tuple(replacements), before=before, after=after, real_path=real_path
    )


def _by_lines(before: str, after: str) -> list[Replacement]:
    old, new = split_lines(before), split_lines(after)
    starts = [0, *accumulate(map(len, old))]
    return [
        Replacement(starts[h.start], starts[h.end], "".join(new[h.new_start : h.new_end]))
        for h in line_hunks(old, new)
    ]


def _middle(before: str, after: str) -> list[Replacement]:
    """One replacement of all between the equal beginning and the equal end, on borders of lines."""
    limit = min(len(before), len(after))
    head = _longest(limit, lambda n: before[:n] == after[:n])
    head = before.rfind("\n", 0, head) + 1
    tail = _longest(limit - head, lambda n: before[len(before) - n :] == after[len(after) - n :])
    cut = before.find("\n", len(before) - tail)
    end = cut + 1 if cut >= 0 else len(before)
    return [Replacement(head, end, after[head : len(after) - (len(before) - end)])]


def _longest(limit: int, equal: Callable[[int], bool]) -> int:
    """The largest n up to the limit for which equal(n) holds; it holds for all below."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if equal(middle):
            low = middle
        else:
            high = middle - 1
    return low
