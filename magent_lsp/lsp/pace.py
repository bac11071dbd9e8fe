"""What follows an answer that is waited for comes later, for clients that would leave it behind otherwise."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from lsprotocol import types

FIRST: Final = 0.05
"""Seconds between an answer that is waited for and the question whether it has been read."""
PAUSE: Final = 0.2
"""Seconds after which the question is asked again, and then twice as many each time."""
LONGEST: Final = 2.0
"""Seconds between two such questions at most."""
LIMIT: Final = 20.0
"""Seconds after which a client that never answered such a question is taken for one that does not."""

WAITED_FOR: Final = frozenset(
    {
        types.WORKSPACE_EXECUTE_COMMAND,
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CODE_ACTION_RESOLVE,
        types.TEXT_DOCUMENT_COMPLETION,
        types.COMPLETION_ITEM_RESOLVE,
    }
)
"""Requests whose answer ends the reading in Eglot and lsp-mode.

Not hover and folding, which lsp-mode waits for as well when a person asks: they are asked for at every key,
and an edit behind each would come too late."""


class _Message(NamedTuple):
    send: Callable[[], None]
    waited_for: bool
    id: Any


class Pace:
    """Sends messages in their order; what follows an answer that is waited for goes once that has been read.

    More such answers go at once, unless something is held already, behind which they wait as all else does.

    `ask` sends a request, and calls what it gets once the client has answered: the client answers none that
    it reads in one piece with the other answer, so one that is answered came later, and so does what follows.
    Without `ask`, or an answer to it, `PAUSE` must do.
    """

    def __init__(self, ask: Callable[[Callable[[], None]], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._ask = ask
        self._answers: bool | None = None if ask is not None else False
        """Whether the client answers what it is asked; None as long as nobody knows."""
        self._held: deque[_Message] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._unread_since: float | None = None
        """The loop's time of the last answer that is waited for; None once it has been read."""
        self._turn = 0
        """Counts these answers."""

    def take(self, send: Callable[[], None], *, waited_for: bool, id: Any = None) -> None:
        """Send a message from whatever thread, now or when it may go; the id is that of a request of ours."""
        message = _Message(send, waited_for, id)
        if threading.get_ident() == self._thread:
            self._take(message)
        else:  # a record of the log
            self._loop.call_soon_threadsafe(self._take, message)

    def withdraw(self, id: Any) -> bool:
        """Do not send a request that is held; whether it was."""
        found = next((message for message in self._held if message.id == id), None)
        if found is not None:
            self._held.remove(found)
            if not self._held:
                self._stop()  # no answer must wait for what is not there
        return found is not None

    def flush(self) -> None:
        """Send all that is held, now, for it is the end; but no request, whose answer nobody would hear."""
        held = [message for message in self._held if message.id is None]
        self._held.clear()
        self._read(self._turn)
        for message in held:
            message.send()

    def _take(self, message: _Message) -> None:
        self._held.append(message)
        if self._timer is None:
            self._go()

    def _go(self) -> None:
        while self._held and self._timer is None:  # sending may log, and so take another
            message = self._held[0]
            if not message.waited_for and self._unread_since is not None:
                self._wait(self._unread_since)
                return
            self._held.popleft()
            if message.waited_for:
                self._turn += 1
                self._unread_since = self._loop.time()
            message.send()

    def _wait(self, since: float) -> None:
        """Find out whether the answer, sent then, has been read, now that something follows it."""
        turn = self._turn
        if self._answers is not False:
            self._timer = self._loop.call_at(since + FIRST, self._look, turn, PAUSE, self._loop.time())
        else:
            self._timer = self._loop.call_at(since + FIRST, self._look_last, turn, since + PAUSE)

    def _look_last(self, turn: int, until: float) -> None:
        """Ask once who did not answer before; not in one piece with the answer, or that is lost as well."""
        self._timer = self._loop.call_at(until, self._read, turn)
        self._look_once(turn)

    def _look(self, turn: int, pause: float, since: float) -> None:
        if self._answers is None and self._loop.time() - since > LIMIT:
            self._answers = False
            self._read(turn)
            return
        self._timer = self._loop.call_later(pause, self._look, turn, min(2 * pause, LONGEST), since)
        self._look_once(turn)

    def _look_once(self, turn: int) -> None:
        if self._ask is not None:
            self._ask(lambda: self._heard(turn))

    def _heard(self, turn: int) -> None:
        self._answers = True
        self._read(turn)

    def _read(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._stop()
        self._unread_since = None
        self._go()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
