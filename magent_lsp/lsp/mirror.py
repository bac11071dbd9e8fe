"""The text of an open document, kept line by line as LSP counts lines, so that a keystroke costs nothing."""

from collections.abc import Sequence

from lsprotocol import types

from magent_lsp.core.document import split_lines
from magent_lsp.core.halves import joined


class Mirror:
    """The lines of a text; what a change does not touch is neither copied nor looked at."""

    def __init__(self, text: str) -> None:
        self._split: list[str] | None = None
        self._text: str | None = None
        self._length = 0
        self.set(text)

    @property
    def text(self) -> str:
        """The whole text; joined when it is first asked for after a change."""
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def _lines(self) -> list[str]:
        if self._split is None:
            self._split = _lines(self._text or "")
        return self._split

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends; a text that ends in a line end has one more, empty line."""
        return self._lines

    def __len__(self) -> int:
        return self._length

    def set(self, text: str) -> None:
        """Replace the whole text."""
        text = joined(text)
        self._split = None  # made when it is first asked for: many documents are opened and never touched
        self._text = text
        self._length = len(text)

    def splice(self, start: types.Position, end: types.Position, text: str) -> None:
        """Replace a range, given in UTF-16 units and clamped to the text."""
        lines = self._lines
        (first, left), (last, right) = sorted((self.locate(start), self.locate(end)))
        chunk = joined(lines[first][:left] + text + lines[last][right:])
        if chunk.startswith("\n") and first and lines[first - 1].endswith("\r"):
            first -= 1  # a CR that a LF now follows is one line end with it
            chunk = lines[first] + chunk
        new = _lines(chunk)
        if len(new) > 1 and not new[-1] and last + 1 < len(lines):
            new.pop()
        self._length += len(chunk) - sum(map(len, lines[first : last + 1]))
        lines[first : last + 1] = new
        self._text = None

    def locate(self, position: types.Position) -> tuple[int, int]:
        """Line and column in code points; behind a line's text is its end, behind the text the text's end."""
        if position.line < 0:
            return 0, 0
        lines = self._lines
        if position.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        return position.line, column_of(lines[position.line], position.character)


def column_of(line: str, units: int) -> int:
    """The code-point column of a UTF-16 column, at most the end of the line's text.

    A column inside of a surrogate pair is that of the character it belongs to.
    """
    end = len(line)
    while end and line[end - 1] in "\r\n":
        end -= 1
    if units <= 0:
        return 0
    if line.isascii():
        return min(units, end)
    # `units` characters hold at least as many units, so nothing behind them needs to be looked at.
    data = line[: min(units, end)].encode("utf-16-le", "surrogatepass")
    if len(data) <= 2 * units:
        return min(units, end)
    data = data[: 2 * units]
    if 0xD8 <= data[-1] <= 0xDB:
        data = data[:-2]
    return len(data.decode("utf-16-le", "surrogatepass"))


def units_of(text: str) -> int:
    """The number of UTF-16 units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _lines(text: str) -> list[str]:
    if text.count("\r") == text.count("\r\n"):  # no bare CR: the fast way
        *ended, last = text.split("\n")
        return [*(line + "\n" for line in ended), last]
    lines = split_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines
