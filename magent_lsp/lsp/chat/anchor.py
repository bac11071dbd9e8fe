"""The place in a document where an answer goes, followed through every change of the text around it."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from lsprotocol import types

from magent_lsp.core.document import line_starts, offset_at
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.chat.tidied import added, end_of
from magent_lsp.lsp.convert import to_path, to_position
from magent_lsp.lsp.documents import Documents, OpenDocument

TAKEN_BACK = "what was written of it was taken back"
PLACE_GONE = "its place in the text was removed"


class Change(NamedTuple):
    """`[start, end)` of the old text was replaced."""

    start: int
    end: int
    text: str


@dataclass(kw_only=True)
class Sent:
    """A piece that is on its way into the document, to be put at the anchor."""

    text: str
    head: int = 0
    """Where in it the answer's heading begins, in the first piece."""
    tail: int = 0
    """Characters at its end that stay behind the anchor."""
    landed: asyncio.Event = field(default_factory=asyncio.Event)


class Anchor:
    """An offset into a document that moves with the text; what is typed exactly there is behind it."""

    def __init__(self, documents: Documents, uri: str, text: str, at: int) -> None:
        self.uri = uri
        self.text = text
        """The text that the offsets belong to."""
        self.at = at
        self.begin: int | None = None
        """Where the answer's heading begins, once it is in the text."""
        self.lost = ""
        """Why nothing can be written any more."""
        self.is_open = documents.open_document(uri) is not None
        self.typed = 0.0
        """When somebody else last changed the text (monotonic)."""
        self._sent: Sent | None = None
        self._documents = documents
        self.end = documents.observe(self._look)
        """Stop following."""

    @property
    def own(self) -> str:
        """What is in the text of the answer, from its heading on; empty before that is there."""
        return "" if self.begin is None else self.text[self.begin : self.at]

    def send(self, sent: Sent) -> None:
        """Expect a piece."""
        self._sent = sent

    def take(self, text: str) -> None:
        """Take a text whose changes nobody told, such as that of a file on the disk."""
        if text != self.text and not self._arrived(text):
            self._change(_difference(self.text, text))
        self.text = text

    def wrote(self, sent: Sent, text: str) -> None:
        """A piece was written where nobody tells of changes."""
        if not sent.landed.is_set():
            self._sent = sent
            self.take(text)

    def tidied(self, sent: Sent, before: str, own: str, behind: str) -> None:
        """Look whether a piece arrived with other blanks than it was sent with.

        `before` is the text that it was to be put into, `own` what the answer had of it, and `behind` what
        stood behind the answer: its first characters may look like a short piece.
        """
        if sent.landed.is_set():
            return
        begin = self.begin
        if begin is None:
            start = added(sent.text, before, self.text)
            if start is None:
                return
            heading = start + (end_of(sent.text[: sent.head], self.text[start:]) or 0)
            begin = heading + len(self.text[heading:]) - len(self.text[heading:].lstrip())
            own = ""
        written = sent.text[sent.head : len(sent.text) - sent.tail]
        end = end_of(own + written, self.text[begin:])
        following = behind.lstrip().partition("\n")[0]
        if end is not None and end_of(own + written + following, self.text[begin:]) is not None:
            self.begin, self.at, self.lost = begin, begin + end, ""
            sent.landed.set()

    def _look(self, document: OpenDocument | None, uri: str) -> None:
        if not self._is_it(document, uri):
            return
        if document is None:
            self.is_open = False
            return
        self.is_open = True
        after = document.source
        if self._arrived(after):
            self.text = after
            return
        change = self._told(document.last_change) if document.last_change is not None else None
        if change is None or _replaced(self.text, change) != after:
            change = _difference(self.text, after)
        self._change(change)
        self.text = after

    def _is_it(self, document: OpenDocument | None, uri: str) -> bool:
        if unquote(uri) == unquote(self.uri):
            return True
        mine, other = to_path(self.uri), to_path(uri)
        if mine is None or other is None:
            return False
        if mine == other:
            return True
        # A document that is renamed is closed and opened under its new name.
        moved = document is not None and not self.is_open and other.name.endswith(SUFFIX)
        if moved and document is not None and document.changes == 0 and document.source == self.text:
            self.uri = uri
            return True
        return False

    def _told(self, change: types.TextDocumentContentChangeEvent) -> Change | None:
        if not isinstance(change, types.TextDocumentContentChangePartial):
            return None
        starts = line_starts(self.text)
        place = change.range
        ends = sorted(
            offset_at(self.text, to_position(self.text, at.line, at.character, starts), starts)
            for at in (place.start, place.end)
        )
        return Change(ends[0], ends[1], change.text)

    def _change(self, change: Change) -> None:
        self.typed = time.monotonic()
        self._move(_least(self.text, change))

    def _arrived(self, after: str) -> bool:
        """Whether the change brought the piece that was sent; what stands on one side of it is as before."""
        sent = self._sent
        if sent is None or sent.landed.is_set():
            return False
        before, behind = self.text[: self.at], self.text[self.at :]
        if after.endswith(sent.text * (2 if before.endswith(sent.text) else 1) + behind):
            end = len(after) - len(behind)
        elif after.startswith(before + sent.text):
            end = self.at + len(sent.text)
        else:
            return False
        start = end - len(sent.text)
        if self.begin is None:
            self.begin = start + sent.head
        else:
            self.begin += start - self.at
        self.at = end - sent.tail
        sent.landed.set()
        return True

    def _move(self, change: Change) -> None:
        start, end, text = change
        if start >= self.at:
            return
        blank = not text.strip() and not self.text[start:end].strip()
        grown = len(text) - (end - start)
        if end > self.at:
            self._lose(PLACE_GONE)
            self.at = start + len(text)
        else:
            if end == self.at and not blank:
                self._lose(TAKEN_BACK)
            self.at += grown
        if self.begin is not None and start <= self.begin:
            self.begin = max(self.begin + grown, start) if end <= self.begin else start

    def _lose(self, why: str) -> None:
        if self.begin is not None and not self.lost:
            self.lost = why


def _replaced(text: str, change: Change) -> str:
    return text[: change.start] + change.text + text[change.end :]


def _difference(before: str, after: str) -> Change:
    """The one stretch in which two texts differ."""
    return _least(before, Change(0, len(before), after))


def _least(before: str, change: Change) -> Change:
    """The change without what it leaves as it was at both ends."""
    old, new = before[change.start : change.end], change.text
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return Change(change.start + head, change.end - tail, new[head : len(new) - tail])


def _common(one: str, other: str) -> int:
    """The length of what two texts begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
