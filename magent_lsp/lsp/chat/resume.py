"""The session that says what a document says: gone on with, forked where they differ, or made anew."""

import uuid
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from magent_lsp.core.errors import CallerError, UserError
from magent_lsp.core.messages import AssistantMessage, Message, UserMessage
from magent_lsp.core.session import Session
from magent_lsp.engine.summaries import SUMMARIES, TOLD
from magent_lsp.lsp.chat.document import Chat, Turn
from magent_lsp.lsp.chat.history import Redact, agree, remembered
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
    commands = edge.app.snapshot(folder).commands
    turns = [turn for turn in chat.turns if not _is_aside(turn, commands)]
    session, missing = await _known(edge, chat.fields.get("session", ""), turns)
    if session is None:
        session, missing = edge.app.new_session(folder=folder, agent=agent), turns
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


def _is_aside(turn: Turn, commands: Container[str]) -> bool:
    """Whether a turn was a command whose answer is for the person alone; `commands` are those of files."""
    name = turn.said.split(maxsplit=1)[0][1:] if turn.said.startswith("/") else ""
    return name in SUMMARIES and name not in TOLD and name not in commands


async def _known(
    edge: "Edge", session_id: str, turns: Sequence[Turn]
) -> tuple[Session | None, Sequence[Turn]]:
    """The session to go on with and the turns that it lacks; None if it shares nothing with the document."""
    if not session_id:
        return None, turns
    session: Session | None = None
    try:
        session = await edge.app.open_session(session_id)
        missing = await _missing(edge, turns, session.messages)
        if any(run.session_id == session_id for run in edge.app.running()):
            session = None  # what it will have said is not known yet
        elif missing is not None:
            return session, missing
        everything = await edge.in_thread(edge.app.sessions.messages, session_id)
    except SessionLocked:
        everything = await edge.in_thread(edge.app.sessions.messages, session_id)
    except (CallerError, UserError):
        return None, turns
    if session is not None and (missing := await _missing(edge, turns, everything)) is not None:
        return session, missing
    past = remembered(everything)
    same = await edge.in_thread(agree, turns, past, _redact(edge))
    shared = same.turns - bool(same.rest)
    if not shared:
        return None, turns
    copy = await edge.in_thread(edge.app.sessions.fork, session_id, past[shared - 1].last)
    return await edge.app.open_session(copy.id), turns[shared:]


async def _missing(edge: "Edge", turns: Sequence[Turn], messages: Sequence[Message]) -> Sequence[Turn] | None:
    """The turns to add to a session for it to say all that the document says; None: it says other things."""
    past = remembered(messages)
    same = await edge.in_thread(agree, turns, past, _redact(edge))
    if same.turns < len(past):
        return None
    rest = [Turn(said="", answer=same.rest)] if same.rest else []
    return [*rest, *turns[same.turns :]]


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
