"""Keeps a run's conversation within the model's window: prunes, then summarises, then says that it cannot."""

import asyncio
import uuid
from functools import partial

from magent_lsp.core.errors import ModelError, UserError
from magent_lsp.core.events import Notice, UsageUpdated
from magent_lsp.core.messages import AssistantMessage, SystemMessage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.engine.aside import ask_aside
from magent_lsp.engine.compaction import (
    CompactionPlan,
    attachment,
    compact,
    files_changed,
    last_request,
    plan_compaction,
    room_for,
)
from magent_lsp.engine.plans import mentioned
from magent_lsp.engine.prompt import whereabouts
from magent_lsp.engine.run import Run
from magent_lsp.engine.size import CHARS_PER_TOKEN, Size, calibrate, size_of

MAX_ROUNDS = 3
"""Compactions in a row that may fail to make room before the run ends."""


class Window:
    """The room that the conversation of one run has."""

    def __init__(self, run: Run, *, system: str, settings: ModelSettings, limit: int | None) -> None:
        self._run = run
        self._system = system
        self._settings = settings
        self._limit = limit
        """Tokens; None: nobody knows, so only the provider's refusal tells."""
        self._fixed: Size | None = None
        self._ratio = CHARS_PER_TOKEN
        self._fruitless = 0

    async def fit(self) -> None:
        """Compact before the next request if it would not fit."""
        fixed = (await self._beside()).tokens(self._ratio)
        if self._limit is None:
            return
        for _ in range(MAX_ROUNDS):
            await self._run.history()
            if self._run.view.size.tokens(self._ratio) <= room_for(self._limit, fixed):
                return
            plan = await self._plan(self._limit)
            if plan.kind == "none":
                return
            await self._carry_out(plan)

    async def overflowed(self, error: ModelError) -> None:
        """The provider says that the request does not fit: compact, or raise if that led nowhere before."""
        self._fruitless += 1
        if self._fruitless > MAX_ROUNDS:
            raise ModelError(
                "The conversation does not fit into the model's window, and shortening it did not help. "
                "Begin a new session, or set `contextLimit` to the model's real window.",
                kind="overflow",
            ) from error
        # What is believed to fit did not: believe in less each time.
        limit = (self._limit or await self._tokens()) * (4 - self._fruitless) // 4
        plan = await self._plan(max(limit, 1000), force=True)
        if plan.kind == "none":
            raise ModelError(
                "The prompt alone does not fit into the model's window. Shorten it, or use another model.",
                kind="overflow",
            ) from error
        await self._carry_out(plan)

    def counted(self, asked: Size, reply: AssistantMessage) -> None:
        """Learn from a reply how many tokens a request really had that held this, and what is fixed."""
        self._fruitless = 0
        if self._fixed is not None:
            self._ratio = calibrate(self._fixed + asked, reply.usage) or self._ratio

    async def summarise(self, focus: str = "") -> int:
        """Compact because a person asked for it; returns the tokens that the conversation had."""
        plan = await self._plan(self._limit or 100_000, force=True)
        if plan.kind != "none":
            await self._carry_out(plan, focus, manual=True)
        return plan.tokens

    async def _beside(self) -> Size:
        """What each request holds beside the conversation; schemas of tools take a while to be made."""
        if self._fixed is None:
            system = SystemMessage(text=self._system)
            self._fixed = await asyncio.to_thread(size_of, [system], self._run.tools)
        return self._fixed

    async def _tokens(self) -> int:
        await self._run.history()
        return (await self._beside() + self._run.view.size).tokens(self._ratio)

    async def _plan(self, limit: int, *, force: bool = False) -> CompactionPlan:
        """Made beside the loop: a long conversation is gone through many times."""
        plan = partial(
            plan_compaction,
            await self._run.history(),
            limit=limit,
            tools=self._run.tools,
            system=self._system,
            chars_per_token=self._ratio,
            force=force,
        )
        return await asyncio.to_thread(plan)

    async def _ask_hooks(self, focus: str, *, manual: bool) -> str:
        """What to pay attention to, with what hooks add; a hook may stop what a person asked for."""
        trigger = "manual" if manual else "auto"
        reply = await self._run.hooks.fire("PreCompact", trigger, trigger=trigger, custom_instructions=focus)
        if (reply.blocked or reply.halted) and manual:
            raise UserError(
                f"A hook does not let the conversation be summarised: {reply.reason or reply.halted}"
            )
        if reply.blocked:
            why = f"The conversation no longer fits, so it is summarised although a hook says: {reply.reason}"
            self._run.emit(Notice(level="warning", message=why))
        return "\n".join(part for part in (focus, reply.context) if part)

    async def _carry_out(self, plan: CompactionPlan, focus: str = "", *, manual: bool = False) -> None:
        run = self._run
        if plan.kind == "prune":
            run.emit(Notice(level="info", message="Old tool output was left out to make room."))
            compact(run.session, plan, new_id=_new_id())
            return
        focus = await self._ask_hooks(focus, manual=manual)
        run.doing = "summarising the conversation"
        run.emit(Notice(level="info", message=f"The conversation ({plan.tokens:,} tokens) is summarised."))
        attached = await asyncio.to_thread(self._attached, plan)
        compact(
            run.session,
            plan,
            new_id=_new_id(),
            summary=await self._summary(plan.prompt, run.host.redact(focus)),
            attached=run.host.redact(f"{whereabouts(run)}\n\n{attached}"),
        )

    def _attached(self, plan: CompactionPlan) -> str:
        session = self._run.session
        return attachment(
            request=last_request(plan.messages),
            todos=session.todos,
            plan=mentioned(plan.messages) or "",
            files=files_changed(plan.messages),
            skills=dict(session.skills),
        )

    async def _summary(self, prompt: str, focus: str) -> str:
        run = self._run
        request = f"{prompt}\n\nPay special attention to: {focus}" if focus else prompt
        reply = await ask_aside(run, "compaction", request, self._settings)
        run.count(reply.usage)
        run.budget.pay(reply.usage)
        run.emit(UsageUpdated(usage=run.usage))
        return run.host.redact(reply.text)


def _new_id() -> str:
    return f"msg-{uuid.uuid4().hex[:12]}"
