"""Work-done progress of runs: cancellable, always ended, and in plain words."""

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.events import (
    EditApplied,
    Notice,
    PermissionRequested,
    PermissionResolved,
    ReasoningDeltaEvent,
    RunEvent,
    RunQueued,
    RunStarted,
    TextDeltaEvent,
    TodoUpdated,
    ToolCallEvent,
)
from magent_lsp.core.request import PermissionRequest
from magent_lsp.core.session import step_of
from magent_lsp.permissions.tools import OUTSIDE

if TYPE_CHECKING:
    from magent_lsp.lsp.server import MagentServer

logger = logging.getLogger(__name__)

CREATE_SECONDS = 10
"""How long a client may take to make a token; a run that is older than that shows no progress."""

REPORT_SECONDS = 0.1
"""Reports of one run are at least this far apart; the newest text wins."""

_VERBS = {
    "read": "reading",
    "search": "searching",
    "edit": "editing",
    "delete": "deleting",
    "move": "moving",
    "execute": "running",
    "fetch": "fetching",
}


THINKING = "thinking"
WRITING = "writing the answer"


def waiting_words(request: PermissionRequest) -> str:
    """That the person is waited for, and for what."""
    return f"waiting for you: {request.title}"


def say(event: RunEvent) -> str | None:
    """What is going on after an event, in a few words; None if nothing new is."""
    match event:
        case RunQueued(position=position):
            return f"queued, {position} before it" if position > 1 else "queued"
        case RunStarted() | PermissionResolved():
            return THINKING
        case ReasoningDeltaEvent():
            return THINKING
        case TextDeltaEvent():
            return WRITING
        case PermissionRequested(request=request):
            return waiting_words(request)
        case ToolCallEvent(phase="finished"):
            return THINKING
        case ToolCallEvent():
            return tool_words(event)
        case EditApplied(outcome="applied"):
            return "edit applied"
        case TodoUpdated(items=items):
            return step_of(items) or None
        case Notice(message=message):
            return message
    return None


def tool_words(event: ToolCallEvent) -> str:
    """`reading a.py`, or the title of a call that has no single path."""
    verb = _VERBS.get(event.kind)
    if verb is not None and len(event.paths) == 1:
        return f"{verb} {event.paths[0].replace(chr(92), '/').rstrip('/').rpartition('/')[2]}"
    said = event.title or event.name
    if event.name.startswith(OUTSIDE) and event.phase == "updated" and event.output:
        return f"{said}: {event.output}"
    return said


@dataclass
class _Line:
    """The progress of one run."""

    token: types.ProgressToken
    title: str
    message: str = ""
    shown: str = ""
    open: bool = False
    ended: bool = False
    creation: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


class Progress:
    """The progress lines of one client."""

    def __init__(self, server: "MagentServer", cancel: Callable[[str], object]) -> None:
        self._server = server
        self._cancel = cancel
        """Called with the id of a run whose progress a person cancelled."""
        self._lines: dict[str, _Line] = {}

    def begin(self, run_id: str, title: str, token: types.ProgressToken | None = None) -> None:
        """Show a run; `token` is one that the client made itself, for a request of its own."""
        if run_id in self._lines:
            return
        line = self._lines[run_id] = _Line(token if token is not None else f"magent-{uuid.uuid4()}", title)
        if token is not None:
            self._open(line)
        else:
            line.creation = asyncio.create_task(self._create(line), name=f"progress {run_id}")

    def report(self, run_id: str, message: str) -> None:
        """Say what is going on; texts that come too fast are skipped."""
        line = self._lines.get(run_id)
        if line is None or line.ended or message == line.message:
            return
        line.message = message
        if line.open and line.timer is None:
            self._report(line)

    def end(self, run_id: str, message: str) -> None:
        """End the line, at once; one that the client has not made yet never begins."""
        line = self._lines.pop(run_id, None)
        if line is None or line.ended:
            return
        line.ended = True
        if line.timer is not None:
            line.timer.cancel()
        if line.open:
            self._send(line, types.WorkDoneProgressEnd(message=message))

    def end_all(self, message: str) -> None:
        """End every line: the connection closes."""
        for run_id in list(self._lines):
            self.end(run_id, message)

    def cancelled(self, token: types.ProgressToken) -> None:
        """A person cancelled a progress line."""
        for run_id, line in list(self._lines.items()):
            if line.token == token:
                self._cancel(run_id)

    async def _create(self, line: _Line) -> None:
        params = types.WorkDoneProgressCreateParams(token=line.token)
        try:
            await self._server.protocol.call(
                types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, seconds=CREATE_SECONDS
            )
        except (JsonRpcException, TimeoutError) as error:
            logger.info("the client made no progress token: %s", error)
            return
        if not line.ended:
            self._open(line)

    def _open(self, line: _Line) -> None:
        line.open = True
        line.shown = line.message
        begin = types.WorkDoneProgressBegin(title=line.title, cancellable=True, message=line.message or None)
        self._send(line, begin)
        self._wait(line)

    def _report(self, line: _Line) -> None:
        line.timer = None
        if line.ended or line.message == line.shown:
            return
        line.shown = line.message
        self._send(line, types.WorkDoneProgressReport(cancellable=True, message=line.message))
        self._wait(line)

    def _wait(self, line: _Line) -> None:
        line.timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._report, line)

    def _send(
        self,
        line: _Line,
        value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd,
    ) -> None:
        self._server.progress(types.ProgressParams(token=line.token, value=value))
