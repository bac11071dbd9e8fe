"""The session that says what a document says: gone on with, forked where they differ, or made anew."""

import uuid
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from magent_lsp.core.errors import CallerError, UserError
from magent_lsp.core.messages import AssistantMessage, Message, UserMessage
from magent_lsp.core.session import Session
from magent_lsp.engine.summaries import SUMMARIES, command_in
from magent_lsp.lsp.chat.document import Chat, Turn
from magent_lsp.lsp.chat.history import Comparison, Redact, compare
from magent_lsp.store.lock import SessionLocked

FEW: Final = 20
"""Turns that are written down at once; more are, beside the loop."""

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def resume(edge: "Edge", chat: Chat, path: Path) -> Session:
    """A session whose history is what stands above the document's message; CallerError for a bad agent."""
    await edge.app.load()
    agent = _agent(edge, chat)
    folder = edge.app.holder(path)
    said = _Said(edge, chat.turns, edge.app.snapshot(folder).commands)
    session, missing = await said.known(chat.fields.get("session", ""))
    if session is None:
        session = edge.app.new_session(folder=folder, agent=agent)
    if len(missing) > FEW:
        await edge.in_thread(_write_down, session, missing, _redact(edge))
    else:
        _write_down(session, missing, _redact(edge))
    session.use_agent(agent)
    model = chat.fields.get("model", "")
    session.use_model(None if model in ("", "auto") else model)
    return session


def _agent(edge: "Edge", chat: Chat) -> str:
    agents = edge.app.agents()
    name = chat.fields.get("agent") or edge.settings.agent
    if name not in agents or agents[name].mode == "subagent":
        fit = sorted(a.name for a in agents.values() if not a.hidden and a.mode != "subagent")
        raise CallerError(
            f"agent: there is no agent {name!r} for conversations, as the document's front matter wants. "
            f"Available: {', '.join(fit)}."
        )
    return name


class _Said:
    """A document's turns, to be laid beside a session."""

    def __init__(self, edge: "Edge", turns: Sequence[Turn], commands: Container[str]) -> None:
        self._edge = edge
        self._turns = turns
        self._commands = commands
        """Those of files."""

    async def known(self, session_id: str) -> tuple[Session | None, Sequence[Turn]]:
        """The session to go on with and the turns that it lacks; None if it shares nothing with them."""
        app = self._edge.app
        session: Session | None = None
        try:
            if not session_id:
                return None, (await self._beside([])).turns
            session = await app.open_session(session_id)
            missing = (await self._beside([*session.messages])).missing
            if any(run.session_id == session_id for run in app.running()):
                session = None  # what it will have said is not known yet
            elif missing is not None:
                return session, missing
            everything = await self._edge.in_thread(app.sessions.messages, session_id)
        except SessionLocked:
            everything = await self._edge.in_thread(app.sessions.messages, session_id)
        except (CallerError, UserError):
            return None, (await self._beside([])).turns
        found = await self._beside(everything)
        if session is not None and found.missing is not None:
            return session, found.missing
        shared = found.same.turns - bool(found.same.rest)
        if not shared:
            return None, found.turns
        last = found.past[shared - 1].last
        copy = await self._edge.in_thread(app.sessions.fork, session_id, last)
        return await app.open_session(copy.id), found.turns[shared:]

    async def _beside(self, messages: Sequence[Message]) -> Comparison:
        return await self._edge.in_thread(compare, self._turns, messages, _redact(self._edge), self._is_aside)

    def _is_aside(self, said: str) -> bool:
        called = command_in(said)
        return called is not None and called[0] in SUMMARIES and called[0] not in self._commands


def _write_down(session: Session, turns: Sequence[Turn], redact: Redact) -> None:
    for turn in turns:
        if turn.said:
            session.append(UserMessage(id=_id(), text=redact(turn.said)))
        if turn.answer:
            session.append(AssistantMessage(id=_id(), text=redact(turn.answer)))


def _redact(edge: "Edge") -> Redact:
    """What sessions take secrets out with."""
    return edge.app.sessions.redact or (lambda text: text)


def _id() -> str:
    return f"msg-{uuid.uuid4().hex[:12]}"
