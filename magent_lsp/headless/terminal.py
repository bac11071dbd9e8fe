"""The terminal: answers go to stdout, everything said about them to stderr."""

import io
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could move the cursor, change the terminal or turn text around; tab and newline may stay."""


def printable(text: str) -> str:
    """The text with control and bidi characters written out, so that it cannot play tricks on the reader."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


class Terminal:
    """Two streams and a person, or a program that reads them."""

    def __init__(self, *, out: TextIO, err: TextIO, stdin: TextIO, environ: Mapping[str, str]) -> None:
        self.out = out
        self.err = err
        self.stdin = stdin
        self._environ = environ
        self.broken = False
        """True once nothing can be written to stdout any more."""
        self.lost = ""
        """Why what was to be on stdout is lost; empty too where the reader has gone, who wants no more."""
        self.styled = _is_terminal(err) and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        self.interactive = _is_terminal(stdin) and _is_terminal(err)
        """Whether somebody can be asked."""
        self._console: Console | None = None
        self._midline = False

    @staticmethod
    def standard() -> "Terminal":
        """The process's own streams; from now on whatever else writes to stdout lands on stderr."""
        for stream in (sys.stdin, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
        return Terminal(
            out=_take_stdout(),
            err=sys.stderr or io.StringIO(),
            stdin=sys.stdin or io.StringIO(),
            environ=os.environ,
        )

    def for_stdout(self) -> "Terminal":
        """The same, but with remarks on stdout: for commands whose remarks are their result."""
        return Terminal(out=self.out, err=self.out, stdin=self.stdin, environ=self._environ)

    def answer(self, text: str) -> None:
        """Write a piece of an answer to stdout, as it comes."""
        if text:
            self._write(printable(text) if _is_terminal(self.out) else text)
            self._midline = not text.endswith("\n")

    def fresh(self) -> None:
        """End a line of stdout that was begun."""
        if self._midline:
            self._write("\n")
            self._midline = False

    def data(self, line: str) -> None:
        """Write one whole line to stdout."""
        self.fresh()
        self._write(f"{printable(line) if _is_terminal(self.out) else line}\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Write one remark to stderr; `style` is one of rich's, used only where colours are."""
        self.fresh()
        text = printable(text)
        try:
            if self.styled and style:
                self._rich().print(text, style=style, markup=False, soft_wrap=True)
            else:
                self.err.write(f"{text}\n")
                self.err.flush()
        except (OSError, ValueError):
            self.styled = False

    def murmur(self, text: str) -> None:
        """Write a piece of a remark to stderr, as it comes."""
        self.fresh()
        try:
            if self.styled:
                self._rich().print(printable(text), style="dim", markup=False, soft_wrap=True, end="")
            else:
                self.err.write(printable(text))
            self.err.flush()
        except (OSError, ValueError):
            self.styled = False

    def diff(self, text: str, indent: str = "  ", limit: int | None = None) -> None:
        """Write a unified diff to stderr; `limit` cuts it after so many lines and says so."""
        lines = printable(text).splitlines()
        for line in lines[:limit]:
            self.line(indent + line, _diff_style(line))
        if limit is not None and len(lines) > limit:
            self.line(f"{indent}… {len(lines) - limit} more lines", "dim")

    def _write(self, text: str) -> None:
        if self.broken:
            return
        try:
            self.out.write(text)
            self.out.flush()
        except (OSError, ValueError) as error:
            self.broken = True
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                self.lost = error.strerror or str(error)

    def _rich(self) -> "Console":
        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self.err, highlight=False, emoji=False)
        return self._console


def _take_stdout() -> TextIO:
    """A private stdout, so that a library that prints cannot spoil an answer or a line of JSON."""
    out = sys.stdout
    try:
        out.flush()
        private = os.dup(out.fileno())
        os.dup2(sys.stderr.fileno(), out.fileno())
    except (OSError, ValueError, AttributeError):  # one of them is closed, or no file at all
        return out or io.StringIO()
    sys.stdout = sys.stderr
    return os.fdopen(private, "w", encoding=out.encoding, errors="backslashreplace", newline=out.newlines)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
