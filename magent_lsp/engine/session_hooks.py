"""Hooks at the beginning and the end of things: sessions, prompts, subagents."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from magent_lsp.core.errors import UnknownId, UserError
from magent_lsp.core.session import Session
from magent_lsp.engine.hook_reply import Reply
from magent_lsp.engine.hooks import Hooks
from magent_lsp.engine.run import Host, Run
from magent_lsp.engine.summaries import BLOCKED
from magent_lsp.store.sessions import SessionStore

END_SECONDS: Final = 2.0
"""How long the end of the program waits for SessionEnd hooks."""


class SessionHooks:
    """Remembers which sessions have begun, so that each begins and ends once."""

    def __init__(self, host: Host, sessions: SessionStore) -> None:
        self._host = host
        self._sessions = sessions
        self._begun: dict[str, Hooks] = {}
        self._cleared: set[str] = set()
        self._ending: set[asyncio.Task[Reply]] = set()

    def of(self, run: Run) -> Hooks:
        """The hooks of a run."""
        if not run.snapshot.loaded.hooks:
            return Hooks()
        transcript, own = self._path(run.root.session), self._path(run.session)
        return Hooks(
            run.snapshot.loaded.hooks,
            facts=lambda: _facts(run, transcript, own),
            cwd=run.session.folder,
            environment=lambda: self._host.environment(run.settings),
            report=run.emit,
            redact=self._host.redact,
        )

    async def begin(self, run: Run) -> str:
        """Run what is to be run before a prompt is looked at; returns what the model must know.

        UserError if a hook blocks the prompt.
        """
        if run.parent is not None:
            reply = await run.hooks.fire("SubagentStart", run.agent.name)
            return _context("SubagentStart", reply)
        told = [await self._start(run)]
        reply = await run.hooks.fire("UserPromptSubmit", prompt=run.request.prompt)
        if reply.blocked or reply.halted:
            raise UserError(f"{BLOCKED} {reply.reason or reply.halted}")
        told.append(_context("UserPromptSubmit", reply))
        return "\n".join(part for part in told if part)

    async def cleared(self, run: Run) -> None:
        """The conversation of a session was forgotten: one ends, another begins with the next prompt."""
        if self._begun.pop(run.session.id, None) is not None:
            await run.hooks.fire("SessionEnd", "clear", reason="clear")
            self._cleared.add(run.session.id)

    def end(self, session: Session) -> None:
        """A session is closed."""
        hooks = self._begun.pop(session.id, None)
        if hooks is not None and hooks.listens("SessionEnd"):
            task = asyncio.create_task(hooks.fire("SessionEnd", "other", reason="other"), name="SessionEnd")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """The program ends, and all sessions with it; hooks that take longer than END_SECONDS are ended."""
        for hooks in self._begun.values():
            if hooks.listens("SessionEnd"):
                self._ending.add(
                    asyncio.create_task(hooks.fire("SessionEnd", "other", reason="other"), name="SessionEnd")
                )
        self._begun.clear()
        if self._ending:
            _, late = await asyncio.wait(set(self._ending), timeout=END_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._ending.clear()

    async def _start(self, run: Run) -> str:
        session = run.session
        known, self._begun[session.id] = session.id in self._begun, run.hooks
        if known:
            return ""
        source = "resume" if session.messages else "startup"
        if session.id in self._cleared:
            self._cleared.discard(session.id)
            source = "clear"
        return _context("SessionStart", await run.hooks.fire("SessionStart", source, source=source))

    def _path(self, session: Session) -> str:
        try:
            return str(self._sessions.path(session.id))
        except UnknownId:
            return ""


def _facts(run: Run, transcript: str, own: str) -> Mapping[str, Any]:
    """What every hook of a run is told."""
    facts: dict[str, Any] = {
        "session_id": run.root.session.id,
        "transcript_path": transcript,
        "cwd": str(run.session.folder),
        "permission_mode": "plan" if run.agent.name == "plan" else "default",
        "agent": run.agent.name,
        "run_id": run.root.id,
    }
    if run.parent is not None:
        facts |= {
            "agent_id": run.session.id,
            "agent_type": run.agent.name,
            "agent_transcript_path": own,
        }
    return facts


def _context(event: str, reply: Reply) -> str:
    return f'<hook event="{event}">\n{reply.context}\n</hook>' if reply.context else ""
