"""How an edit travels: open files through the client, closed ones through it or straight to the disk."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.config import Settings
from magent_lsp.core.diff import line_hunks
from magent_lsp.core.document import split_lines
from magent_lsp.core.edits import (
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    Outcome,
    RenameFile,
    Replacement,
    TextEdits,
)
from magent_lsp.core.errors import ToolError
from magent_lsp.core.views import to_lf
from magent_lsp.lsp.buffers import Buffers, on_disk
from magent_lsp.lsp.convert import (
    before_last_break,
    line_edits,
    takes,
    to_uri,
    with_last_break,
    workspace_edit,
)
from magent_lsp.lsp.delivery import Delivery
from magent_lsp.lsp.documents import OpenDocument
from magent_lsp.lsp.habits import Habits
from magent_lsp.lsp.parcel import Caller, Parcel
from magent_lsp.lsp.verify import Bounds
from magent_lsp.store import disk
from magent_lsp.store.land import in_thread, land

_DIFFABLE = 500_000
"""Characters of a text up to which a stale edit's message says which lines changed."""


class Lanes:
    """Applies the edits of one client, one at a time for each file."""

    def __init__(
        self,
        *,
        caller: Caller,
        buffers: Buffers,
        delivery: Delivery,
        capabilities: Callable[[], types.ClientCapabilities],
        settings: Callable[[], Settings],
        can_save: bool,
        takes_edits: bool = False,
        bounds: Bounds,
        habits: Habits,
    ) -> None:
        self._caller = caller
        self._buffers = buffers
        self._delivery = delivery
        self._capabilities = capabilities
        self._settings = settings
        self._can_save = can_save
        self._takes_edits_undeclared = takes_edits
        """Whether the client takes edits of open documents though it declares no `workspace/applyEdit`."""
        self._bounds = bounds
        self._habits = habits
        self._names: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One for each name by which files are edited: edits keep the order in which they come."""
        self._files: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One for each real file: two names of one file do not get in each other's way."""

    async def apply(self, edit: FileEdit, label: str, save: bool = True) -> EditOutcome:
        """Make one change and verify it."""
        async with self._names[edit.path]:
            return await self._apply(edit, label, save)

    async def _apply(self, edit: FileEdit, label: str, save: bool) -> EditOutcome:
        try:
            real = await in_thread(disk.real, edit.path)
        except ToolError as error:
            return _failed(edit, "rejected", str(error))
        judged = getattr(edit, "real_path", None)
        if judged is not None and judged != real:
            return _failed(edit, "stale", f"{str(edit.path)!r} leads to {str(real)!r} by now.")
        async with self._files[real]:
            document = await self._buffers.find(edit.path)
            if document is not None:
                return await self._apply_open(edit, document, label, save)
            # An editor makes empty files only where resource operations work, and never with a certain mode.
            plain = isinstance(edit, TextEdits) or (isinstance(edit, CreateFile) and edit.mode is None)
            if isinstance(edit, TextEdits | CreateFile) and plain and self._by_client and _text_of(edit):
                return await self._apply_closed(edit, label)
            return await in_thread(land, edit)

    async def save(self, uris: list[str]) -> None:
        """Ask the client to save; what came of it is seen on the disk, not in the answer."""
        if self._can_save and uris:
            try:
                await self._caller.call("magent/save", {"uris": uris}, seconds=self._bounds.save)
            except (JsonRpcException, TimeoutError, OSError):
                return

    @property
    def _declares_edits(self) -> bool:
        workspace = self._capabilities().workspace
        return workspace is not None and bool(workspace.apply_edit)

    @property
    def _takes_edits(self) -> bool:
        return self._declares_edits or self._takes_edits_undeclared

    @property
    def _by_client(self) -> bool:
        """Whether files that are not open are edited by the client too."""
        choice = self._settings().edits.closed_files
        return self._declares_edits and choice != "disk" and (choice == "editor" or self._can_save)

    async def _apply_open(
        self, edit: FileEdit, document: OpenDocument, label: str, save: bool
    ) -> EditOutcome:
        if isinstance(edit, CreateFile):
            if document.source:
                return _failed(edit, "rejected", f"{str(edit.path)!r} is open in the editor and has text.")
            insertion = (Replacement(0, 0, edit.text),)
            edit = TextEdits(path=edit.path, replacements=insertion, before="", after=edit.text)
        if document.source != edit.before:
            return _failed(edit, "stale", await in_thread(_what_changed, edit.before, document.source))
        if isinstance(edit, RenameFile | DeleteFile):
            return await self._apply_resource(edit, document, label)
        if self._habits.keeps_last_break:
            edit = with_last_break(edit)
        return await self._apply_buffer(edit, document, label, save)

    async def _apply_buffer(
        self, edit: TextEdits, document: OpenDocument, label: str, save: bool
    ) -> EditOutcome:
        # Compared anew: the disk may have changed, and a client may tell of a save before the text it saved.
        await self._buffers.compare(document, again=True)
        had_unsaved = document.unsaved is not False
        if edit.before == edit.after:
            return EditOutcome(path=edit.path, outcome="applied", saved=not had_unsaved)
        if not self._takes_edits:
            why = (
                "The file is open in an editor that takes no edits (it did not declare workspace/applyEdit)."
            )
            return _failed(edit, "rejected", why)
        uri, before = document.uri, edit.before
        hunks = await in_thread(self._hunks, edit)

        def unchanged() -> bool:
            current = self._buffers.by_uri(uri)
            return current is not None and current.source == before

        outcome = await self._send(
            Parcel(
                edit=edit,
                uri=uri,
                expected=edit.after,
                label=label,
                change=lambda: workspace_edit(
                    edit, self._capabilities(), uri=uri, version=self._version(uri), hunks=hunks
                ),
                unchanged=unchanged,
            )
        )
        if outcome.outcome != "applied":
            return outcome
        if save and not had_unsaved:
            await self.save([uri])
        current = self._buffers.by_uri(uri)
        if current is None:
            saved = await in_thread(on_disk, edit.path)
            return replace(outcome, saved=saved == edit.after)
        await self._buffers.compare(current, again=True)
        return replace(outcome, saved=current.unsaved is False)

    def _hunks(self, edit: TextEdits) -> list[types.TextEdit]:
        hunks = line_edits(edit)
        return before_last_break(edit.before, hunks) if self._habits.keeps_last_break else hunks

    def _version(self, uri: str) -> int | None:
        """The document's version, for the client to refuse the edit if it has gone on since."""
        document = self._buffers.by_uri(uri)
        version = document.version if document is not None else None
        # Neovim opens documents with 0, compares no version below 1, and counts its first change from 3 on:
        # with 0 it would put the edit into a text that the person has just begun to change.
        return 1 if version == 0 and self._habits.versions_from_one else version

    async def _apply_closed(self, edit: TextEdits | CreateFile, label: str) -> EditOutcome:
        """Let the client edit a file that it has not open, and save it."""
        if (failure := await in_thread(_not_as_before, edit)) is not None:
            return failure
        change = await in_thread(workspace_edit, edit, self._capabilities())
        uri, expected = to_uri(edit.path), _text_of(edit)

        async def landed() -> bool:
            """A client need not tell of a buffer it opens for an edit; the disk tells, once it is saved."""
            await self.save([uri])
            text = await in_thread(on_disk, edit.path)
            return text is not None and to_lf(text) == to_lf(expected)

        outcome = await self._send(
            Parcel(
                edit=edit,
                uri=uri,
                expected=expected,
                label=label,
                change=lambda: change,
                unchanged=lambda: self._buffers.by_uri(uri) is None,
                landed=landed,
            )
        )
        if outcome.outcome in ("rejected", "stale"):
            return outcome
        if await landed():
            self._delivery.forget(uri)
            return EditOutcome(path=edit.path, outcome="applied")
        return outcome

    async def _send(self, parcel: Parcel) -> EditOutcome:
        if not await self._delivery.settled(parcel.uri):
            why = "An earlier edit of this file is not confirmed by the editor yet, so this one was not sent."
            return _failed(parcel.edit, "rejected", why)
        return await self._delivery.send(parcel)

    async def _apply_resource(
        self, edit: RenameFile | DeleteFile, document: OpenDocument, label: str
    ) -> EditOutcome:
        """Delete or move an open file: by the client if it can, else on the disk; its text stays open."""
        await self._buffers.compare(document, again=True)
        if document.unsaved is not False:
            return _failed(edit, "rejected", f"{str(edit.path)!r} has unsaved text in the editor.")
        kinds = types.ResourceOperationKind
        kind = kinds.Delete if isinstance(edit, DeleteFile) else kinds.Rename
        if self._takes_edits and takes(self._capabilities(), kind):
            change = workspace_edit(edit, self._capabilities(), uri=document.uri)
            params = types.ApplyWorkspaceEditParams(edit=change, label=label)
            try:
                await self._caller.call(types.WORKSPACE_APPLY_EDIT, params, seconds=self._bounds.reply)
            except (JsonRpcException, TimeoutError, OSError) as error:
                return _failed(edit, "unknown", f"The editor did not confirm it: {error or 'no answer'}.")
            if not await in_thread(os.path.lexists, edit.path):
                path = edit.target if isinstance(edit, RenameFile) else edit.path
                return EditOutcome(path=path, outcome="applied")
        return await in_thread(land, edit)


