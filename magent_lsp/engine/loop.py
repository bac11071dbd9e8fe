"""The loop: request, stream, execute, repeat."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from magent_lsp.core.errors import ModelError, UserError
from magent_lsp.core.events import Notice, TextDeltaEvent, UsageUpdated
from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.request import StopReason
from magent_lsp.core.session import step_of
from magent_lsp.engine.executor import Executor
from magent_lsp.engine.flatten import clipped
from magent_lsp.engine.permit import Rejected
from magent_lsp.engine.run import Run
from magent_lsp.engine.size import Size, size_of
from magent_lsp.engine.turn import Endless, Interrupted, ask_model
from magent_lsp.engine.window import Window

GO_ON = "Your reply was cut off at the length limit. Go on from where it stopped, in smaller steps."
EMPTY = "Your reply was empty. Answer the user, or call a tool correctly."
NOT_DONE = (
    "`done` does not count: another call of the same reply failed. Look at its result, then go on or call "
    "`done` again."
)
MAX_REPEATED = 1_000
"""Characters that are kept of a reply which repeats itself."""
MAX_HELD = 5
"""How often Stop hooks may send one run on."""
CUT_CALL = (
    "Not executed: the reply was cut off at the length limit, so this call may be incomplete. "
    "Nothing was done. Send it again, smaller."
)


class Loop:
    """Drives one run until the model has nothing more to do, or something ends it."""

    def __init__(
        self,
        run: Run,
        executor: Executor,
        *,
        system: str,
        settings: ModelSettings,
        window: Window,
        settle: Callable[[], Awaitable[bool]],
    ) -> None:
        self._run = run
        self._settle = settle
        """Waits for a background subagent; False if nothing comes any more."""
        self._executor = executor
        self._system = system
        self._settings = settings
        self._window = window
        self._cut = 0
        """Replies in a row that hit the length limit."""
        self._nudged = False
        self._held = 0
        """How often a hook has sent the run on."""

    async def drive(self) -> StopReason:
        """Run to the end; raises ModelError, and CancelledError when cancelled."""
        while True:
            self._take_in()
            budget = self._run.budget
            if (limit := budget.exceeded()) is not None:
                self._run.emit(Notice(level="warning", message=budget.why()))
                return limit
            try:
                async with asyncio.timeout(budget.seconds_left) as patience:
                    reply = await self._request()
            except TimeoutError:
                if not patience.expired():
                    raise
                self._run.emit(Notice(level="warning", message=budget.why()))
                return "budget"
            except Endless as error:
                return self._cut_short(error)
            budget.count_turn(reply.usage)
            if reply.tool_calls:
                stop = await self._act(reply)
            else:
                stop = self._conclude(reply)
            if stop == "end_turn" and await self._goes_on():
                stop = None
            if stop is not None:
                return stop

    async def _goes_on(self) -> bool:
        """Whether something is left to do although the model has finished."""
        run = self._run
        if run.incoming or (run.summary is None and await self._settle()):
            run.summary = None
            self._break_off()
            return True
        if (why := await self._held_back()) is None:
            return bool(run.incoming)
        self._tell(why)
        run.summary = None
        return True

    def _break_off(self) -> None:
        """Keep the next answer apart from the one that was given."""
        if self._run.text and not self._run.text.endswith("\n"):
            self._run.emit(TextDeltaEvent(text="\n\n"))

    async def _held_back(self) -> str | None:
        """What a Stop hook wants done before the run ends; None if there is nothing."""
        run = self._run
        told: dict[str, Any] = {"stop_hook_active": self._held > 0, "last_assistant_message": run.text}
        if run.parent is None:
            reply = await run.hooks.fire("Stop", **told)
        else:
            reply = await run.hooks.fire("SubagentStop", run.agent.name, **told)
        if reply.halted or not reply.blocked:
            return None
        name = "Stop" if run.parent is None else "SubagentStop"
        if self._held >= MAX_HELD:
            why = f"The {name} hook kept the run from ending {MAX_HELD} times; it ends now. It said: "
            run.emit(Notice(level="warning", message=why + reply.reason))
            return None
        self._held += 1
        run.loops.begin()  # the same answer again is an answer to the hook, which has a limit of its own
        self._break_off()
        run.emit(Notice(level="info", message=f"{name} hook: {reply.reason}"))
        return f"You are not done yet; the user's hook says:\n{reply.reason}"

    async def _request(self) -> AssistantMessage:
        run = self._run
        reply = await self._ask()
        run.emit.flush()
        run.session.append(reply)
        run.text = reply.text or run.text
        run.count(reply.usage)
        run.emit(UsageUpdated(usage=run.usage))
        return reply

    async def _ask(self) -> AssistantMessage:
        """The model's reply, after making room for the request where that is needed."""
        run = self._run
        while True:
            await self._window.fit()
            run.state, run.doing = "thinking", step_of(run.session.todos) or "thinking"
            messages, asked = await self._messages()
            try:
                with run.trace.turn(self._settings) as turn:
                    reply = turn.reply = await ask_model(
                        run.host.model, messages, run.tools, self._settings, run.settings.retry, run.emit
                    )
            except Interrupted as error:
                run.session.append(AssistantMessage(id=_message_id(), text=error.text, finish="cut"))
                run.text = error.text
                raise
            except ModelError as error:
                if error.kind != "overflow":
                    raise
                await self._window.overflowed(error)
                continue
            self._window.counted(asked, reply)
            return reply

    def _cut_short(self, error: Endless) -> StopReason:
        """End where a reply repeats itself for ever; only so much of it is kept that one sees it."""
        run = self._run
        run.emit(Notice(level="warning", message="Stopped: the model's answer repeated itself."))
        text = clipped(error.text, MAX_REPEATED)
        run.session.append(AssistantMessage(id=_message_id(), text=text, finish="cut"))
        run.text = text or run.text
        return "loop"

    async def _messages(self) -> tuple[Sequence[Message], Size]:
        """What is sent, and the size of the conversation in it."""
        history = await self._run.history()
        size = self._run.view.size
        if (most := self._run.settings.max_history) is not None and len(history) > most:
            history = _last_turns(history, most)
            size = size_of(history)
        return [SystemMessage(text=self._system), *history], size

    def _conclude(self, reply: AssistantMessage) -> StopReason | None:
        """The end of a reply without tool calls; None: the model is asked once more."""
        run = self._run
        if reply.finish == "length":
            self._cut += 1
            if self._cut > 2:
                return "max_tokens"
            self._tell(GO_ON)
            return None
        if reply.finish == "refused":
            raise ModelError(
                reply.text.strip() or "The model refused to answer for reasons of content policy.",
                kind="refused",
            )
        if run.loops.observe_text(reply.text) == "stop":
            return "loop"
        if not reply.text.strip() and not self._nudged:
            self._nudged = True
            self._tell(EMPTY)
            return None
        return "end_turn"

    async def _act(self, reply: AssistantMessage) -> StopReason | None:
        """Execute the calls of a reply; a reason means that the run ends here."""
        if reply.finish == "length":
            self._cut += 1
            for call in reply.tool_calls:
                self._executor.refuse(call, CUT_CALL)
            return "max_tokens" if self._cut > 2 else None
        self._cut = 0
        try:
            results = await self._execute(reply.tool_calls)
        except BaseExceptionGroup as group:
            if group.subgroup(Rejected) is None:
                raise
            self._answer_the_rest(reply.tool_calls, "Not done: the user rejected another call of this reply.")
            return "rejected"
        except asyncio.CancelledError:
            self._answer_the_rest(reply.tool_calls, "Cancelled before it was done.")
            raise
        if self._run.halted:
            raise UserError(f"A hook ended the run: {self._run.halted}")
        if self._run.root.circling:
            return "loop"
        return self._watch(reply.tool_calls, results) or self._done(results)

    def _done(self, results: Sequence[ToolMessage]) -> StopReason | None:
        """End where the model says that the work is done, unless the same reply shows that it is not."""
        run = self._run
        if run.summary is None:
            return None
        if any(result.status != "completed" for result in results):
            run.summary = None
            self._tell(NOT_DONE)
            return None
        run.text = run.summary
        run.session.append(AssistantMessage(id=_message_id(), text=run.summary))
        run.emit(TextDeltaEvent(text=run.summary))
        run.emit.flush()
        return "end_turn"

    async def _execute(self, calls: Sequence[ToolCall]) -> list[ToolMessage]:
        """Neighbouring readers run together, everything else in order."""
        results: list[ToolMessage] = []
        for group in _groups(calls, self._executor.is_concurrent):
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self._executor.execute(call)) for call in group]
            results += [task.result() for task in running]
        return results

    def _answer_the_rest(self, calls: Sequence[ToolCall], why: str) -> None:
        answered = {m.call_id for m in self._run.session.messages if isinstance(m, ToolMessage)}
        for call in calls:
            if call.id not in answered:
                self._executor.refuse(call, why, "cancelled")

    def _watch(self, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> StopReason | None:
        """Notice a model that goes round in circles."""
        for call, result in zip(calls, results, strict=True):
            match self._run.loops.observe(call.name, call.arguments, result.text):
                case "nudge":
                    self._tell(
                        f"You have repeated the same steps ({call.name}) with the same results. "
                        "Try something else, or say what is in the way."
                    )
                case "stop":
                    self._run.emit(
                        Notice(level="warning", message="Stopped: the agent repeated the same steps.")
                    )
                    return "loop"
        return None

    def _take_in(self) -> None:
        run = self._run
        while run.incoming:
            run.session.append(run.incoming.pop(0))

    def _tell(self, text: str) -> None:
        self._run.session.append(UserMessage(id=_message_id(), text=text, synthetic=True))


def _groups(calls: Sequence[ToolCall], concurrent: Callable[[ToolCall], bool]) -> list[list[ToolCall]]:
    groups: list[list[ToolCall]] = []
    together = False
    for call in calls:
        if together and concurrent(call):
            groups[-1].append(call)
        else:
            groups.append([call])
            together = concurrent(call)
    return groups


def _last_turns(history: list[Message], most: int) -> list[Message]:
    """The newest messages, at most `most`, beginning with a user's, so that no call loses its result."""
    newest = len(history) - most
    later = (at for at in range(newest, len(history)) if isinstance(history[at], UserMessage))
    earlier = (at for at in range(newest - 1, 0, -1) if isinstance(history[at], UserMessage))
    return history[next(later, next(earlier, 0)) :]


def _message_id() -> str:
    return f"msg-{uuid.uuid4().hex[:12]}"
