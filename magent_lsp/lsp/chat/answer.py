"""The events of a run as Markdown that only grows: what was shown of it never changes."""

from collections.abc import Sequence
from typing import Final

from magent_lsp.core.events import Notice, RunEvent, RunFinished, TextDeltaEvent, ToolCallEvent
from magent_lsp.lsp.chat.fences import closes, opens
from magent_lsp.lsp.chat.marks import BODY, NOTE, TOOL, quote, undecided
from magent_lsp.lsp.outcomes import closing_words, edit_words

LONG: Final = 120
"""Characters of a line about a tool."""

SHOWN: Final = 4
"""Lines of a tool's output."""


class Answer:
    """What a chat document shows of a run."""

    def __init__(self) -> None:
        self._done = ""
        """Whole lines, and of the last one what is sure."""
        self._line = ""
        """The line that the model is writing, as it writes it."""
        self._taken = 0
        """Characters of that line that are in `_done`."""
        self._fence = ""
        self._began = False
        """Whether the model has said something since the last tool."""
        self._after_tool = False

    @property
    def text(self) -> str:
        """What may be shown by now; it never ends in a blank, so that nobody strips one from its end."""
        return self._done.rstrip()

    def take(self, event: RunEvent) -> None:
        """Let an event have its effect."""
        match event:
            case TextDeltaEvent(text=text):
                self._say(text)
            case ToolCallEvent(phase="finished"):
                self._block(_tool_lines(event), tool=True)
            case Notice(level="warning" | "error", message=message):
                self._block([NOTE + _one_line(message)])
            case RunFinished():
                self._finish(event)

    def _say(self, text: str) -> None:
        text = self._line + text
        # Half of a CRLF waits for the other half.
        kept = "\r" if text.endswith("\r") else ""
        text = text.removesuffix(kept).replace("\r\n", "\n").replace("\r", "\n")
        if not self._began:
            text = text.lstrip("\n")
            if not text:
                return
            self._done += "\n\n" if self._done else ""
            self._began, self._after_tool = True, False
        *whole, self._line = text.split("\n")
        for line in whole:
            self._end_line(line)
        if self._line and (self._fence or self._taken or not undecided(self._line)):
            self._done += self._line[self._taken :]
            self._taken = len(self._line)
        self._line += kept

    def _end_line(self, line: str) -> None:
        shown = line if self._fence or self._taken else quote(line)
        self._done += shown[self._taken :] + "\n"
        self._taken = 0
        if not self._fence:
            self._fence = opens(line)
        elif closes(line, self._fence):
            self._fence = ""

    def _end_text(self) -> None:
        """Close what the model has left open, as the next lines are not its own."""
        if self._line.rstrip("\r"):
            self._end_line(self._line.rstrip("\r"))
        if self._fence:
            self._done = f"{self.text}\n{self._fence}\n"
        self._line, self._fence, self._taken, self._began = "", "", 0, False

    def _block(self, lines: Sequence[str], *, tool: bool = False) -> None:
        self._end_text()
        gap = "\n" if tool and self._after_tool else "\n\n" if self.text else ""
        self._done = self.text + gap + "\n".join(lines)
        self._after_tool = tool

    def _finish(self, event: RunFinished) -> None:
        self._end_text()
        missed = any(edit.outcome != "applied" for edit in event.edits)
        if event.error is not None:
            self._block([NOTE + _one_line(event.error)])
        elif event.stop_reason != "end_turn":
            self._block([NOTE + closing_words(event)])
        elif missed:
            self._block([NOTE + edit_words(event)])
        self._done = self.text


def _tool_lines(event: ToolCallEvent) -> list[str]:
    what = ", ".join(path.replace("\\", "/") for path in event.paths) or _code(event.title)
    status = "" if event.status == "completed" else f" ({event.status})"
    first = f"{TOOL}{event.name} {_one_line(what)}{status}"
    if event.status == "completed" and event.kind != "execute":
        return [first]
    output = [line.rstrip() for line in (event.output or "").splitlines() if line.strip()]
    # What a command says last is what counts, and of an error what it says first.
    shown = output[-SHOWN:] if event.status == "completed" else output[:SHOWN]
    more = [f"… {len(output) - SHOWN} more lines"] if len(output) > SHOWN else []
    body = [*more, *shown] if event.status == "completed" else [*shown, *more]
    return [first, *(BODY + _cut(line) for line in body)]


def _code(text: str) -> str:
    text = _one_line(text)
    return f"`{text}`" if text and "`" not in text else text


def _one_line(text: str) -> str:
    return _cut(" ".join(text.split()), 4 * LONG)


def _cut(text: str, limit: int = LONG) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
