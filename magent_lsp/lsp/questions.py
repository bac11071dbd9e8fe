"""Questions of an agent in clients without `magent/input`: buttons, a document to fill in, code actions.

A choice is a message request. A text to judge, and an answer that no button can hold, is a document that the
person edits. Each is answerable by code action too, so that a client that has no dialogs can serve.
"""

import asyncio
import logging
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound

from magent_lsp.core.errors import ToolError, UserError
from magent_lsp.core.request import Answer, Question

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

logger = logging.getLogger(__name__)

SEND: Final = "Send the answer"
SILENT: Final = "Do not answer"
BELOW: Final = "<!-- Write your answer below this line. -->"
CHOOSE: Final = "Mark what you choose with an x:"

_MARKED: Final = re.compile(r"^\s*[-*] \[[xX]\] (.*?)\s*$", re.MULTILINE)
_SHOWN: Final = 2_000
"""Characters of a proposal that a dialog shows where it cannot be opened as a document."""


@dataclass(kw_only=True, eq=False)
class Open:
    """A question that waits."""

    id: str
    question: Question
    buttons: tuple[str, ...]
    """What ends it, by dialog or by code action."""
    path: Path | None
    """The document that the person edits; None: the buttons say it all."""
    answer: "asyncio.Future[str | None]"
    """The button; None: the person does not want to say."""


class Questions:
    """The open questions of one client."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge
        self._open: dict[str, Open] = {}

    def pending(self) -> list[Open]:
        """Those that wait, oldest first."""
        return list(self._open.values())

    def choose(self, question_id: str, button: str) -> bool:
        """Answer one; False if there is no such question or button, or somebody was faster."""
        entry = self._open.get(question_id)
        if entry is None or entry.answer.done() or button not in entry.buttons:
            return False
        entry.answer.set_result(button)
        return True

    async def ask(self, question: Question, *, dialog: bool = True) -> Answer | None:
        """The person's answer, by a `dialog` or code actions alone; None if there is no answer, or no way."""
        path = await self._document(question)
        buttons = _buttons(question, path)
        if not buttons:
            return None
        entry = Open(
            id=f"question-{uuid.uuid4().hex[:8]}",
            question=question,
            buttons=buttons,
            path=path,
            answer=asyncio.get_running_loop().create_future(),
        )
        self._open[entry.id] = entry
        shown = asyncio.create_task(self._dialog(entry), name=f"dialog {entry.id}") if dialog else None
        if shown is None:
            self._say(entry)
        try:
            button = await entry.answer
            return await self._read(entry, button) if button is not None else None
        finally:
            del self._open[entry.id]
            if shown is not None:
                shown.cancel()

    async def _document(self, question: Question) -> Path | None:
        """The document in which the person answers, opened; None if there is no need, or no way."""
        if (question.options and not question.multiple and not question.default) or (
            not self._edge.can_show_documents
        ):
            return None
        mark = uuid.uuid4().hex[:8]
        outcomes = self._edge.watch.outcomes
        try:
            path = await outcomes.keep(mark, question.title, _text(question))
        except UserError as error:
            logger.warning("the question %r has no document: %s", question.title, error)
            return None
        return path if await outcomes.open_document(path, focus=True) else None

    async def _dialog(self, entry: Open) -> None:
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=_message(entry),
            actions=[types.MessageActionItem(title=button) for button in entry.buttons],
        )
        try:
            reply = await self._edge.server.protocol.call(
                types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=None
            )
        except JsonRpcMethodNotFound:
            self._say(entry)
            return
        except (JsonRpcException, OSError) as error:
            logger.warning("the question %r could not be asked: %s", entry.question.title, error)
            reply = None
        if entry.answer.done():
            return
        title = getattr(reply, "title", None)
        if title in entry.buttons:
            entry.answer.set_result(title)
        elif entry.path is not None:
            self._say(entry)  # the dialog went away while the person works on the document
        else:
            entry.answer.set_result(None)

    def _say(self, entry: Open) -> None:
        where = f" It is {entry.path.name}." if entry.path is not None else ""
        self._edge.server.message(
            types.MessageType.Warning,
            f"Magent waits for your answer: {entry.question.title}.{where} Give it with a code action.",
        )

    async def _read(self, entry: Open, button: str) -> Answer | None:
        """What a button means, with what the person wrote."""
        question = entry.question
        if button == SILENT:
            return None
        if entry.path is None or (question.default and button == question.options[-1]):
            return Answer(values=(button,))
        try:
            text = (await self._edge.editor.read(entry.path)).text
        except ToolError as error:
            logger.warning("the answer to %r cannot be read: %s", question.title, error)
            return None
        if question.default:
            same = text.strip() == question.default.strip()
            return Answer(values=(button if same else text.strip(),))
        values = _values(question, text)
        return Answer(values=values) if values else None


def _buttons(question: Question, path: Path | None) -> tuple[str, ...]:
    if question.default or (question.options and path is None):
        return question.options
    return (SEND, SILENT) if path is not None else ()


def _text(question: Question) -> str:
    """The document: a proposal as it is, else the question with room for the answer."""
    if question.default:
        return f"{question.default.rstrip()}\n"
    head = "\n\n".join(part for part in (f"# {question.title}", question.message) if part)
    if question.options:
        choices = "\n".join(f"- [ ] {option}" for option in question.options)
        return f"{head}\n\n{CHOOSE}\n\n{choices}\n"
    return f"{head}\n\n{BELOW}\n\n"


def _values(question: Question, text: str) -> tuple[str, ...]:
    if question.options:
        marked = set(_MARKED.findall(text.rpartition(CHOOSE)[2]))
        return tuple(option for option in question.options if " ".join(option.split()) in marked)
    said = text.rpartition(BELOW)[2].strip()
    return (said,) if said else ()


def _message(entry: Open) -> str:
    question = entry.question
    if entry.path is not None:
        what = "You may change the text first." if question.default else "The document takes your answer."
        return f"{question.title}\n{what} Save {entry.path.name} where the editor does not send it to Magent."
    rest = question.message
    return f"{question.title}\n{rest[:_SHOWN]}{'…' if len(rest) > _SHOWN else ''}" if rest else question.title
