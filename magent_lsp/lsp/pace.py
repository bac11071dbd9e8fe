"""What follows an answer that is waited for comes alone, for clients that would leave it behind otherwise."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from lsprotocol import types

PAUSE: Final = 0.2
"""Seconds between an answer that is waited for and what follows it."""

WAITED_FOR: Final = frozenset(
    {
        types.WORKSPACE_EXECUTE_COMMAND,
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CODE_ACTION_RESOLVE,
        types.TEXT_DOCUMENT_COMPLETION,
        types.COMPLETION_ITEM_RESOLVE,
    }
)
"""Requests whose answer ends the reading in Eglot and lsp-mode; others have an answer when it comes."""


class _Message(NamedTuple):
    send: Callable[[], None]
    waited_for: bool
    id: Any


class Pace:
    """Sends messages in their order; for a while after an answer that is waited for, only such answers."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._held: deque[_Message] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._from = 0.0
        """The loop's time from which something that nobody waits for may go."""

    def take(self, send: Callable[[], None], *, waited_for: bool, id: Any = None) -> None:
        """Send a message from whatever thread, now or when it may go; the id is that of a request of ours."""
        message = _Message(send, waited_for, id)
        if threading.get_ident() == self._thread:
            self._take(message)
        else:  # a record of the log
            self._loop.call_soon_threadsafe(self._take, message)

    def _take(self, message: _Message) -> None:
        self._held.append(message)
        if self._timer is None:
            self._go()

    def withdraw(self, id: Any) -> bool:
        """Do not send a request that is held; whether it was."""
        found = next((message for message in self._held if message.id == id), None)
        if found is not None:
            self._held.remove(found)
        return found is not None

    def flush(self) -> None:
        """Send all that is held, now, for it is the end; but no request, whose answer nobody would hear."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._held:
            message = self._held.popleft()
            if message.id is None:
                message.send()

    def _go(self) -> None:
        self._timer = None
        while self._held:
            message = self._held[0]
            if not message.waited_for and self._loop.time() < self._from:
                self._timer = self._loop.call_at(self._from, self._go)
                return
            self._held.popleft()
            message.send()
            if message.waited_for:
                self._from = self._loop.time() + PAUSE
