"""The sessions that are open; long files are read, and written for good, beside the loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from magent_lsp.core.session import Session
from magent_lsp.store.sessions import SessionStore


class OpenSessions:
    """Each session once, however many runs it has."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._open: dict[str, Session] = {}
        self._settling: set[asyncio.Task[None]] = set()

    def __iter__(self) -> Iterator[Session]:
        return iter(self._open.values())

    def get(self, session_id: str) -> Session:
        """An open session, or one from disk; UnknownId if there is none."""
        if session_id not in self._open:
            self._open[session_id] = self._store.open(session_id)
        return self._open[session_id]

    async def read(self, session_id: str) -> Session:
        """As `get`, read in a thread: a long one takes a while."""
        if session_id not in self._open:
            self._open[session_id] = await asyncio.to_thread(self._store.open, session_id)
        return self._open[session_id]

    def create(self, folder: Path, agent: str, model: str | None) -> Session:
        """A new, empty session."""
        session = self._store.create(folder, agent, model)
        self._open[session.id] = session
        return session

    def pop(self, session_id: str) -> Session | None:
        """Forget an open session, which is for the caller to close."""
        return self._open.pop(session_id, None)

    def settle(self, session: Session, *, goes_on: bool) -> None:
        """A run of it has ended. An fsync takes as long as the disk likes: the loop does not wait for it."""
        finish = self._store.sync if goes_on else self._store.close
        task = asyncio.create_task(asyncio.to_thread(finish, session), name=f"sync {session.id}")
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def close(self) -> None:
        """Let go of all."""
        if self._settling:
            await asyncio.wait(self._settling)
        for session in self:
            self._store.close(session)
        self._open.clear()
