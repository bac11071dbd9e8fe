"""One tool call from the model's words to its one result.

The only place that looks a tool up, validates its input, has it judged, asks, applies, records and
truncates; so no tool can forget any of it.
"""

import asyncio
import difflib
import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from magent_lsp.core.errors import MagentError, ToolError
from magent_lsp.core.events import EditApplied, EditRecord, TodoUpdated, ToolCallEvent, ToolState
from magent_lsp.core.messages import ToolCall, ToolMessage, ToolStatus
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext, ToolResult
from magent_lsp.engine.output import bounded
from magent_lsp.engine.permit import Declined, Refused, Rejected, judge_for, permit
from magent_lsp.engine.run import Run
from magent_lsp.engine.scopes import outside_scope
from magent_lsp.engine.unsaved import save_before

logger = logging.getLogger(__name__)

OUTCOME_WORDS = {
    "applied": "The edit was applied and verified.",
    "rejected": "The editor or the user did not take the edit. Nothing was changed.",
    "stale": "The text changed since it was read. Nothing was changed; read the file again.",
    "diverged": "After the edit the buffer holds another text than expected. Read the file before you go on.",
    "unknown": "The editor did not confirm the edit; it may or may not be there. Read the file first.",
}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A call that names an offered tool and fits its schema."""

    call: ToolCall
    tool: Tool
    input: BaseModel
    title: str
    subjects: tuple[Subject, ...]


class Executor:
    """Executes the calls of one run."""

    def __init__(self, run: Run, context: ToolContext) -> None:
        self._run = run
        self._context = context

    async def execute(self, call: ToolCall) -> ToolMessage:
        """The call's one result, already in the session; raises Rejected to end the turn."""
        try:
            prepared = self._prepare(call)
        except ToolError as error:
            self._started(call, None)
            return self._finish(call, None, ToolResult(text=str(error), failed=True), "failed")
        self._started(call, prepared)
        try:
            result = await self._carry_out(prepared)
        except Rejected as error:
            self._finish(call, prepared, ToolResult(text=str(error), failed=True), "rejected")
            raise
        except Declined as error:
            return self._finish(call, prepared, ToolResult(text=str(error), failed=True), "rejected")
        except asyncio.CancelledError:
            self._finish(
                call, prepared, ToolResult(text="Cancelled before it was done.", failed=True), "cancelled"
            )
            raise
        except MagentError as error:
            result = ToolResult(text=str(error), failed=True)
        except Exception as error:
            logger.exception("tool %r failed", call.name)
            result = ToolResult(text=f"The tool failed unexpectedly: {error!r}", failed=True)
        return self._finish(call, prepared, result, "failed" if result.failed else "completed")

    async def use(self, tool: str, arguments: str) -> ToolResult:
        """Use a tool for a person's command: judged and asked as any call, but no part of the history.

        Raises Refused, Rejected, Declined and ToolError.
        """
        call = ToolCall(id=f"command-{uuid.uuid4().hex[:10]}", name=tool, arguments=arguments)
        return await self._carry_out(self._prepare(call))

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
            call=call, tool=tool, input=value, title=tool.title(value) or tool.name, subjects=subjects
        )

    async def _carry_out(self, prepared: Prepared) -> ToolResult:
        decision = judge_for(self._run, prepared.subjects)
        if decision.verdict == "deny":
            raise Refused(f"Not allowed: {decision.reason} Nothing was done.")
        permitted = False
        if decision.verdict == "ask" and not prepared.tool.previews:
            await self._permit(prepared, None)
            permitted = True
        context = replace(
            self._context,
            report=lambda text: self._updated(prepared, "in_progress", self._run.host.redact(text)),
        )
        outcome = await prepared.tool.run(prepared.input, context)
        if isinstance(outcome, ToolResult):
            return outcome
        if not permitted or outcome.subjects or outcome.edit is not None:
            await self._permit(prepared, outcome)
        if outcome.edit is not None:
            return await self._apply(prepared, outcome)
        if outcome.act is None:
            raise ToolError(f"Tool {prepared.tool.name!r} proposed nothing.")
        self._updated(prepared, "in_progress")
        if prepared.tool.kind == "execute":
            await save_before(self._run)
        return await outcome.act()

    async def _permit(self, prepared: Prepared, proposal: Proposal | None) -> None:
        if proposal is not None and proposal.edit is not None:
            why = outside_scope(proposal.edit, self._run.root.request.scope)
            if why:
                raise Refused(f"{why} Nothing was changed.")
        await permit(
            self._run,
            call_id=prepared.call.id,
            tool=prepared.tool.name,
            title=proposal.title if proposal else prepared.title,
            subjects=(*prepared.subjects, *(proposal.subjects if proposal else ())),
            proposal=proposal,
        )

    async def _apply(self, prepared: Prepared, proposal: Proposal) -> ToolResult:
        assert proposal.edit is not None
        run = self._run
        self._updated(prepared, "in_progress")
        await run.host.keep_edit(proposal.edit)
        outcome = await run.host.editor.apply(proposal.edit, prepared.title)
        if outcome.outcome == "stale":
            fresh = await self._again(prepared, proposal)
            if fresh is not None and fresh.edit is not None:
                proposal = fresh
                await run.host.keep_edit(fresh.edit)
                outcome = await run.host.editor.apply(fresh.edit, prepared.title)
        edit = proposal.edit
        assert edit is not None
        uri = outcome.path.as_uri()
        run.edits.append(EditRecord(uri=uri, outcome=outcome.outcome))
        if run.root is not run:
            run.root.edits.append(EditRecord(uri=uri, outcome=outcome.outcome))
        if outcome.outcome in ("applied", "diverged", "unknown"):
            run.host.record_edit(run.root.session, run.root.id, edit)
        run.emit(
            EditApplied(
                uri=uri, outcome=outcome.outcome, diff=proposal.diff or "", tool_call_id=prepared.call.id
            )
        )
        words = [OUTCOME_WORDS[outcome.outcome], outcome.detail, proposal.note]
        if outcome.outcome == "applied":
            if not outcome.saved:
                words.append("The new text is in an unsaved buffer; the file on disk is older.")
            document = await run.host.editor.read(outcome.path)
            return ToolResult(text=_join(words), seen=((outcome.path, document.digest),))
        return ToolResult(text=_join(words), failed=True)

    async def _again(self, prepared: Prepared, proposal: Proposal) -> Proposal | None:
        """The same change on the fresh text, if it still replaces the same by the same and is allowed."""
        try:
            fresh = await prepared.tool.run(prepared.input, self._context)
        except ToolError:
            return None
        if not isinstance(fresh, Proposal) or fresh.same is None or fresh.same != proposal.same:
            return None
        if outside_scope(fresh.edit, self._run.root.request.scope) if fresh.edit else True:
            return None
        decision = judge_for(self._run, (*prepared.subjects, *fresh.subjects))
        same_place = getattr(fresh.edit, "real_path", None) == getattr(proposal.edit, "real_path", None)
        return fresh if decision.verdict != "deny" and same_place else None

    def _started(self, call: ToolCall, prepared: Prepared | None) -> None:
        run = self._run
        run.state, run.doing = "working", prepared.title if prepared else call.name
        self._event("started", call, prepared, "pending")

    def _updated(self, prepared: Prepared, status: ToolState, output: str | None = None) -> None:
        self._event("updated", prepared.call, prepared, status, output)

    def _finish(
        self, call: ToolCall, prepared: Prepared | None, result: ToolResult, status: ToolStatus
    ) -> ToolMessage:
        run = self._run
        text = bounded(
            run.host.redact(result.text), run.settings.max_tool_output_chars, self._context.scratch
        )
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
            seen={str(path): digest for path, digest in result.seen},
            skills=dict([result.skill]) if result.skill is not None else {},
        )
        if result.todos is not None:
            run.session.set_todos(result.todos)
            run.emit(TodoUpdated(items=result.todos))
        self._event("finished", call, prepared, status, text)
        return message

    def _event(
        self,
        phase: Any,
        call: ToolCall,
        prepared: Prepared | None,
        status: ToolState,
        output: str | None = None,
    ) -> None:
        self._run.emit(
            ToolCallEvent(
                phase=phase,
                tool_call_id=call.id,
                name=call.name,
                kind=prepared.tool.kind if prepared else "other",
                title=prepared.title if prepared else call.name,
                status=status,
                arguments=_shown_arguments(call) if phase == "started" else None,
                output=output,
                paths=_paths(prepared.subjects) if prepared else (),
            )
        )


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """The call's arguments as an object; ToolError if they are not one."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"The arguments of {call.name!r} are not valid JSON ({error}). Nothing was done; "
            "send the whole call again."
        ) from None
    if not isinstance(arguments, dict):
        raise ToolError(f"The arguments of {call.name!r} must be a JSON object.")
    return arguments


def _shown_arguments(call: ToolCall) -> dict[str, Any] | None:
    try:
        return parse_arguments(call)
    except ToolError:
        return None


def _paths(subjects: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(subject.value for subject in subjects if subject.kind == "path"))


def faults(error: ValidationError) -> str:
    lines = []
    for fault in error.errors(include_url=False)[:5]:
        where = ".".join(str(part) for part in fault["loc"])
        lines.append(f"{where}: {fault['msg']}" if where else fault["msg"])
    return "; ".join(lines) + "."


def _join(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word)
