"""Commands for conversations that are held in a document."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from magent_lsp.core.messages import Message
from magent_lsp.core.session import Session
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.chat.document import Turn, template
from magent_lsp.lsp.chat.history import remembered
from magent_lsp.lsp.chat.marks import YOU
from magent_lsp.lsp.commands.arguments import OpenChatArguments, SendArguments
from magent_lsp.lsp.commands.runs import acknowledged
from magent_lsp.lsp.commands.spec import Command
from magent_lsp.lsp.convert import to_path, to_uri

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def open_chat(edge: "Edge", arguments: OpenChatArguments) -> dict[str, str]:
    """A chat document of a session, new or given; it is opened where the client can open one."""
    if arguments.session_id is not None:
        session = await edge.app.open_session(arguments.session_id)
        said = await edge.in_thread(_turns, edge.app.sessions.messages, session.id)
    else:
        place = to_path(arguments.uri) if arguments.uri else None
        folder = edge.app.holder(place) if place is not None else None
        session, said = edge.app.new_session(folder=folder, agent=arguments.agent), []
    path = edge.chat_folder / f"{session.id}{SUFFIX}"
    await edge.in_thread(_write_new, path, lambda: _text(session, said))
    edge.spawn(_show(edge, path), name="open chat")
    return {"uri": to_uri(path), "sessionId": session.id}


async def send(edge: "Edge", arguments: SendArguments) -> dict[str, Any]:
    """Send the last message of a chat document; the answer is written below it."""
    return acknowledged(await edge.chats.send(arguments.uri))


def _turns(read: Callable[[str], Sequence[Message]], session_id: str) -> list[Turn]:
    past = remembered(read(session_id))
    return [Turn(said=turn.said, answer="\n\n".join(turn.texts)) for turn in past]


def _text(session: Session, turns: list[Turn]) -> str:
    fields = {"session": session.id}
    if not session.passing:
        fields["agent"] = session.agent
    if session.model:
        fields["model"] = session.model
    return template(fields, session.title or "Chat", turns)


async def _show(edge: "Edge", path: Path) -> None:
    if not (edge.can_show_documents and await edge.watch.outcomes.open_document(path, focus=True)):
        edge.server.message(types.MessageType.Info, f"Magent: open {path} and write below `{YOU}`.")


def _write_new(path: Path, text: Callable[[], str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text(), encoding="utf-8", newline="\n")


COMMANDS = (
    Command("magent.openChat", OpenChatArguments, open_chat),
    Command("magent.send", SendArguments, send),
)
