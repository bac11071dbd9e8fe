"""A text as an editor or the disk holds it, and LSP's idea of lines."""

import hashlib
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")
"""The only line ends LSP knows; `str.splitlines` also breaks at VT, FF, NEL, U+2028 and more."""


class Position(NamedTuple):
    """A place in a text."""

    line: int
    """From 0."""
    column: int
    """Code points from the start of the line, from 0."""


class Span(NamedTuple):
    """A half-open stretch of text."""

    start: Position
    end: Position


Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A snapshot of one text file."""

    path: Path
    """Absolute, as the workspace names it; links are not resolved."""
    text: str
    origin: Literal["buffer", "disk"]
    version: int | None = None
    """The editor's version of an open buffer."""
    unsaved: bool = False
    """Whether the buffer holds text that the disk does not have."""
    encoding: Encoding = "utf-8"
    language: str = ""
    """LSP language id, empty if unknown."""

    @property
    def digest(self) -> str:
        """Content hash of the text, to notice that it changed."""
        return digest_of(self.text)


def digest_of(text: str) -> str:
    """SHA-256 of the text, in hex; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin; the first is always 0, a final line end begins one more line."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def split_lines(text: str) -> list[str]:
    """The lines with their line ends; joined they are the text; no empty last line."""
    starts = line_starts(text)
    bounds = [*starts, len(text)]
    lines = [text[a:b] for a, b in pairwise(bounds)]
    return lines[:-1] if lines and not lines[-1] else lines


def offset_at(text: str, position: Position, starts: list[int] | None = None) -> int:
    """Offset of a position, clamped to the line and to the text as LSP asks."""
    starts = line_starts(text) if starts is None else starts
    if position.line < 0:
        return 0
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
    while end > start and text[end - 1] in "\r\n":
        end -= 1
    return min(start + max(position.column, 0), end)


def position_at(text: str, offset: int, starts: list[int] | None = None) -> Position:
    """Position of an offset, clamped to the text."""
    starts = line_starts(text) if starts is None else starts
    offset = min(max(offset, 0), len(text))
    line = bisect_right(starts, offset) - 1
    return Position(line, offset - starts[line])


def slice_span(text: str, span: Span, starts: list[int] | None = None) -> str:
    """The text of a span."""
    starts = line_starts(text) if starts is None else starts
    return text[offset_at(text, span.start, starts) : offset_at(text, span.end, starts)]
