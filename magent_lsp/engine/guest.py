"""An agent of another program that uses this editor: its calls come in place of a model's replies."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from magent_lsp.core.messages import ToolMessage, ToolStatus

GUEST_AGENT: Final = "guest"
"""What it may do, agents of other programs may do here."""

PATIENCE: Final = 20.0
"""Seconds without a call after which a run ends; the next call begins another."""

MOST_CALLS: Final = 200
"""Calls of one run: what is kept of a run must not grow for ever, and undo takes back a whole run."""


@dataclass(eq=False, kw_only=True)
class GuestCall:
    """One call."""

    id: str
    name: str
    arguments: str
    """JSON."""
    answer: "asyncio.Future[ToolMessage]"
    """Cancelled if the guest does not want it any more."""
    left: str = ""
    """How it was left, where it ended without an answer."""

    def give(self, message: ToolMessage) -> None:
        """Answer it, if that was not done and is still wanted."""
        if not self.answer.done():
            self.answer.set_result(message)


class Guest:
    """What a guest wants in one run, handed to whoever drives the run."""

    def __init__(
        self, name: str, folders: Sequence[Path] = (), *, patience: float = PATIENCE, most: int = MOST_CALLS
    ) -> None:
        self.name = name
        """For people, such as `claude-code`."""
        self.folders = tuple(folders)
        """The workspace folders that let it in; all others are outside for it."""
        self._patience = patience
        self._room = most
        self._waiting: asyncio.Queue[GuestCall] = asyncio.Queue()
        self._open: set[GuestCall] = set()
        """Calls without an answer."""
        self._takes = True
        self._timer: asyncio.Timeout | None = None

    def offer(self, call: GuestCall) -> bool:
        """Take a call; False if this run takes no more."""
        if not self._takes or self._room == 0:
            return False
        self._room -= 1
        self._open.add(call)
        call.answer.add_done_callback(lambda _: self._answered(call))
        self._waiting.put_nowait(call)
        return True

    async def next(self) -> GuestCall | None:
        """The next call; None when there was none for a while, and no more is taken."""
        while True:
            try:
                async with asyncio.timeout(None) as self._timer:
                    self._count_down()
                    call = await self._waiting.get()
            except TimeoutError:
                if self._waiting.empty() and not self._open:
                    self._takes = False
                    return None
            else:
                if not call.answer.done():
                    return call
            finally:
                self._timer = None

    def leave(self) -> None:
        """The guest is gone: the run ends as soon as nothing is at work."""
        self._patience = 0
        self._count_down()

    def dismiss(self, why: str, status: ToolStatus = "cancelled") -> None:
        """The run is over: whatever has no answer gets this one."""
        self._takes = False
        for call in list(self._open):
            text = f"{call.left or 'Nothing was done.'} {why}"
            call.give(ToolMessage(id=call.id, call_id=call.id, name=call.name, text=text, status=status))

    def _answered(self, call: GuestCall) -> None:
        self._open.discard(call)
        self._count_down()

    def _count_down(self) -> None:
        """Let the time run while nothing is at work."""
        timer = self._timer
        if timer is None or timer.expired():
            return
        patience = self._patience if self._room else 0
        timer.reschedule(None if self._open else asyncio.get_running_loop().time() + patience)
