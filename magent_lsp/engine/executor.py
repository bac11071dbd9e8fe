"""One tool call from the model's words to its one result.

The only place that looks a tool up, validates its input, has it judged, asks, applies, records and
truncates; so no tool can forget any of it.
"""

import asyncio
import difflib
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from magent_lsp.core.diff import one_line, reveal
from magent_lsp.core.errors import MagentError, ToolError
from magent_lsp.core.events import TodoUpdated, ToolCallEvent, ToolState
from magent_lsp.core.known import Known, more, read_known
from magent_lsp.core.messages import ToolCall, ToolMessage, ToolStatus
from magent_lsp.core.request import Answer, Question
from magent_lsp.core.session import step_of
from magent_lsp.core.tool import READ, Ask, Proposal, Subject, ToolContext, ToolResult
from magent_lsp.engine.call import Prepared, faults, parse_arguments, paths_of, shown_arguments
from magent_lsp.engine.history import LONGEST_NAME
from magent_lsp.engine.hook_reply import Reply
from magent_lsp.engine.landing import OUTCOME_WORDS, Landing
from magent_lsp.engine.output import bounded
from magent_lsp.engine.permit import Declined, Refused, Rejected, judge_for, permit
from magent_lsp.engine.run import Run
from magent_lsp.engine.unsaved import save_before

logger = logging.getLogger(__name__)

Delegate = Callable[[str, str, bool, Callable[[str], None]], Awaitable[ToolResult]]
"""(agent, prompt, background, where its steps are shown)"""


CANCELLED = "Cancelled before it was done."


_LONGEST_REASON: Final = 80
"""Characters of why a call failed, where it stands in its one line."""


