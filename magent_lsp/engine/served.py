"""Drives the run of a guest: its calls are carried out as they come, under the rules of every other call.

There is no model, and so none of what guards one: budgets, circles, windows. Readers run beside everything
else; what changes something, or asks the person, is done in order.
"""

import asyncio
import contextlib
import json
import uuid
from dataclasses import replace
from typing import Final

from magent_lsp.core.errors import MagentError, UserError
from magent_lsp.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from magent_lsp.core.request import StopReason
from magent_lsp.core.tool import READ
from magent_lsp.engine.asking import WAITING
from magent_lsp.engine.compaction import CompactionPlan, compact, message_id
from magent_lsp.engine.executor import Executor
from magent_lsp.engine.guest import Guest, GuestCall, with_words
from magent_lsp.engine.permit import Rejected
from magent_lsp.engine.run import Run
from magent_lsp.tools.diagnostics import NO_PROBLEMS

MOST_KEPT: Final = 2_000_000
"""Characters of a conversation that stay in memory; its file keeps all."""
LEFT_OUT: Final = "Another program's agent used the editor's tools. Its older calls are left out here."


class Served:
    """The run of one guest."""

    def __init__(self, run: Run, executor: Executor, guest: Guest) -> None:
        self._run = run
        self._executor = executor
        self._guest = guest
        self._changing = asyncio.Lock()

    async def drive(self) -> StopReason:
        """Run until the guest has been silent for a while; raises what a hook ends the run with."""
        self._idle()
        try:
            async with asyncio.TaskGroup() as tasks:
                while (call := await self._guest.next()) is not None:
                    tasks.create_task(self._serve(call), name=f"call {call.id}")
        except BaseExceptionGroup as group:
            if group.subgroup(Rejected) is not None:
                return "rejected"
            found, rest = group.split(MagentError)
            if rest is not None or found is None:
                raise
            raise found.exceptions[0] from None
        return "end_turn"

    async def _serve(self, call: GuestCall) -> None:
        """Carry one call out; Rejected and UserError end the run."""
        task, run = asyncio.current_task(), self._run
        assert task is not None
        call.answer.add_done_callback(lambda answer: task.cancel() if answer.cancelled() else None)
        wish = ToolCall(id=call.id, name=call.name, arguments=call.arguments)
        beside = contextlib.nullcontext() if self._executor.is_concurrent(wish) else self._changing
        async with beside:
            if not self._guest.begin(call):
                return
            run.session.append(
                AssistantMessage(
                    id=_message_id(), tool_calls=(wish,), finish="tool_calls", model=self._guest.name
                )
            )
            try:
                result = await self._executor.execute(wish)
            except Rejected as error:
                call.give(self._with_words(_result(call, str(error))))
                raise
            except asyncio.CancelledError:
                call.left = self._recorded(call.id)
                raise
        call.give(self._with_words(await self._with_problems(call, result)))
        self._idle()
        if run.halted:
            raise UserError(f"A hook ended the run: {run.halted}")

    async def _with_problems(self, call: GuestCall, result: ToolMessage) -> ToolMessage:
        """What was read, with the problems that the editor knows there: so a guest sees them unasked."""
        if call.name != READ or result.status != "completed" or "diagnostics" not in self._run.tools_by_name:
            return result
        found = await self._executor.aside("diagnostics", {"path": json.loads(call.arguments)["path"]})
        if found in ("", NO_PROBLEMS):
            return result
        return replace(result, text=f"{result.text}\n\n[Problems that the editor knows here:]\n{found}")

    def _with_words(self, result: ToolMessage) -> ToolMessage:
        """The result with what the person said to the run meanwhile."""
        return with_words(result, take_words(self._run))

    def _recorded(self, call_id: str) -> str:
        """What the session says became of a call."""
        messages = reversed(self._run.session.messages)
        return next((m.text for m in messages if isinstance(m, ToolMessage) and m.call_id == call_id), "")

    def _idle(self) -> None:
        run = self._run
        if any(request.run_id == run.id for request in run.host.gate.pending()):
            run.state, run.doing = "waiting", WAITING
        else:
            run.state, run.doing = "thinking", f"waiting for {self._guest.name}"
        _trim(run)


def take_words(run: Run) -> list[str]:
    """What the person said to a run since this was asked last; it is in the session from now on."""
    said = []
    while run.incoming:
        run.session.append(run.incoming.pop(0))
        said.append(run.session.messages[-1].text)
    return said


def _trim(run: Run) -> None:
    """Leave the older half of a long conversation out: no model will shorten it."""
    messages = run.session.messages
    if sum(map(_size, messages)) <= MOST_KEPT:
        return
    room, at = MOST_KEPT // 2, len(messages)
    while at > 0 and (room := room - _size(messages[at - 1])) > 0:
        at -= 1
    split = next((n for n in range(at, len(messages)) if _begins(messages[n])), len(messages))
    plan = CompactionPlan(kind="summarise", tokens=0, messages=tuple(messages), split=split)
    compact(run.session, plan, new_id=_message_id(), summary=LEFT_OUT)


def _begins(message: Message) -> bool:
    return isinstance(message, AssistantMessage | UserMessage) and bool(message_id(message))


def _size(message: Message) -> int:
    size = len(message.text)
    if isinstance(message, AssistantMessage):
        size += sum(len(call.arguments) for call in message.tool_calls)
    if isinstance(message, ToolMessage | UserMessage):
        size += sum(len(image.data) for image in message.images)
    return size


def _result(call: GuestCall, text: str) -> ToolMessage:
    return ToolMessage(id=_message_id(), call_id=call.id, name=call.name, text=text, status="rejected")


def _message_id() -> str:
    return f"msg-{uuid.uuid4().hex[:12]}"
