"""Halves of characters (lone surrogates), as servers send them that cut texts.

No UTF-8 can hold one, and neither Emacs nor Neovim reads JSON that has one.
"""

import re
from typing import Final

_HALF: Final = re.compile("[\ud800-\udfff]")
_FIRST: Final = re.compile("[\ud800-\udbff]\\Z")


def has_half(text: str) -> bool:
    """Whether there is a half, alone or beside its other one."""
    return not text.isascii() and _HALF.search(text) is not None


def joined(text: str) -> str:
    """The text with halves that meet put together; one that stands alone stays."""
    if not has_half(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def whole(text: str) -> str:
    """The text with halves that meet put together, and U+FFFD for each that stands alone."""
    if not has_half(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def spelt(text: str) -> str:
    """The text with halves that meet put together, and those that stand for bytes of UTF-8 decoded.

    The system takes `\\udcc3\\udca9` for the name `é`: a rule or a scope must see one name, not two.
    """
    if not has_half(text):
        return text
    text = joined(text)
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text  # no name of anything


def nameable(text: str) -> bool:
    """Whether the system can have a file of this name, as far as its characters go."""
    if not has_half(text):
        return "\0" not in text
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


class Joiner:
    """Makes whole what comes in pieces; a first half waits for its second."""

    def __init__(self) -> None:
        self._first = ""

    def feed(self, piece: str) -> str:
        """What can be said of the text by now."""
        piece = self._first + piece
        self._first = piece[-1:] if _FIRST.search(piece) else ""
        return whole(piece[: len(piece) - len(self._first)])

    def end(self) -> str:
        """What is left."""
        left, self._first = self._first, ""
        return whole(left)
