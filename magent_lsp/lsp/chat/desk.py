"""The chats of one client: what is being answered, and how a message is sent."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.errors import CallerError
from magent_lsp.core.request import RunRequest
from magent_lsp.core.session import Session
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.chat.anchor import Anchor
from magent_lsp.lsp.chat.document import LONG, Chat, parse
from magent_lsp.lsp.chat.files import Files
from magent_lsp.lsp.chat.marks import YOU
from magent_lsp.lsp.chat.resume import resume
from magent_lsp.lsp.chat.selections import Selections
from magent_lsp.lsp.chat.stream import Stream
from magent_lsp.lsp.commands.runs import title_of
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.watch import Watched

if TYPE_CHECKING:
    from magent_lsp.app import Started
    from magent_lsp.lsp.edge import Edge


WRITTEN_SECONDS: Final = 5.0

READS: Final = 3
"""How often, while somebody types in it."""


class Chats:
    """Everything about chat documents that lives as long as the connection."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge
        self._streams: list[Stream] = []
        self._sending: set[Path] = set()
        self.selections = Selections()
        self.files = Files()

    def run_of(self, uri: str) -> str | None:
        """The run that answers in a document; empty if it is about to begin, None if there is none."""
        path = to_path(uri)
        for stream in self._streams:
            if path in (stream.path, to_path(stream.anchor.uri)):
                return stream.run_id
        return "" if path in self._sending else None

    def takes_a_message(self, uri: str) -> bool:
        """Whether one can be sent: no run is at work in the document; for its last words `send` waits."""
        run_id = self.run_of(uri)
        return run_id is None or self._has_ended(run_id)

    def _has_ended(self, run_id: str) -> bool:
        return bool(run_id) and all(run.run_id != run_id for run in self._edge.app.running())

    async def send(self, uri: str) -> "Started":
        """Send the last message of a chat document; CallerError if there is none or one is being answered."""
        path = _path(uri)
        await self._written(uri)
        if self.run_of(uri) is not None:
            raise CallerError(
                f"'uri': {path.name!r} is being answered. Wait for the answer or cancel it, then send."
            )
        self._sending.add(path)
        try:
            stream, started, session = await self._begin(path, uri)
        finally:
            self._sending.discard(path)
        used = session.agent, session.model
        self._edge.spawn(self._drive(stream, session, used), name=f"chat {started.run_id}")
        return started

    async def _written(self, uri: str) -> None:
        """Wait, bounded, for the last words of a run that has ended."""
        run_id = self.run_of(uri)
        if run_id is not None and self._has_ended(run_id):
            stream = next(stream for stream in self._streams if stream.run_id == run_id)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WRITTEN_SECONDS):
                    await stream.done.wait()

    async def _begin(self, path: Path, uri: str) -> "tuple[Stream, Started, Session]":
        edge = self._edge
        text, chat = await self._read(path, uri)
        if not chat.message:
            raise CallerError(_nothing(path, chat))
        focus = self.selections.focus(edge, chat.message)
        anchor = Anchor(edge.documents, edge.spell(uri), text, chat.end)
        try:
            session = await resume(edge, chat, path)
            stream = Stream(
                edge, path=path, anchor=anchor, prompt=chat.message, fields={"session": session.id}
            )
            request = RunRequest(prompt=chat.message, session_id=session.id, focus=focus)
            watched = Watched(title=title_of(chat.message), prompt=chat.message, quiet=True)
            started = await edge.begin(request, watched)
        except BaseException:
            anchor.end()
            raise
        stream.run_id = started.run_id
        edge.watch.listen(started.run_id, stream.take)
        self._streams.append(stream)
        if not stream.live and not edge.shows_progress:
            edge.server.message(types.MessageType.Info, f"Magent: the answer will be put into {path.name}.")
        return stream, started, session

    async def _read(self, path: Path, uri: str) -> tuple[str, Chat]:
        """The document's text as it is now, and what it says; the loop is not held up by a long one."""
        edge = self._edge
        text = (await edge.editor.read(path)).text
        now = edge.open_text(uri)
        text = text if now is None else now
        for _ in range(READS):
            if len(text) < LONG:
                break
            chat = await edge.in_thread(parse, text)
            now = edge.open_text(uri)
            if now is None or now == text:
                return text, chat
            text = now
        return text, parse(text)

    async def _drive(self, stream: Stream, session: Session, used: tuple[str, str | None]) -> None:
        self._edge.watch.listen(stream.run_id, lambda event: stream.front(_changed(session, used)))
        try:
            await self._write(stream, stream.drive)
            if await stream.lands_late() and self.run_of(stream.anchor.uri) is None:
                stream.done.clear()
                self._streams.append(stream)
                await self._write(stream, stream.fill_in)
        finally:
            stream.anchor.end()

    async def _write(self, stream: Stream, write: Callable[[], Awaitable[None]]) -> None:
        self.refresh()
        try:
            await write()
        finally:
            self._streams.remove(stream)
            stream.done.set()
            self.refresh()

    def refresh(self) -> None:
        """Have the client ask for the buttons again, if it can be told."""
        workspace = self._edge.server.client_capabilities.workspace
        lens = workspace.code_lens if workspace is not None else None
        if lens is not None and lens.refresh_support:
            self._edge.spawn(self._refresh(), name="refresh code lenses")

    async def _refresh(self) -> None:
        try:
            await self._edge.server.protocol.call(types.WORKSPACE_CODE_LENS_REFRESH, None, seconds=10)
        except (JsonRpcException, TimeoutError, asyncio.InvalidStateError):
            return


def _path(uri: str) -> Path:
    path = to_path(uri)
    if path is None:
        raise CallerError(f"'uri' {uri!r} is no file: save the chat first.")
    return path


def _nothing(path: Path, chat: Chat) -> str:
    if chat.headed:
        return f"'uri': write a message below the last `{YOU}` of {path.name!r} first."
    return f"'uri': write a message in {path.name!r} first, below `{YOU}`."


def _changed(session: Session, used: tuple[str, str | None]) -> dict[str, Any]:
    """Front matter that a command such as `/plan` or `/model` has made wrong."""
    changed = {}
    if session.agent != used[0]:
        changed["agent"] = session.agent
    if session.model != used[1]:
        changed["model"] = session.model or "auto"
    return changed


def is_chat(uri: str) -> bool:
    """Whether a document is a chat."""
    path = to_path(uri)
    return path is not None and path.name.endswith(SUFFIX)
