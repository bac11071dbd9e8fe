"""How much of a file a model knows: the digest of a text, with the lines of it that were shown.

Kept as one string for each file: the digest alone once the whole text is known, `digest:1-40,80-99` for lines
counted from 1, `digest:` for a text of which no line was shown.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Known(NamedTuple):
    """What is known of a text."""

    digest: str
    lines: tuple[tuple[int, int], ...] | None
    """First and last line of each piece that was shown; None: the whole text."""

    def of(self, digest: str) -> bool:
        """Whether it is about the text with this digest."""
        return self.digest == digest

    def covers(self, total: int) -> bool:
        """Whether all of so many lines were shown."""
        return self.lines is None or total == 0 or self.lines == ((1, total),)

    def __str__(self) -> str:
        if self.lines is None:
            return self.digest
        return f"{self.digest}:" + ",".join(f"{first}-{last}" for first, last in self.lines)


def read_known(text: str) -> Known:
    """The value of its string; a piece that is no piece is left out."""
    digest, part, pieces = text.partition(":")
    if not part:
        return Known(digest, None)
    found = []
    for piece in pieces.split(","):
        first, _, last = piece.partition("-")
        if first.isdecimal() and last.isdecimal():
            found.append((int(first), int(last)))
    return Known(digest, tuple(_joined(found)))


def shown(digest: str, lines: Iterable[int], total: int) -> str:
    """What is known once these lines of so many were shown as a whole."""
    known = Known(digest, tuple(_joined((line, line) for line in lines)))
    return digest if known.covers(total) else str(known)


def more(old: str | None, new: str) -> str:
    """What is known when `new` comes to what was known: pieces of the same text add up."""
    if old is None:
        return new
    before, now = read_known(old), read_known(new)
    if not before.of(now.digest):
        return new
    if before.lines is None or now.lines is None:
        return now.digest
    return str(Known(now.digest, tuple(_joined((*before.lines, *now.lines)))))


def _joined(pieces: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pieces in order, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pieces):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined
