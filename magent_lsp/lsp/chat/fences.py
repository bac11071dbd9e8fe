"""Which lines of a Markdown text are code between fences."""

import re
from collections.abc import Sequence
from typing import Final

from magent_lsp.core.document import split_lines

_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)")


def opens(line: str) -> str:
    """The fence that a line opens; empty if it opens none."""
    match = _FENCE.match(line)
    if match is None or (match["fence"][0] == "`" and "`" in match["info"]):
        return ""
    return match["fence"]


def closes(line: str, fence: str) -> bool:
    """Whether a line ends the code that a fence began."""
    match = _FENCE.match(line)
    return match is not None and match["fence"].startswith(fence) and not match["info"].strip()


def code_lines(lines: Sequence[str]) -> list[bool]:
    """For each line whether it is code; a fence that is never closed begins none.

    Markdown would take all the rest of the text for code then; here that would be the rest of a conversation.
    """
    inside = [False] * len(lines)
    marks = [number for number, line in enumerate(lines) if "```" in line or "~~~" in line]
    longest = _longest(lines, marks)
    at = 0
    while at < len(marks):
        fence = opens(lines[marks[at]])
        if fence and len(fence) <= longest[at].get(fence[0], 0):
            end = next(n for n in range(at + 1, len(marks)) if closes(lines[marks[n]], fence))
            inside[marks[at] : marks[end] + 1] = [True] * (marks[end] + 1 - marks[at])
            at = end
        at += 1
    return inside


def _longest(lines: Sequence[str], marks: Sequence[int]) -> list[dict[str, int]]:
    """For each of these lines how long, for each kind, the longest fence is that a line behind it can close.

    So that nobody looks for an end that is not there: in a text of many fences that would take for ever.
    """
    known: list[dict[str, int]] = []
    longest: dict[str, int] = {}
    for number in reversed(marks):
        known.append(longest)
        match = _FENCE.match(lines[number])
        if match is not None and not match["info"].strip():
            kind = match["fence"][0]
            longest = {**longest, kind: max(longest.get(kind, 0), len(match["fence"]))}
    return known[::-1]


def left_open(text: str) -> str:
    """The fence that a text opens and does not close; empty if there is none."""
    fence = ""
    for line in split_lines(text):
        if not fence:
            fence = opens(line)
        elif closes(line, fence):
            fence = ""
    return fence
