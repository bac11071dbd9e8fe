"""Commands for conversations that are held in a document."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from magent_lsp.core.edits import Replacement, TextEdits
from magent_lsp.core.errors import CallerError, MagentError
from magent_lsp.core.request import RunRequest
from magent_lsp.lsp import chat
from magent_lsp.lsp.commands.arguments import OpenChatArguments, SendArguments
from magent_lsp.lsp.commands.runs import acknowledged, title_of
from magent_lsp.lsp.convert import to_path, to_uri
from magent_lsp.lsp.watch import Watched

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def open_chat(edge: "Edge", arguments: OpenChatArguments) -> dict[str, str]:
    """A chat document of a session, new or given; it is opened where the client can open one."""
    if arguments.session_id is not None:
        session = await edge.app.open_session(arguments.session_id)
    else:
        session = edge.app.new_session(agent=arguments.agent)
    path = edge.chats / f"{session.id}{chat.SUFFIX}"
    text = chat.template(session.id, session.agent, session.title or "Chat")
    await edge.in_thread(_write_new, path, text)
    edge.spawn(_show(edge, path), name="open chat")
    return {"uri": to_uri(path), "sessionId": session.id}


async def send(edge: "Edge", arguments: SendArguments) -> dict[str, Any]:
    """Send the last message of a chat document; the answer is written below it."""
    path = to_path(arguments.uri)
    if path is None:
        raise CallerError(f"'uri' {arguments.uri!r} is no file: save the chat first.")
    document = await edge.editor.read(path)
    conversation = chat.parse(document.text)
    if not conversation.message:
        raise CallerError(f"'uri': write a message below the last `{chat.YOU}` of {path.name!r} first.")
    request = RunRequest(
        prompt=conversation.message,
        session_id=conversation.session_id,
        agent=conversation.agent if conversation.session_id is None else None,
    )
    watched = Watched(title=title_of(conversation.message), prompt=conversation.message, quiet=True)
    started = await edge.begin(request, watched)
    edge.spawn(_answer(edge, path, started.run_id), name=f"chat {started.run_id}")
    return acknowledged(started)


async def _answer(edge: "Edge", path: Path, run_id: str) -> None:
    outcome = await edge.app.wait(run_id)
    text = outcome.text.strip()
    if outcome.error is not None:
        text = f"{text}\n\n> {outcome.error}".strip()
    elif outcome.stop_reason != "end_turn":
        text = f"{text}\n\n> Stopped: {outcome.stop_reason}.".strip()
    try:
        before = (await edge.editor.read(path)).text
    except MagentError as error:
        edge.server.message(types.MessageType.Warning, f"Magent: the chat cannot be written: {error}")
        return
    after = chat.with_answer(before, text)
    edit = TextEdits(
        path=path,
        replacements=(Replacement(len(before), len(before), after[len(before) :]),),
        before=before,
        after=after,
    )
    result = await edge.editor.apply(edit, "Magent: answer")
    if result.outcome != "applied":
        edge.server.message(types.MessageType.Info, text)


async def _show(edge: "Edge", path: Path) -> None:
    if not (edge.can_show_documents and await edge.watch.outcomes.open_document(path, focus=True)):
        edge.server.message(types.MessageType.Info, f"Magent: open {path} and write below `{chat.YOU}`.")


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text, encoding="utf-8", newline="\n")