def _failed(edit: FileEdit, outcome: Outcome, detail: str) -> EditOutcome:
    return EditOutcome(path=edit.path, outcome=outcome, detail=detail)


def _text_of(edit: TextEdits | CreateFile) -> str:
    return edit.text if isinstance(edit, CreateFile) else edit.after


def _not_as_before(edit: TextEdits | CreateFile) -> EditOutcome | None:
    """Why a closed file is not what the edit was computed on; None if it is."""
    if isinstance(edit, CreateFile):
        there = os.path.lexists(edit.path)
        return _failed(edit, "rejected", f"{str(edit.path)!r} is there already.") if there else None
    try:
        text = disk.read(edit.path).text
    except ToolError as error:
        return _failed(edit, "stale", str(error))
    return None if text == edit.before else _failed(edit, "stale", _what_changed(edit.before, text))


def _what_changed(before: str, now: str) -> str:
    if len(before) + len(now) > _DIFFABLE:
        return "The text changed since it was read."
    hunks = line_hunks(split_lines(before), split_lines(now))
    places = [
        f"{hunk.new_start + 1}" + (f"-{hunk.new_end}" if hunk.new_end > hunk.new_start + 1 else "")
        for hunk in hunks[:5]
    ]
    more = ", …" if len(hunks) > 5 else ""
    return f"The text changed since it was read, at line {', '.join(places)}{more}."
