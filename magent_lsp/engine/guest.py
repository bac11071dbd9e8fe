"""An agent of another program that uses this editor: its calls come in place of a model's replies."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
        self,
        name: str,
        folders: Callable[[], Sequence[Path]] = tuple,
        *,
        patience: float = PATIENCE,
        most: int = MOST_CALLS,
    ) -> None:
        self.name = name
        """For people, such as `claude-code`."""
        self.unheard: list[str] = []
        """What the person said to the run that came with no answer; set when it ends."""
        self.read: object = None
        """What was in force when the run began; None: it was not read yet."""
        self._folders = folders
        self._begun = False
        self._patience = patience
        self._room = most
        self._waiting: asyncio.Queue[GuestCall] = asyncio.Queue()
        self._open: dict[GuestCall, bool] = {}
        """Calls without an answer, in order; whether each is at work."""
        self._takes = True
        self._timer: asyncio.Timeout | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The workspace folders that let it in; all others are outside for it."""
        return tuple(self._folders())

    @property
    def takes(self) -> bool:
        """Whether the run is not over."""
        return self._takes

    def in_force(self, snapshot: object, folders: Sequence[Path]) -> object:
        """What a run of it goes by; equal to what another one did if nothing has changed."""
        return snapshot, self.folders, tuple(folders)

    def enter(self) -> None:
        """The run begins: its folders and rules are read now, and stay as they are."""
        self._begun = True

    def offer(self, call: GuestCall) -> bool:
        """Take a call; False if this run takes no more."""
        if not self._takes or self._room == 0:
            return False
        self._room -= 1
        self._open[call] = False
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
                if call in self._open and not call.answer.done():
                    return call
            finally:
                self._timer = None

    def begin(self, call: GuestCall) -> bool:
        """Whether a call is to be carried out in this run; it is at work from now on."""
        if call not in self._open:
            return False
        self._open[call] = True
        return True

    def retire(self) -> list[GuestCall]:
        """Folders or rules may be others now: the run ends as soon as nothing is at work.

        The result are the calls that were not begun, for the next run. A run that has not begun stays, as it
        will read what is in force then.
        """
        if not self._begun:
            return []
        self._room = 0
        back = [call for call, at_work in self._open.items() if not at_work and not call.answer.done()]
        for call in back:
            del self._open[call]
        self._count_down()
        return back

    def leave(self) -> None:
        """The guest is gone: the run ends as soon as nothing is at work."""
        self._patience = 0
        self._count_down()

    def dismiss(self, why: str, status: ToolStatus = "cancelled") -> bool:
        """The run is over: whatever has no answer gets this one. Whether there was any."""
        self._takes = False
        left = [call for call in self._open if not call.answer.done()]
        for call in left:
            text = f"{call.left or 'Nothing was done.'} {why}"
            call.give(ToolMessage(id=call.id, call_id=call.id, name=call.name, text=text, status=status))
        return bool(left)

    def _answered(self, call: GuestCall) -> None:
        self._open.pop(call, None)
        self._count_down()

    def _count_down(self) -> None:
        """Let the time run while nothing is at work."""
        timer = self._timer
        if timer is None or timer.expired():
            return
        patience = self._patience if self._room else 0
        timer.reschedule(None if self._open else asyncio.get_running_loop().time() + patience)


def with_words(result: ToolMessage, said: Sequence[str]) -> ToolMessage:
    """A result with what the person said meanwhile."""
    if not said:
        return result
    words = "\n".join(said)
    return replace(result, text=f"{result.text}\n\n[The user says to you, in the editor:]\n{words}")