class Executor:
    """Executes the calls of one run."""

    def __init__(self, run: Run, context: ToolContext, delegate: Delegate | None = None) -> None:
        self._run = run
        self._context = context
        self._delegate = delegate
        self._landing = Landing(run, context)

    async def execute(self, call: ToolCall) -> ToolMessage:
        """The call's one result, already in the session; raises Rejected to end the turn."""
        try:
            prepared = self._prepare(call)
        except ToolError as error:
            self._started(call, None)
            return self._finish(call, None, ToolResult(text=str(error), failed=True), "failed")
        self._started(call, prepared)
        try:
            prepared = await self._hooked(prepared)
            result = await self._carry_out(prepared)
        except Rejected as error:
            self._finish(call, prepared, ToolResult(text=str(error), failed=True), "rejected")
            raise
        except Declined as error:
            return self._finish(call, prepared, ToolResult(text=str(error), failed=True), "rejected")
        except asyncio.CancelledError:
            outcome = self._landing.outcomes.get(call.id)
            why = OUTCOME_WORDS[outcome] if outcome is not None else CANCELLED
            done = outcome == "applied"
            cut: ToolStatus = "completed" if done else "cancelled"
            self._finish(call, prepared, ToolResult(text=why, failed=not done), cut)
            raise
        except Refused as error:
            return self._finish(call, prepared, ToolResult(text=str(error), failed=True), "failed")
        except MagentError as error:
            result = ToolResult(text=str(error), failed=True)
        except Exception as error:
            logger.exception("tool %r failed", call.name)
            result = ToolResult(text=f"The tool failed unexpectedly: {error!r}", failed=True)
        status: ToolStatus = "failed" if result.failed else "completed"
        try:
            result = await self._afterwards(prepared, result)
        except asyncio.CancelledError:
            self._finish(call, prepared, result, status)  # it was done, whatever the hooks would have said
            raise
        return self._finish(call, prepared, result, status)

    async def use(self, tool: str, arguments: str) -> ToolResult:
        """Use a tool for a person's command: judged and asked as any call, but no part of the history.

        Raises Refused, Rejected, Declined and ToolError.
        """
        call = ToolCall(id=f"command-{uuid.uuid4().hex[:10]}", name=tool, arguments=arguments)
        return await self._carry_out(await self._hooked(self._prepare(call)))

    async def aside(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a tool that only reads says, for us and not as a call; empty if the rules do not allow it."""
        prepared = self._prepare(ToolCall(id="aside", name=tool, arguments=json.dumps(arguments)))
        if judge_for(self._run, prepared.subjects).verdict != "allow":
            return ""
        outcome = await prepared.tool.run(prepared.input, self._context)
        return self._run.host.redact(outcome.text) if isinstance(outcome, ToolResult) else ""

    def refuse(self, call: ToolCall, why: str, status: ToolStatus = "failed") -> ToolMessage:
        """Give a call a result without running it."""
        self._started(call, None)
        return self._finish(call, None, ToolResult(text=why, failed=True), status)

    def is_concurrent(self, call: ToolCall) -> bool:
        """Whether the call may run beside its neighbours."""
        tool = self._run.tools_by_name.get(call.name)
        return tool is None or tool.concurrent

    def _prepare(self, call: ToolCall) -> Prepared:
        tools = self._run.tools_by_name
        tool = tools.get(call.name)
        if tool is None:
            near = difflib.get_close_matches(call.name, tools, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ToolError(f"There is no tool {call.name!r}.{hint} Available: {', '.join(tools)}.")
        arguments = parse_arguments(call)
        try:
            value = tool.input.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(f"Bad arguments for {call.name!r}: {faults(error)}") from None
        subjects = tool.subjects(value) or (Subject(tool=tool.name, kind="none"),)
        return Prepared(
            call=call,
            tool=tool,
            input=value,
            title=one_line(tool.title(value)) or tool.name,
            subjects=subjects,
        )

    async def _hooked(self, prepared: Prepared) -> Prepared:
        """The call as the hooks before it leave it; raises Refused if they do not."""
        before = await self._run.hooks.before_tool(prepared.use)
        self._run.halted = self._run.halted or before.halted
        if before.verdict == "deny":
            raise Refused(f"Not allowed: {before.reason} Nothing was done.")
        told = before.context
        if before.arguments is not None:
            arguments = json.dumps(before.arguments)
            try:
                prepared = self._prepare(replace(prepared.call, arguments=arguments))
            except ToolError as error:
                raise Refused(f"A hook changed this call into one that does not fit: {error}") from error
            told = "\n".join(part for part in (f"A hook changed the arguments to {arguments}", told) if part)
        return replace(prepared, raised=before.reason if before.verdict == "ask" else "", told=told)

    async def _afterwards(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        """The result with what hooks say to it."""
        run, use = self._run, prepared.use
        if result.failed:
            reply = await run.hooks.fire("PostToolUseFailure", tool=use, error=run.host.redact(result.text))
        elif run.hooks.listens("PostToolUse"):
            response = {"success": True, "text": run.host.redact(result.text)}
            reply = await run.hooks.fire("PostToolUse", tool=use, tool_response=response)
        else:
            reply = Reply()
        run.halted = run.halted or reply.halted
        notes = [prepared.told, reply.reason if reply.blocked else "", reply.context]
        if not any(notes):
            return result
        note = "\n".join(part for part in notes if part)
        return replace(result, text=f"{result.text}\n<hook>\n{note}\n</hook>")

    async def _carry_out(self, prepared: Prepared) -> ToolResult:
        decision = judge_for(self._run, prepared.subjects)
        self._run.trace.verdict(prepared.call.id, prepared.tool.name, decision)
        if decision.verdict == "deny":
            raise Refused(f"Not allowed: {decision.reason} Nothing was done.")
        if reads := prepared.tool.reads(prepared.subjects):
            await self._may_read(prepared, reads)
        permitted = False
        if (decision.verdict == "ask" or prepared.raised) and not prepared.tool.previews:
            await self._permit(prepared, None)
            prepared, permitted = replace(prepared, raised=""), True
        outcome = await prepared.tool.run(prepared.input, self._context_of(prepared))
        if isinstance(outcome, ToolResult):
            return outcome
        if not permitted or outcome.subjects or outcome.edit is not None:
            await self._permit(prepared, outcome)
        if outcome.edit is not None:
            self._updated(prepared, "in_progress")
            return await self._landing.land(prepared, outcome)
        if outcome.act is None:
            raise ToolError(f"Tool {prepared.tool.name!r} proposed nothing.")
        self._updated(prepared, "in_progress")
        if prepared.tool.name == "bash":
            await save_before(self._run, prepared.call.id)
        return await outcome.act()

    async def _may_read(self, prepared: Prepared, reads: Sequence[Subject]) -> None:
        """An edit that does not fit is answered with what stands there, which is reading: judged as such."""
        await permit(
            self._run,
            call_id=prepared.call.id,
            tool=READ,
            title=f"Read {', '.join(each.value for each in reads)}",
            subjects=reads,
            proposal=None,
            arguments=prepared.use.arguments,
        )

    def _context_of(self, prepared: Prepared) -> ToolContext:
        def report(text: str) -> None:
            self._updated(prepared, "in_progress", self._run.host.redact(text))

        context = replace(self._context, report=report)
        if context.ask is not None:
            context = replace(context, ask=partial(_asking, context.ask, self._run.id, prepared.call.id))
        if self._delegate is not None:
            context = replace(context, delegate=partial(_reporting, self._delegate, report))
        return context

    async def _permit(self, prepared: Prepared, proposal: Proposal | None) -> None:
        if proposal is not None and proposal.edit is not None:
            why = self._landing.outside(proposal.edit) or self._landing.astray(proposal.edit, prepared)
            if why:
                raise Refused(f"{why} Nothing was changed.")
        await permit(
            self._run,
            call_id=prepared.call.id,
            tool=prepared.tool.name,
            title=proposal.title if proposal else prepared.title,
            subjects=(*prepared.subjects, *(proposal.subjects if proposal else ())),
            proposal=proposal,
            arguments=prepared.use.arguments,
            raised=prepared.raised,
        )

    def _started(self, call: ToolCall, prepared: Prepared | None) -> None:
        run = self._run
        step = step_of(run.session.todos)
        title = prepared.title if prepared else _named(call)
        run.state, run.doing = "working", f"{title} ({step})" if step else title
        self._event("started", call, prepared, "pending")

    def _updated(self, prepared: Prepared, status: ToolState, output: str | None = None) -> None:
        self._event("updated", prepared.call, prepared, status, output)

    def _finish(
        self, call: ToolCall, prepared: Prepared | None, result: ToolResult, status: ToolStatus
    ) -> ToolMessage:
        run = self._run
        clean = run.host.redact(result.text)
        text = bounded(clean, run.settings.max_tool_output_chars, self._context.scratch)
        message = ToolMessage(
            id=f"msg-{uuid.uuid4().hex[:12]}",
            call_id=call.id,
            name=call.name,
            text=text or "(no output)",
            status=status,
            images=result.images,
        )
        run.session.append_result(
            message,
            seen=self._known(result, whole=clean == result.text),
            skills=dict([result.skill]) if result.skill is not None else {},
        )
        if result.todos is not None:
            run.session.set_todos(result.todos)
            run.emit(TodoUpdated(items=result.todos))
        if result.done and status == "completed":
            run.summary = run.host.redact(result.text)
        self._event("finished", call, prepared, status, text)
        return message

    def _known(self, result: ToolResult, *, whole: bool) -> dict[str, str]:
        """What the model knows of files since a call; a text that hid a secret from it is not known."""
        seen = self._run.session.seen
        found = {str(path): value for path, value in result.seen}
        if not whole:
            found = {path: str(Known(read_known(value).digest, ())) for path, value in found.items()}
        return {path: more(seen.get(path), value) for path, value in found.items()}

    def _event(
        self,
        phase: Any,
        call: ToolCall,
        prepared: Prepared | None,
        status: ToolState,
        output: str | None = None,
    ) -> None:
        if prepared is not None:
            title = prepared.title
        else:
            title = _reason(output) if status == "failed" else _named(call)
        self._run.emit(
            ToolCallEvent(
                phase=phase,
                tool_call_id=call.id,
                name=_named(call),
                kind=prepared.tool.kind if prepared else "other",
                title=title,
                status=status,
                arguments=shown_arguments(call) if phase == "started" else None,
                output=output,
                paths=paths_of(prepared.subjects) if prepared else (),
            )
        )


def _named(call: ToolCall) -> str:
    """What people are told that a call is named: a model may name any text, of many lines too."""
    return reveal(one_line(call.name[:LONGEST_NAME]))[:LONGEST_NAME]


def _reason(output: str | None) -> str:
    """Why a call could not even be tried: the first sentence, for the one line that is shown of it."""
    return reveal(one_line((output or "").partition(". ")[0]))[:_LONGEST_REASON]


async def _reporting(
    delegate: Delegate, report: Callable[[str], None], agent: str, prompt: str, background: bool
) -> ToolResult:
    return await delegate(agent, prompt, background, report)


async def _asking(ask: Ask, run_id: str, call_id: str, question: Question) -> Answer | None:
    return await ask(replace(question, run_id=run_id, tool_call_id=call_id))
