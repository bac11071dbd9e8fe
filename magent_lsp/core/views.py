"""A text as a search strategy sees it, with the way back to the offsets of the real text."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from magent_lsp.core.document import split_lines

BLANKS = " \t"

FOLDS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′＇", "'"),
        **dict.fromkeys("“”„‟″＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
        **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006", " "),
        **dict.fromkeys("\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
"""Punctuation that models swap, one character for one, so that offsets stay the same."""


def fold(text: str) -> str:
    """The text with look-alike quotes, dashes and blanks made plain; for finding only."""
    return text if text.isascii() else text.translate(FOLDS)


def to_lf(text: str) -> str:
    """The text with every line end as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def strip_trailing(text: str) -> str:
    """A text with LF line ends without the blanks at the ends of its lines."""
    return "\n".join(line.rstrip(BLANKS) for line in text.split("\n"))


@dataclass(frozen=True)
class View:
    """Part of a text's characters, in order, and where each of them really is."""

    text: str
    _at: Sequence[int] = ()
    """View offsets in front of which something was left out."""
    _gone: Sequence[int] = ()
    """How many characters were left out up to and with that place."""

    def raw(self, offset: int) -> int:
        """The first real offset that a view offset can stand for: in front of what was left out."""
        index = bisect_left(self._at, offset)
        return offset + (self._gone[index - 1] if index else 0)


def line_end_view(raw: str) -> View:
    """All characters, every line end as LF."""
    if "\r" not in raw:
        return View(raw)
    at: list[int] = []
    place = raw.find("\r\n")
    while place >= 0:
        at.append(place - len(at))
        place = raw.find("\r\n", place + 2)
    return View(to_lf(raw), at, range(1, len(at) + 1))


def trailing_view(raw: str) -> View:
    """Every line end as LF, and no blanks in front of it or of the end of the text."""
    parts: list[str] = []
    at: list[int] = []
    gone: list[int] = []
    length = total = 0
    for line in split_lines(raw):
        content = line.rstrip("\r\n")
        ended = len(content) < len(line)
        kept = content.rstrip(BLANKS)
        parts.append(kept + "\n" if ended else kept)
        lost = len(line) - len(kept) - ended
        if lost:
            total += lost
            at.append(length + len(kept))
            gone.append(total)
        length += len(kept) + ended
    return View("".join(parts), at, gone)
