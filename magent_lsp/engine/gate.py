"""Asks people: one dialog open at a time, answerable in several ways, the first answer wins."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from magent_lsp.core.errors import MagentError
from magent_lsp.core.events import PermissionRequested, PermissionResolved, RunEvent
from magent_lsp.core.ports import Editor
from magent_lsp.core.request import Answer, PermissionReply, PermissionRequest, Question

logger = logging.getLogger(__name__)

REJECT = PermissionReply(reply="reject")


@dataclass(frozen=True)
class _Pending:
    request: PermissionRequest
    answer: asyncio.Future[PermissionReply]
    still_needed: Callable[[], bool]


class Gate:
    """Open permission requests of one client.

    A request is visible in `pending` from the moment it is made, so that commands and code actions can
    answer it; its dialog opens when those before it are closed. Everything unclear is a reject.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._open: dict[str, _Pending] = {}
        self._dialog = asyncio.Lock()

    def pending(self) -> list[PermissionRequest]:
        """Requests that wait for an answer, oldest first."""
        return [entry.request for entry in self._open.values()]

    def respond(self, request_id: str, reply: PermissionReply) -> bool:
        """Answer a request; False if it is unknown or already answered, or does not offer that reply."""
        entry = self._open.get(request_id)
        if entry is None or entry.answer.done():
            return False
        if reply.reply not in {option.reply for option in entry.request.options}:
            return False
        entry.answer.set_result(reply)
        return True

    async def ask(
        self,
        request: PermissionRequest,
        emit: Callable[[RunEvent], None],
        *,
        still_needed: Callable[[], bool] = lambda: True,
        minutes: float | None = None,
    ) -> PermissionReply:
        """Wait for a person's decision.

        `still_needed` is asked again just before the dialog opens: an answer given to an earlier request
        may have settled this one. Nobody's answer within `minutes` is a reject; None waits for ever.
        """
        entry = _Pending(request, asyncio.get_running_loop().create_future(), still_needed)
        self._open[request.request_id] = entry
        emit(PermissionRequested(request=request))
        dialog = asyncio.create_task(self._show(entry), name=f"dialog {request.request_id}")
        reply = REJECT
        try:
            async with asyncio.timeout(minutes * 60 if minutes else None):
                reply = await entry.answer
        except TimeoutError:
            reply = PermissionReply(
                reply="reject", feedback=f"Nobody answered within {minutes:g} minutes; go on without it."
            )
        finally:
            del self._open[request.request_id]
            dialog.cancel()
            emit(PermissionResolved(request_id=request.request_id, reply=reply.reply))
        return reply

    async def question(self, question: Question) -> Answer | None:
        """Ask for information, when no other dialog is open; None if there is no answer."""
        async with self._dialog:
            try:
                return await self._editor.ask(question)
            except MagentError as error:
                logger.warning("the question %r could not be asked: %s", question.title, error)
            except Exception:
                logger.exception("the question %r could not be asked", question.title)
            return None

    async def _show(self, entry: _Pending) -> None:
        async with self._dialog:
            if entry.answer.done():
                return
            if not entry.still_needed():
                entry.answer.set_result(PermissionReply(reply="allow_once"))
                return
            try:
                reply = await self._editor.request_permission(entry.request)
            except MagentError as error:
                logger.warning("the permission dialog failed: %s", error)
                reply = REJECT
            except Exception:
                logger.exception("the permission dialog failed")
                reply = REJECT
            if reply is None:
                # This editor has no dialogs: the command and the code actions serve.
                return
            offered = {option.reply for option in entry.request.options}
            if not entry.answer.done():
                entry.answer.set_result(reply if reply.reply in offered else REJECT)
