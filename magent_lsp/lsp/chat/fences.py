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
    endless: dict[str, int] = {}
    """For each kind of fence the shortest one that nothing closes from here on."""
    at = 0
    while at < len(lines):
        fence = opens(lines[at])
        if fence and len(fence) < endless.get(fence[0], len(fence) + 1):
            end = next((n for n in range(at + 1, len(lines)) if closes(lines[n], fence)), None)
            if end is None:
                endless[fence[0]] = len(fence)
            else:
                inside[at : end + 1] = [True] * (end + 1 - at)
                at = end
        at += 1
    return inside


def left_open(text: str) -> str:
    """The fence that a text opens and does not close; empty if there is none."""
    fence = ""
    for line in split_lines(text):
        if not fence:
            fence = opens(line)
        elif closes(line, fence):
            fence = ""
    return fence
