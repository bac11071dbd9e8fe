"""Code actions: answered at once from memory, never with a call to the model.

Their prompts are slash commands, so that a person or a project can replace them by files of their own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from magent_lsp.core.config import Actions
from magent_lsp.lsp.chat.desk import is_chat
from magent_lsp.lsp.commands.arguments import shorten
from magent_lsp.lsp.convert import to_path, to_uri

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

QUICK_FIX = types.CodeActionKind.QuickFix.value
REWRITE = types.CodeActionKind.RefactorRewrite.value
SOURCE = types.CodeActionKind.Source.value

KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite, types.CodeActionKind.Source)

OPTIONS = types.CodeActionOptions(code_action_kinds=list(KINDS))

_COMMENT = re.compile(r"""(^|\s)(\#|//|--|;|%|/\*|\*|<!--|"{3}|'{3}|\{-|\(\*|REM\b|")""")
"""A line that may hold a comment, in most languages; an action too many does no harm."""

_LONG = 120


class CodeActions:
    """The actions of one client."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge

    def answer(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        """All actions for a range, those that wait for an answer first."""
        uri, context = params.text_document.uri, params.context
        self._edge.editor.remember_diagnostics(uri, context.diagnostics)
        self._edge.chats.selections.note(self._edge.documents.open_document(uri), params.range)
        actions = [
            action
            for action in self._all(uri, params.range, context.diagnostics)
            if wanted(action.kind, context.only)
        ]
        if self._literals:
            return list(actions)
        return [action.command for action in actions if action.command is not None]

    def _all(
        self, uri: str, range: types.Range, diagnostics: Sequence[types.Diagnostic]
    ) -> Iterator[types.CodeAction]:
        yield from self._pending()
        yield from self._questions()
        yield from self._running()
        if is_chat(uri):
            if self._edge.chats.takes_a_message(uri):
                yield _action("Send this message", QUICK_FIX, "magent.send", {"uri": uri})
            return
        on = self._edge.settings.actions
        place: dict[str, Any] = {"uri": uri, "range": _plain(range)}
        if to_path(uri) is not None:
            if on.fix:
                for diagnostic in diagnostics:
                    yield self._fix(place, diagnostic)
            yield from self._rewrites(place, on)
            if on.comment and _COMMENT.search(self._edge.open_line(uri, range.start.line)):
                yield _prompt("Do what this comment says", REWRITE, "/do", place)
        if on.explain:
            yield _action("Explain", QUICK_FIX, "magent.ask", {**place, "question": "/explain"})
        if on.commands:
            yield from self._user_commands(place)
        if on.chat:
            yield _action("Open chat", SOURCE, "magent.openChat", {"uri": uri})
        yield from self._housekeeping()

    def _rewrites(self, place: Mapping[str, Any], on: Actions) -> Iterator[types.CodeAction]:
        if on.improve:
            yield _prompt("Improve", REWRITE, "/improve", place)
        if on.tests:
            yield _prompt("Write tests", REWRITE, "/tests", place)
        if on.document:
            yield _prompt("Document", REWRITE, "/document", place)

    def _pending(self) -> Iterator[types.CodeAction]:
        for request in self._edge.app.pending():
            what = shorten(_line(request.command or request.title), _LONG)
            for option in self._edge.editor.habits.in_order(request.options):
                argument = {"requestId": request.request_id, "reply": option.reply}
                yield _action(f"{option.title}: {what}", QUICK_FIX, "magent.respond", argument)

    def _questions(self) -> Iterator[types.CodeAction]:
        for entry in self._edge.questions.pending():
            what = shorten(_line(entry.question.title), _LONG)
            for button in entry.buttons:
                argument = {"questionId": entry.id, "answer": button}
                yield _action(f"{_line(button)}: {what}", QUICK_FIX, "magent.answer", argument)

    def _running(self) -> Iterator[types.CodeAction]:
        runs = [run for run in self._edge.app.running() if run.parent_run_id is None]
        for run in runs:
            title = "Cancel" if len(runs) == 1 else f"Cancel: {shorten(_line(run.title), _LONG)}"
            yield _action(title, QUICK_FIX, "magent.cancel", {"runId": run.run_id})

    def _housekeeping(self) -> Iterator[types.CodeAction]:
        if (last := self._edge.watch.last_with_edits()) is not None:
            run_id, run = last
            title = f"Undo: {shorten(run.title.removeprefix('Magent: '), _LONG)}"
            yield _action(title, SOURCE, "magent.undo", {"runId": run_id})
        if (review := self._edge.reviewing) is not None:
            argument = {"folder": to_uri(review.folder), "digest": review.digest}
            yield _action(f"Trust it: {review.folder.name}", SOURCE, "magent.trust", argument)
        elif not self._edge.app.trusted:
            yield _action("Trust this project's config", SOURCE, "magent.trust", {})

    def _fix(self, place: Mapping[str, Any], diagnostic: types.Diagnostic) -> types.CodeAction:
        plain = self._edge.server.plain(diagnostic)
        argument = {
            "prompt": f"/fix {diagnostic.message}",
            "uri": place["uri"],
            "range": plain["range"],
            "diagnostics": [plain],
        }
        action = _action(f"Fix: {_line(diagnostic.message)}", QUICK_FIX, "magent.prompt", argument)
        action.diagnostics = [diagnostic]
        return action

    def _user_commands(self, place: Mapping[str, Any]) -> Iterator[types.CodeAction]:
        for command in self._edge.app.commands().values():
            if command.code_action:
                title = f"/{command.name}: {_line(command.description)}"
                yield _action(
                    title, command.kind or REWRITE, "magent.prompt", {"prompt": f"/{command.name}", **place}
                )

    @property
    def _literals(self) -> bool:
        """Whether the client takes code actions, and not only commands."""
        documents = self._edge.server.client_capabilities.text_document
        declared = documents.code_action if documents is not None else None
        return declared is not None and declared.code_action_literal_support is not None


def wanted(kind: str | None, only: Sequence[str] | None) -> bool:
    """Whether an action of this kind was asked for; kinds are hierarchical, separated by dots."""
    if not only:
        return True
    kind = kind or ""
    names = [asked.value if isinstance(asked, types.CodeActionKind) else asked for asked in only]
    return any(not asked or kind == asked or kind.startswith(f"{asked}.") for asked in names)


def _prompt(title: str, kind: str, prompt: str, place: Mapping[str, Any]) -> types.CodeAction:
    return _action(title, kind, "magent.prompt", {"prompt": prompt, **place})


def _action(title: str, kind: str, command: str, argument: Mapping[str, Any]) -> types.CodeAction:
    full = f"Magent: {title}"
    return types.CodeAction(
        title=full,
        kind=kind,
        command=types.Command(title=full, command=command, arguments=[dict(argument)]),
    )


def _line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def _plain(range: types.Range) -> dict[str, Any]:
    return {
        "start": {"line": range.start.line, "character": range.start.character},
        "end": {"line": range.end.line, "character": range.end.character},
    }
