"""An answer on its way into its document: few edits, each verified, none over what a person types."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from lsprotocol import types

from magent_lsp.core.edits import EditOutcome, Replacement, TextEdits, apply_replacements
from magent_lsp.core.errors import MagentError, UserError
from magent_lsp.core.events import RunEvent, RunFinished
from magent_lsp.lsp.chat.anchor import PLACE_GONE, Anchor, Sent
from magent_lsp.lsp.chat.answer import Answer
from magent_lsp.lsp.chat.document import LONG, Place, eol_of, is_answer, parse, part_at, with_fields
from magent_lsp.lsp.chat.fences import left_open
from magent_lsp.lsp.chat.marks import MAGENT, YOU, heading
from magent_lsp.lsp.convert import to_path

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

SHORTEST: Final = 0.25
LONGEST: Final = 1.0
"""Seconds between two edits: the longer an answer takes, the fewer there are, for people who undo them."""

TYPING: Final = 0.4
"""A person who typed less than this many seconds ago is left alone, while the answer is not complete."""
PATIENCE: Final = 2.0
"""But not for longer than this."""

ASKED: Final = 1.0
"""Seconds after which a client that has not told of the first edit may be asking about it."""

LANDING: Final = 6.0
"""Seconds from the end of the run on after which the answer is opened beside its document."""
OPENING: Final = 3.0
"""Seconds for the client to say that it has opened it; then it is told in a message."""

CHOOSING: Final = 60.0
"""The same where a person chooses the moment for it, and so has to find the action first."""

LATE: Final = 600.0
"""Seconds for a person to allow an edit after all; the rest of the answer follows it then."""

TRIES: Final = 30
"""How often the end of an answer is tried in a text that changes all the time."""

Landing = Literal["done", "again", "misplaced", "never"]


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """An edit that brings a piece of the answer."""

    edit: TextEdits
    sent: Sent
    written: int
    """Characters of the answer that are in the document once it has landed."""


class Stream:
    """One answer and the document it goes into."""

    def __init__(
        self, edge: "Edge", *, path: Path, anchor: Anchor, prompt: str, fields: Mapping[str, str]
    ) -> None:
        self.path = path
        self.anchor = anchor
        self.run_id = ""
        self.done = asyncio.Event()
        """Set when nothing more will be written."""
        self._edge = edge
        self._prompt = prompt
        self._fields = dict(fields)
        """Front matter that the document is to have."""
        self._answer = Answer()
        self._news = asyncio.Event()
        self._written = 0
        self._flying: _Piece | None = None
        self._why = ""
        """Why the last piece did not land."""
        self._refused = False
        """Whether a person or the client said no to it."""
        window = edge.server.client_capabilities.window
        self.live = window is not None and anchor.is_open and edge.editor.moments is None
        """Whether pieces are shown as they come; else all at the end, in one edit."""
        self._first = True
        document = edge.documents.open_document(anchor.uri)
        saved = document is not None and document.unsaved is False
        self._saved = anchor.text if saved else None
        """The text of which all that is not on the disk is the answer's; None: there is none."""

    def take(self, event: RunEvent) -> None:
        """Take an event of the run."""
        self._answer.take(event)
        self._news.set()

    async def drive(self) -> None:
        """Write until the run has ended; what cannot be written is opened as a document.

        An editor that is slow, asks a person or does not tell the truth can hold up every single edit; what
        counts is how long people wait once the run has ended.
        """
        ended = asyncio.create_task(self._edge.app.wait(self.run_id), name=f"end of {self.run_id}")
        try:
            async with asyncio.timeout(None) as patience:
                limit = LANDING if self._edge.editor.moments is None else CHOOSING
                hurry = _limiting(patience, limit)
                ended.add_done_callback(hurry)
                try:
                    await self._follow(ended)
                    await self._end()
                finally:
                    ended.remove_done_callback(hurry)
        except TimeoutError:
            if not patience.expired():
                raise
            self._why = f"the editor did not confirm it within {limit:g} seconds"
        finally:
            ended.cancel()
        self._settle()
        if self._is_whole():
            await self._save()
        else:
            await self._keep_aside()

    async def lands_late(self) -> bool:
        """Wait, bounded, for a piece that may yet be taken; whether it was, and more is to follow it."""
        piece = self._flying
        if piece is None or not piece.sent.text or self._refused:
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LATE):
                await piece.sent.landed.wait()
        return self._settle() and not self._is_whole()

    async def fill_in(self) -> None:
        """Write what is to follow a piece that landed late; by then the answer is open beside it."""
        await self._end()
        if self._is_whole():
            await self._save()
            words = f"Magent: the answer is in {self.path.name!r} now, too."
            self._edge.server.message(types.MessageType.Info, words)

    def front(self, fields: Mapping[str, str]) -> None:
        """Have the document's front matter say this, with the last piece."""
        self._fields |= fields

    async def _follow(self, ended: "asyncio.Task[RunFinished]") -> None:
        begun = time.monotonic()
        self._news.set()  # the heading says at once that an answer is coming
        while not ended.done():
            news = asyncio.create_task(self._news.wait())
            await asyncio.wait({ended, news}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            self._news.clear()
            if self.live and not ended.done():
                await self._let_type(ended)
                if await self._put() == "never":
                    self.live = False
            pause = min(max(SHORTEST, (time.monotonic() - begun) / 20), LONGEST)
            await asyncio.wait({ended}, timeout=pause)

    async def _let_type(self, ended: "asyncio.Future[RunFinished]") -> None:
        until = time.monotonic() + PATIENCE
        while not ended.done() and (now := time.monotonic()) < min(self.anchor.typed + TYPING, until):
            await asyncio.wait({ended}, timeout=self.anchor.typed + TYPING - now)

    async def _end(self) -> None:
        for attempt in range(TRIES):
            landing = await self._put()
            if landing == "done" and self._is_whole():
                return
            if landing in ("misplaced", "never"):
                break
            await asyncio.sleep(min(0.05 * attempt, 0.5))

    async def _save(self) -> None:
        """Save the document if nobody has unsaved text in it: once, as formatters work on what is saved."""
        if self._saved == self.anchor.text:
            await self._edge.editor.save([self.path])

    def _is_whole(self) -> bool:
        return self.anchor.begin is not None and self._written >= len(self._answer.text)

    async def _put(self) -> Landing:
        """Bring what is there of the answer into the document."""
        try:
            await self._catch_up()
        except MagentError as error:
            self._why = str(error).rstrip(".")
            return "never"
        if self._flying is not None and not self._settle():
            # It may land yet: a second one beside it would be a second answer.
            if not await self._edge.editor.settled(self.path):
                self._why = "the editor did not confirm it"
                return "never"
            self._settle()
        if self.anchor.lost:
            self._why = self.anchor.lost
            return "never"
        part, text = None, self.anchor.text
        if self.anchor.begin is None:
            beside = len(text) >= LONG
            at = self.anchor.at
            part = await self._edge.in_thread(part_at, text, at) if beside else part_at(text, at)
        if text != self.anchor.text:
            self._why = "its text changed all the time"
            return "again"
        if lost := self._misplaced(part):
            self._why = lost  # until whoever types has gone on typing
            return "misplaced"
        piece = self._piece(part)
        if piece is None:
            return "done"
        if self._saved == text:
            self._saved = piece.edit.after
        self._flying, self._refused = piece, False
        own, behind = self.anchor.own, self.anchor.text[self.anchor.at :]
        self.anchor.send(piece.sent)
        outcome = await self._apply(piece)
        if outcome.outcome == "applied":
            self.anchor.wrote(piece.sent, piece.edit.after)
        self.anchor.tidied(piece.sent, piece.edit.before, own, behind)
        if self._settle() and (piece.sent.text or outcome.outcome == "applied"):
            return "done"
        self._refused = outcome.outcome == "rejected"
        self._why = outcome.detail.rstrip(".") or "the editor did not take it"
        if outcome.outcome == "diverged" and len(self.anchor.text) - len(text) >= len(piece.sent.text) > 0:
            self.anchor.lost = self._why = "the editor made another text of it"  # not to be sent again
            return "never"
        return "again" if outcome.outcome in ("stale", "diverged") else "never"

    async def _catch_up(self) -> None:
        """See what the text is now, where no editor tells."""
        path = to_path(self.anchor.uri)
        if not self.anchor.is_open and path is not None:
            self.anchor.take((await self._edge.editor.read(path)).text)
            self.path = path

    def _settle(self) -> bool:
        """Whether the last piece has landed by now."""
        piece = self._flying
        if piece is None or not piece.sent.landed.is_set():
            return False
        self._written = max(self._written, piece.written)
        self._flying = None
        return True

    def _misplaced(self, part: Place | None) -> str:
        """Why an answer would not be one at the anchor; empty if it would. `part` is where it is to begin."""
        text, begin = self.anchor.text, self.anchor.begin
        if begin is not None:
            kept = text[max(begin - 1, 0) : begin] in ("", "\r", "\n") and is_answer(self.anchor.own)
            return "" if kept else PLACE_GONE
        return "" if part is None or part.who == "you" else "there is another answer at its place"

    def _piece(self, part: Place | None) -> _Piece | None:
        text, at = self.anchor.text, self.anchor.at
        eol = eol_of(text)
        shown = self._answer.text
        body = shown[self._written :].replace("\n", eol)
        replacements = with_fields(text, self._fields)
        sent = Sent(text=body)
        if self.anchor.begin is None:
            if part is None:
                start = min(parse(text).start, at)
                replacements.append(Replacement(start, start, f"{YOU}{eol}{eol}"))
            sent = _opening(text, at, part.start if part else 0, body, eol)
        elif body and heading(text[at:].partition("\n")[0].rstrip("\r")):
            sent = Sent(text=f"{body}{eol * 2}", tail=2 * len(eol))
        if not sent.text and not replacements:
            return None
        if not sent.text:
            sent.landed.set()
        else:
            replacements.append(Replacement(at, at, sent.text))
        edit = TextEdits(
            path=to_path(self.anchor.uri) or self.path,
            replacements=tuple(replacements),
            before=text,
            after=apply_replacements(text, replacements),
        )
        return _Piece(edit=edit, sent=sent, written=len(shown))

    async def _apply(self, piece: _Piece) -> EditOutcome:
        work = asyncio.ensure_future(self._edge.editor.apply(piece.edit, "Magent: answer", save=False))
        try:
            # Plugins that save for us ask nobody about an edit, however late they tell of it.
            if self._first and self.live and not self._edge.client.save:
                self._first = False
                landed = asyncio.ensure_future(piece.sent.landed.wait())
                await asyncio.wait({work, landed}, timeout=ASKED, return_when=asyncio.FIRST_COMPLETED)
                landed.cancel()
                # Somebody is asked, or the client is slow: then once more at the end, and no oftener.
                self.live = piece.sent.landed.is_set()
            return await work
        finally:
            work.cancel()

    async def _keep_aside(self) -> None:
        name, text = self.path.name, self._answer.text
        words = f"Magent: the answer could not be put into {name!r}: {self._why}."
        if not text:
            self._edge.server.message(types.MessageType.Warning, words)
            return
        edge, outcomes = self._edge, self._edge.watch.outcomes
        try:
            path = await outcomes.keep(self.run_id, self._prompt, f"{text}\n")
        except UserError as error:
            edge.server.message(types.MessageType.Warning, f"{words} {error}\n{text}")
            return
        shown = edge.can_show_documents and await outcomes.open_document(path, seconds=OPENING)
        said = f"{words} It is in {path}" + ("." if shown else f":\n{text}")
        edge.server.message(types.MessageType.Warning, said)


def _limiting(patience: asyncio.Timeout, seconds: float) -> "Callable[[asyncio.Future[RunFinished]], None]":
    """Called when a run has ended, sets how long what follows may take."""
    return lambda _: patience.reschedule(asyncio.get_running_loop().time() + seconds)


def _opening(text: str, at: int, start: int, body: str, eol: str) -> Sent:
    """The first piece: our heading, what is there of the answer, and the heading of the next message."""
    fence = left_open(text[start:at])
    head = f"{eol}{fence}" if fence else ""
    head += eol * 2
    blank = len(text) - at - len(text[at:].lstrip("\r\n"))
    behind = text[at : at + blank].count("\n")
    tail = eol * 2 + YOU + eol * max(2 - behind, 0)
    return Sent(text=f"{head}{MAGENT}{eol * 2}{body}{tail}", head=len(head), tail=len(tail))
