"""What follows an answer comes alone, for clients that would leave it behind otherwise."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

PAUSE: Final = 0.2
"""Seconds between an answer and what follows it."""


class Pace:
    """Sends messages in their order, and everything but answers a while after the answer before it."""

    def __init__(self) -> None:
        self._held: deque[tuple[Callable[[], None], bool]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._from = 0.0
        """The loop's time from which something that is no answer may go."""

    def take(self, send: Callable[[], None], *, answer: bool) -> None:
        """Send a message, now or when it may go."""
        self._held.append((send, answer))
        if self._timer is None:
            self._go()

    def flush(self) -> None:
        """Send all that is held, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._held:
            self._held.popleft()[0]()

    def _go(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._held:
            send, answer = self._held[0]
            if not answer and loop.time() < self._from:
                self._timer = loop.call_at(self._from, self._go)
                return
            self._held.popleft()
            send()
            if answer:
                self._from = loop.time() + PAUSE
