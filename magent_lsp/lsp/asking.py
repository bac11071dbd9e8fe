"""The editor as the app holds it: it asks the person in the ways that the client has."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from magent_lsp.core.config import Client, Settings
from magent_lsp.core.edits import EditOutcome, FileEdit
from magent_lsp.core.request import Answer, Focus, PermissionReply, PermissionRequest, Question
from magent_lsp.lsp.dialogs import what_is_asked
from magent_lsp.lsp.editor import LspEditor
from magent_lsp.lsp.moments import Moments

if TYPE_CHECKING:
    from magent_lsp.lsp.questions import Questions
    from magent_lsp.lsp.server import MagentServer


class AskingEditor(LspEditor):
    """The editor, which remembers what landed, and says where to answer if the client has no dialogs."""

    _server: "MagentServer"

    def __init__(self, server: "MagentServer", client: Client, settings: Callable[[], Settings]) -> None:
        super().__init__(server, client, settings)
        self.applied: list[Path] = []
        """Files whose edits landed, in order."""
        self.questions: Questions | None = None
        """How people are asked where the client has no `magent/input`."""
        self.moments = Moments(self.ask) if client.edits_after_actions else None
        """When an edit of an open document may be sent; None: always."""
        self.selected: Callable[[], Focus | None] = lambda: None
        """What the person selected last."""

    async def ask(self, question: Question) -> Answer | None:
        """As in LspEditor; stock clients get buttons, documents and code actions."""
        if self._client.input or self.questions is None:
            return await super().ask(question)
        by_action = self.moments is not None or self.habits.only_first_button
        return await self.questions.ask(question, dialog=not by_action)

    def selection(self) -> Focus | None:
        """What the person selected last, as far as the client told it."""
        return self.selected()

    async def apply(self, edit: FileEdit, label: str, *, save: bool = True) -> EditOutcome:
        """As in LspEditor, at its moment; what landed is remembered."""
        if not await self._in_time(edit, label):
            return EditOutcome(path=edit.path, outcome="rejected", detail="The person left the edit.")
        outcome = await super().apply(edit, label, save=save)
        if outcome.outcome == "applied":
            self.applied.append(outcome.path)
        return outcome

    async def _in_time(self, edit: FileEdit, label: str) -> bool:
        if self.moments is None or not await self.is_open(edit.path):
            return True
        what = label.removeprefix("Magent: ")
        return await self.moments.wait(what if edit.path.name in what else f"{what} in {edit.path.name}")

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """As in LspEditor; None means that a command or a code action must answer, and is said."""
        reply = await super().request_permission(request)
        if reply is None:
            shown = f"{what_is_asked(request)}\n" if request.command is None else ""
            words = f"Magent waits for your permission: {request.command or request.title}."
            how = "Answer it with one of its code actions."
            self._server.message(types.MessageType.Warning, f"{shown}{words} {how}".lstrip())
        return reply
