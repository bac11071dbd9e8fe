"""A conversation that was had, a clock that goes, and a second server beside the first."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from magent_lsp.core.session import Session
from magent_lsp.engine.history import normalise
from magent_lsp.store.sessions import SessionStore

SAID: list[Message] = [
    UserMessage(
        id="u1", text="Fix the bug in ünï.py\nplease", images=(Image(media_type="image/png", data="aGk="),)
    ),
    AssistantMessage(
        id="a1",
        text="Looking.",
        tool_calls=(ToolCall(id="c1", name="bash", arguments='{"command": "ls"}'),),
        finish="tool_calls",
        usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5),
        model="test/model",
    ),
    ToolMessage(id="t1", call_id="c1", name="bash", text="a\r\nb\n\x0c\u2028", status="failed"),
    AssistantMessage(id="a2", text='Done: "quotes" \\ and 😀'),
]


class Clock:
    """A second passes whenever it is looked at."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 27, 15, 45, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def another(store: SessionStore, told: list[str] | None = None) -> SessionStore:
    """A second server, or the same after a restart."""
    told = [] if told is None else told
    return SessionStore(store.folder.parent, normalise=normalise, tell=told.append, now=Clock())


def talk(store: SessionStore, folder: Path, said: list[Message] = SAID) -> Session:
    """A session in which this was said."""
    session = store.create(folder, "build", "test/model")
    for message in said:
        session.append(message)
    return session
