"""Watching whether an edit that was sent to the client shows up in what it tells us of the document."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from magent_lsp.core.document import split_lines
from magent_lsp.engine.merge import merge
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.documents import Documents, OpenDocument

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Seconds; how long the client may take."""

    reply: float = 30
    """For the answer to `workspace/applyEdit`."""
    change: float = 5
    """For the `didChange` after that answer."""
    unasked: float = 0.4
    """For that answer, if no person was asked."""
    idle: float = 0.8
    """The same, of a client that tells of changes once nobody has typed for half a second."""
    key: float = 30
    """The same, where it does not tell before the person presses a key."""
    message: float = 2
    """For a client to show a message and say so."""
    retry: float = 0.2
    """For a change that comes though the edit was refused."""
    earlier: float = 30
    """For an earlier edit of the same file that is not confirmed yet, before another is sent."""
    read: float = 1
    """For such an edit, before the file is read: it may be about to arrive."""
    save: float = 10
    """For the answer to `magent/save`."""
    evaluate: float = 60
    """For the answer to `magent/eval`."""


class Expectation:
    """Compares a document's text with the expected one after every single change of it.

    Once per notification is not enough: a client may bundle our edit and the user's next keys.
    """

    def __init__(self, documents: Documents, uri: str, expected: str) -> None:
        self.uri = uri
        self.expected = expected
        self.seen = False
        """The expected text was there, at least for a moment."""
        self.closed = False
        self.changes = 0
        """Changes that came since."""
        self.on_change: Callable[[], object] | None = None
        """Called after each change, with the fields above up to date."""
        self._path = to_path(uri)
        self._decided = asyncio.Event()
        self._changed = asyncio.Event()
        self.end = documents.observe(self._look)

    def __enter__(self) -> "Expectation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def arrives(self, seconds: float | None) -> bool:
        """Wait until the expected text was seen, the document closed or time ran out; whether it was seen."""
        await _within(self._decided, seconds)
        return self.seen

    async def changed(self, seconds: float) -> None:
        """Wait for any change, or until time runs out."""
        await _within(self._changed, seconds)

    def _look(self, document: OpenDocument | None, uri: str) -> None:
        if uri != self.uri and (self._path is None or to_path(uri) != self._path):
            return
        self.changes += 1
        self._changed.set()
        if document is None:
            self.closed = True
        elif len(document.mirror) == len(self.expected) and document.mirror.text == self.expected:
            self.seen = True
        if self.seen or self.closed:
            self._decided.set()
        if self.on_change is not None:
            try:
                self.on_change()
            except Exception:
                logger.exception("a late change of %r could not be told", uri)


async def _within(event: asyncio.Event, seconds: float | None) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def lacks(now: str, before: str, expected: str) -> bool:
    """Whether a text that came of `before` lacks all that makes `expected` of it; False if in doubt."""
    here, old, new = (Counter(split_lines(text)) for text in (now, before, expected))
    taken, added = old - new, new - old
    # What it takes away must be there, and nothing that it adds: a merge may put in once more what is there,
    # where lines repeat.
    if any(here[line] < old[line] for line in taken) or any(here[line] > old[line] for line in added):
        return False
    merged = merge(before, expected, now)
    return bool(taken) if merged is None else merged != now
