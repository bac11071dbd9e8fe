"""Commands about past and present conversations."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from magent_lsp.core.errors import CallerError
from magent_lsp.core.events import to_json
from magent_lsp.core.halves import nameable
from magent_lsp.core.request import RunRequest
from magent_lsp.lsp.commands.arguments import (
    ExportArguments,
    ForkArguments,
    NewSessionArguments,
    RenameArguments,
    SearchArguments,
    SessionArguments,
    SessionsArguments,
)
from magent_lsp.lsp.commands.runs import acknowledged
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.watch import Watched
from magent_lsp.store.listing import SessionInfo
from magent_lsp.store.lock import SessionLocked

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def sessions(edge: "Edge", arguments: SessionsArguments) -> list[Any]:
    """Past sessions, of one folder or of all."""
    folder = _folder(arguments.folder) if arguments.folder else None
    return [_info(info) for info in await edge.in_thread(edge.app.sessions.list, folder)]


async def search(edge: "Edge", arguments: SearchArguments) -> list[Any]:
    """Sessions in which a text occurs."""
    found = await edge.in_thread(edge.app.sessions.search, arguments.text)
    return [
        {**_info(hit.session), "messageId": hit.message_id, "excerpt": hit.excerpt, "count": hit.count}
        for hit in found
    ]


async def new(edge: "Edge", arguments: NewSessionArguments) -> dict[str, str]:
    """An empty session."""
    path = to_path(arguments.uri) if arguments.uri else None
    folder = edge.app.holder(path) if path is not None else None
    session = edge.app.new_session(folder=folder, agent=arguments.agent, model=arguments.model)
    return {"sessionId": session.id}


async def fork(edge: "Edge", arguments: ForkArguments) -> dict[str, str]:
    """A copy of a session, up to a message."""
    copy = await edge.in_thread(edge.app.sessions.fork, arguments.session_id, arguments.message_id)
    return {"sessionId": copy.id}


async def rename(edge: "Edge", arguments: RenameArguments) -> dict[str, bool]:
    """Give a session another title."""
    edge.app.sessions.rename(arguments.session_id, arguments.title)
    return {"ok": True}


async def export(edge: "Edge", arguments: ExportArguments) -> dict[str, str]:
    """A session as Markdown, JSON or plain text."""
    text = await edge.in_thread(edge.app.sessions.export, arguments.session_id, arguments.format)
    return {"sessionId": arguments.session_id, "format": arguments.format, "text": text}


async def delete(edge: "Edge", arguments: SessionArguments) -> dict[str, bool]:
    """Delete a session that is not at work."""
    edge.app.close_session(arguments.session_id)
    edge.app.sessions.delete(arguments.session_id)
    return {"ok": True}


async def compact(edge: "Edge", arguments: SessionArguments) -> dict[str, Any]:
    """Shorten a session's history; a run, as the model writes the summary."""
    return await _say(edge, arguments.session_id, "/compact", Watched(title="Magent: compact the session"))


async def summarize(edge: "Edge", arguments: SessionArguments) -> dict[str, Any]:
    """A summary of a session for people; a run whose answer is no part of the conversation.

    A session that another process writes to is summed up in a copy.
    """
    session_id = arguments.session_id
    try:
        await edge.app.open_session(session_id)
    except SessionLocked:
        session_id = (await edge.in_thread(edge.app.sessions.fork, session_id)).id
    watched = Watched(title="Magent: summarize the session", document=True)
    return await _say(edge, session_id, "/summary", watched)


async def _say(edge: "Edge", session_id: str, prompt: str, watched: Watched) -> dict[str, Any]:
    watched.prompt = watched.title
    return acknowledged(await edge.begin(RunRequest(prompt=prompt, session_id=session_id), watched))


def _info(info: SessionInfo) -> dict[str, Any]:
    data: dict[str, Any] = to_json(info)
    return {"sessionId": data.pop("id"), **data}


def _folder(value: str) -> Path:
    path = to_path(value) if "://" in value else Path(value)
    if path is None or not path.is_absolute() or not nameable(str(path)):
        raise CallerError(f"'folder' {value!r} is no folder: give a file URI or an absolute path.")
    return path
