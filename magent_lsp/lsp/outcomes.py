"""Shows how a run ended in clients that take no events: once, and where it can be read."""

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.errors import UserError
from magent_lsp.core.events import RunFinished
from magent_lsp.lsp.convert import to_uri

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge
    from magent_lsp.lsp.watch import Watched

SHORT = 300
"""A text up to this length fits a message when edits are the real outcome."""

LINE = 100
"""A longer line may be cut off where messages are one line of the screen, as in Helix and Vim."""

KEPT = 100
"""Answer documents that stay in the state directory."""

_STOPPED = {
    "max_tokens": "stopped: the answer reached the model's limit of length",
    "max_turns": "stopped: it reached the limit of requests to the model (setting `maxTurns`)",
    "budget": "stopped: it reached a limit of cost or time (settings `maxCostUsd`, `maxMinutes`)",
    "loop": "stopped: the agent repeated the same steps",
    "rejected": "stopped: a permission was refused",
    "cancelled": "cancelled",
    "error": "failed",
}


def closing_words(event: RunFinished) -> str:
    """How a run ended, in a few words."""
    words = _STOPPED.get(event.stop_reason, "done")
    edits = edit_words(event)
    return f"{words}; {edits}" if edits else words


def edit_words(event: RunFinished) -> str:
    """`2 edits applied, 1 not (a.py: rejected)`; empty without edits."""
    if not event.edits:
        return ""
    applied = sum(edit.outcome == "applied" for edit in event.edits)
    words = f"{applied} edit{'' if applied == 1 else 's'} applied"
    missed = [
        f"{edit.uri.rpartition('/')[2]}: {edit.outcome}" for edit in event.edits if edit.outcome != "applied"
    ]
    return f"{words}, {len(missed)} not ({', '.join(missed)})" if missed else words


class Outcomes:
    """Opens answers as Markdown documents, or says them in a message."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge

    def show(self, run_id: str, run: "Watched", event: RunFinished) -> None:
        """Show the outcome of a run: its error, its answer, or that it ended."""
        text = event.text.strip()
        stopped = event.stop_reason in _STOPPED
        if event.error is not None:
            self._say(types.MessageType.Error, event.error)
        elif text and (run.document or not event.edits or len(text) > SHORT):
            note = f"\n\n*Magent {closing_words(event)}.*" if stopped or event.edits else ""
            self._edge.spawn(self._open(run_id, run, f"{text}{note}\n"), name=f"answer {run_id}")
        elif stopped:
            quiet = event.stop_reason in ("cancelled", "rejected")
            kind = types.MessageType.Info if quiet else types.MessageType.Warning
            self._say(kind, closing_words(event))
        elif text:
            edits = edit_words(event)
            self._say(types.MessageType.Info, f"{text} ({edits})" if edits else text)
        elif not self._edge.shows_progress:
            self._say(types.MessageType.Info, closing_words(event))

    async def _open(self, run_id: str, run: "Watched", text: str) -> None:
        said = text.rstrip()
        # Which a message may not show as it is:
        if self._edge.can_show_documents or "\n" in said or len(said) > LINE:
            try:
                path = await self.keep(run_id, run.prompt, text)
            except UserError as error:
                said += f"\n\n{error}"
            else:
                if self._edge.can_show_documents and await self.open_document(path):
                    return
                said += f"\n\nIt is in {path}, too."
        self._say(types.MessageType.Info, said)

    async def keep(self, run_id: str, prompt: str, text: str) -> Path:
        """Write an answer into a file of its own; UserError if that cannot be."""
        answers = self._edge.answers
        try:
            return await self._edge.in_thread(write_answer, answers, run_id, prompt, text)
        except OSError as error:
            raise UserError(f"It could not be kept in {answers}: {error.strerror or error}.") from error

    async def open_document(self, path: Path, *, focus: bool = False, seconds: float = 30) -> bool:
        """Open a file in the editor, with or without taking the cursor there; False if it cannot in time."""
        params = types.ShowDocumentParams(uri=to_uri(path), take_focus=focus)
        try:
            result = await self._edge.server.protocol.call(
                types.WINDOW_SHOW_DOCUMENT, params, seconds=seconds
            )
        except (JsonRpcException, TimeoutError):
            return False
        return bool(result is not None and result.success)

    def _say(self, kind: types.MessageType, text: str) -> None:
        self._edge.server.message(kind, text if text.startswith("Magent") else f"Magent: {text}")


def write_answer(folder: Path, run_id: str, prompt: str, text: str) -> Path:
    """Write an answer under a speaking name, and remove the oldest of many; OSError if that cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", prompt.lower()[:60]).strip("-")[:40] or "answer"
    path = folder / f"{slug}-{re.sub(r'[^A-Za-z0-9_-]', '', run_id)[-12:]}.md"
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    with suppress(OSError):  # another server removes them as well
        old = sorted(folder.glob("*.md"), key=lambda file: file.stat().st_mtime, reverse=True)[KEPT:]
        for file in old:
            file.unlink(missing_ok=True)
    return path
