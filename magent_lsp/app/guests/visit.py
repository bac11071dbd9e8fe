"""A guest's stay: one session, and a run for each burst of its calls."""

import asyncio
import contextlib
import json
import logging
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from magent_lsp.app.guests.house import House
from magent_lsp.core.errors import CallerError, MagentError
from magent_lsp.core.events import PermissionRequested, RunEvent, RunFinished, ToolCallEvent
from magent_lsp.core.messages import ToolMessage, ToolStatus
from magent_lsp.core.request import RunRequest
from magent_lsp.engine.guest import GUEST_AGENT, Guest, GuestCall, with_words

logger = logging.getLogger(__name__)

Waiting = Callable[[str], None]
"""Told in words that a call waits for the person."""

_ASKING: Final = ("ask_user", "propose")

TURN_SECONDS: Final = 1.0
"""What comes so soon after a cancel was told is of the same turn: its caller has not read that yet."""

_ENDED: Final = {
    "cancelled": "The user ended this in the editor. Ask them before you go on.",
    "rejected": "The user rejected another call that was made at the same time.",
}


class Visit:
    """What one guest does here."""

    def __init__(self, house: House, name: str, folder: Path, folders: Callable[[], Sequence[Path]]) -> None:
        """It stands in `folder`; `folders` are all that let it in."""
        self._house = house
        self._folders = folders
        self._name = name
        self.folder = folder
        self._session: str | None = None
        self._guest: Guest | None = None
        """Of the newest run."""
        self._runs: dict[str, asyncio.Task[None]] = {}
        """Runs that have not ended, and who waits for that."""
        self._waiting: dict[str, Waiting] = {}
        self._ended = ""
        """Why calls are refused: the person ended a run."""
        self._told: float | None = None
        """When the guest was told of that; None: not yet."""
        self._said: list[str] = []
        """What the person said, for the next answer."""

    async def call(self, tool: str, arguments: Any, waiting: Waiting) -> ToolMessage:
        """What came of a call; cancelled with the caller."""
        answer: asyncio.Future[ToolMessage] = asyncio.get_running_loop().create_future()
        call = GuestCall(
            id=f"call-{uuid.uuid4().hex[:16]}",
            name=tool,
            arguments=json.dumps({} if arguments is None else arguments),
            answer=answer,
        )
        self._waiting[call.id] = waiting
        try:
            self._hand_in(call)
            result = await answer
        finally:
            del self._waiting[call.id]
        said, self._said = self._said, []
        return with_words(result, said)

    def renew(self) -> None:
        """Folders or rules may be others now: what is not at work is done in a run that sees them."""
        guest = self._guest
        if guest is None or not guest.takes:
            return
        if self._in_force(guest) == guest.read:
            return  # a file was saved that says nothing new: the burst is one run, and its reads go on
        for call in guest.retire():
            self._hand_in(call)

    def _in_force(self, guest: Guest) -> object:
        """What a run that began now would read; what is like nothing else if that cannot be had."""
        app = self._house.app
        try:
            return guest.in_force(app.configuration.load(self.folder), app.folders)
        except (OSError, MagentError):
            logger.exception("the settings of %s cannot be read", self.folder)
            return object()

    def stop(self) -> None:
        """End what is at work; each call gets its answer."""
        for run_id in list(self._runs):
            self._house.app.cancel(run_id)

    async def end(self) -> None:
        """The guest has left: its run ends, and nobody writes to its session any more."""
        if self._guest is not None:
            self._guest.leave()
        if self._runs:
            await asyncio.wait(list(self._runs.values()))
        if self._session is not None:
            with contextlib.suppress(CallerError):
                self._house.app.close_session(self._session)

    def _hand_in(self, call: GuestCall) -> None:
        """Have a call done in the run that there is, or in another; it is answered whatever happens."""
        now = asyncio.get_running_loop().time()
        if self._ended and (self._told is None or now < self._told + TURN_SECONDS):
            self._told = self._told or now
            call.give(_answer(call, f"Nothing was done. {self._ended}", "cancelled"))
            return
        self._ended = ""
        try:
            if self._guest is None or not self._guest.offer(call):
                self._begin(call)
        except MagentError as error:
            call.give(_answer(call, f"Nothing was done: {error}", "failed"))

    def _begin(self, call: GuestCall) -> None:
        """Begin a run with a call; MagentError if that cannot be."""
        guest = Guest(self._name, self._folders)
        guest.offer(call)
        request = RunRequest(
            prompt=f"{self._name}: {_title(call.name, json.loads(call.arguments))}",
            agent=GUEST_AGENT,
            session_id=self._open_session(),
            folder=self.folder,
        )
        started = self._house.receive(request, guest, self._hear)
        self._session, self._guest = started.session_id, guest
        task = asyncio.create_task(self._follow(started.run_id, guest), name=f"guest in {started.run_id}")
        self._runs[started.run_id] = task
        task.add_done_callback(lambda _: self._runs.pop(started.run_id, None))

    def _open_session(self) -> str | None:
        """The session of this stay, if nobody has closed or deleted it."""
        return self._session if self._session in self._house.app.open_session_ids() else None

    async def _follow(self, run_id: str, guest: Guest) -> None:
        finished: RunFinished = await self._house.app.wait(run_id)
        self._said += guest.unheard
        why = finished.error or _ENDED.get(finished.stop_reason, "The run has ended.")
        heard = guest.dismiss(why)
        if finished.stop_reason == "cancelled":
            self._ended, self._told = why, asyncio.get_running_loop().time() if heard else None
            self.stop()

    def _hear(self, event: RunEvent) -> None:
        match event:
            case PermissionRequested(request=request):
                what = request.title.removeprefix(f"{self._name}: ")
                self._tell(request.tool_call_id, f"Waiting for the user's permission: {what}")
            case ToolCallEvent(phase="started", name=name) if name in _ASKING:
                self._tell(event.tool_call_id, "Waiting for the user's answer in the editor")

    def _tell(self, call_id: str, words: str) -> None:
        if (waiting := self._waiting.get(call_id)) is not None:
            waiting(words)


def _answer(call: GuestCall, text: str, status: ToolStatus) -> ToolMessage:
    return ToolMessage(id=call.id, call_id=call.id, name=call.name, text=text, status=status)


def _title(tool: str, arguments: Any) -> str:
    """What a call is about, for the title of its session."""
    from magent_lsp.tools.registry import TOOLS

    found = next((each for each in TOOLS if each.name == tool), None)
    if found is None:
        return tool
    try:
        return found.title(found.input.model_validate(arguments or {})) or tool
    except ValueError:
        return tool
