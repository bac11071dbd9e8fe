"""Takes back what a run did to files, and brings it back again.

Each edit is journalled in the session before it is made, with the digests of the text before and after, and
the texts are kept as blobs; so undo works after a restart, a crash or a cancel at any moment. What a person
changed since stays: texts are merged, and where that cannot be done the file is left alone and named.
"""

import asyncio
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from magent_lsp.core.edits import CreateFile, DeleteFile, EditOutcome, FileEdit, RenameFile, TextEdits
from magent_lsp.core.errors import ToolError
from magent_lsp.core.messages import UserMessage
from magent_lsp.core.ports import Editor
from magent_lsp.core.session import Session
from magent_lsp.engine.inverse import Change, Group, Step, edits_of, work_out
from magent_lsp.store.blobs import BlobStore
from magent_lsp.store.records import EditRecord
from magent_lsp.store.sessions import SessionStore

_USUAL_MODES: Final = (0o644, 0o664, 0o666)
Action = Literal["undo", "redo"]


@dataclass(frozen=True, kw_only=True)
class UndoReport:
    """What became of the files of a run."""

    restored: tuple[Path, ...] = ()
    conflicts: tuple[Path, ...] = ()
    """Left as they are."""
    reasons: tuple[str, ...] = ()
    """A sentence for each conflict."""


@dataclass(kw_only=True)
class _Run:
    session_id: str
    done: list[Step] = field(default_factory=list)
    """What can be taken back, in the order in which it happened."""
    undone: list[Step] = field(default_factory=list)
    """What undo did, which redo takes back."""

    def take(self, record: EditRecord) -> None:
        """Let a record of the journal have its effect."""
        step = Step.of(record)
        match record.action:
            case "edit":
                self.add(step)
            case "undo":
                self.done = [old for old in self.done if not old.touches(step.path)]
                self.undone += [step] if step.before != step.after else []
            case "redo":
                self.undone = [old for old in self.undone if not old.touches(step.path)]
                self.done += [step] if step.before != step.after else []

    def add(self, step: Step) -> None:
        """Add a step; with one that takes an earlier one back, both are gone."""
        opposite = next((old for old in reversed(self.done) if old.takes_back(step)), None)
        if opposite is None:
            self.done.append(step)
        else:
            self.done = [old for old in self.done if old is not opposite]


class Undo:
    """Undo and redo of whole runs."""

    def __init__(self, blobs: BlobStore, sessions: SessionStore | None = None) -> None:
        """Without `sessions`, only runs of this process can be taken back."""
        self._blobs = blobs
        self._sessions = sessions
        self._runs: dict[str, _Run] = {}
        self._one = asyncio.Lock()

    async def keep(self, session: Session, run_id: str, edit: FileEdit) -> Callable[[], None]:
        """Note an edit that is about to be made, under the root run, and keep its texts.

        Before and not after: whatever ends the edit half-way, a cancel or the end of the process, what became
        of it is seen in the file, and can be taken back. Call the result if the edit was not made.
        """
        step = await asyncio.to_thread(self._kept, edit)
        self._note(session, run_id, step)
        return lambda: self._note(session, run_id, step.reversed())

    async def undo(self, run_id: str, editor: Editor) -> UndoReport:
        """Take back a run's edits; the report is empty if there are none to take back."""
        return await self._take_back(run_id, editor, "undo")

    async def redo(self, run_id: str, editor: Editor) -> UndoReport:
        """Bring back what `undo` took."""
        return await self._take_back(run_id, editor, "redo")

    def _keep(self, before: str | None, after: str | None) -> None:
        for text in (before, after):
            if text is not None:
                self._blobs.put(text)

    def _kept(self, edit: FileEdit) -> Step:
        self._keep(*_texts(edit))
        return Step.from_edit(edit)

    def _note(self, session: Session, run_id: str, step: Step) -> None:
        self._runs.setdefault(run_id, _Run(session_id=session.id)).add(step)
        session.journal("edit", step.record(run_id, "edit"))

    async def _take_back(self, run_id: str, editor: Editor, action: Action) -> UndoReport:
        async with self._one:
            run = await asyncio.to_thread(self._find, run_id)
            report = UndoReport()
            for group in await self._work_out(run.done if action == "undo" else run.undone, editor):
                conflict = await self._apply(group, editor, action)
                if conflict:
                    report = replace(
                        report,
                        conflicts=(*report.conflicts, *group.paths),
                        reasons=(*report.reasons, conflict),
                    )
                    continue
                records = [change.step().record(run_id, action) for change in group.changes]
                for record in records:
                    run.take(record)
                await asyncio.to_thread(self._journal, run.session_id, records)
                changed = tuple(change.path for change in group.changes if change.before != change.after)
                report = replace(report, restored=(*report.restored, *changed))
            if report.restored and self._sessions is not None and run.session_id:
                said = partial(_note, action, report.restored)
                await asyncio.to_thread(self._sessions.note, run.session_id, said)
            return report

    async def _work_out(self, steps: Sequence[Step], editor: Editor) -> list[Group]:
        return await work_out(steps, lambda path: _read(editor, path), self._blobs.get)

    async def _apply(self, group: Group, editor: Editor, action: Action) -> str:
        """Make the changes of one group; a sentence about what did not land, else empty."""
        outcome = await self._apply_once(group, editor, action)
        if outcome is not None and outcome.outcome == "stale":  # somebody typed: merge with what is there now
            (fresh,) = await self._work_out(group.steps, editor)
            group.changes, group.conflict = fresh.changes, fresh.conflict
            outcome = await self._apply_once(group, editor, action)
        if group.conflict or outcome is None:
            return group.conflict
        return f"{outcome.path.name!r}: {outcome.detail or f'the edit was {outcome.outcome}.'}"

    async def _apply_once(self, group: Group, editor: Editor, action: Action) -> EditOutcome | None:
        """The first outcome that is not `applied`; None if all are, or if there is a conflict."""
        if group.conflict:
            return None
        group.changes, edits = await asyncio.to_thread(self._prepare, group.changes)
        for edit in edits:
            outcome = await editor.apply(edit, f"{action.capitalize()} the agent's edits")
            if outcome.outcome != "applied":
                return outcome
        return None

    def _prepare(self, changes: Sequence[Change]) -> tuple[list[Change], list[FileEdit]]:
        """The changes and the edits that make them, once what they replace is kept."""
        prepared = []
        for change in changes:
            if change.before != change.after:
                self._keep(change.before, change.after)
            if change.before is not None and change.after is None:
                change = replace(change, mode=_special_mode(change.path))
            prepared.append(change)
        return prepared, edits_of(prepared)

    def _find(self, run_id: str) -> _Run:
        """The run as this process knows it, else as its session's file does."""
        if run_id in self._runs or self._sessions is None:
            return self._runs.get(run_id) or _Run(session_id="")
        session_id = self._sessions.session_of_run(run_id)
        run = _Run(session_id=session_id or "")
        for record in self._sessions.edits(session_id) if session_id else ():
            if record.run_id == run_id:
                run.take(record)
        if session_id:
            self._runs[run_id] = run
        return run

    def _journal(self, session_id: str, records: Sequence[EditRecord]) -> None:
        if self._sessions is not None:
            for record in records:
                self._sessions.add(session_id, "edit", record)


def _note(action: Action, paths: Sequence[Path], session: Session) -> UserMessage:
    """What the model must know: its edits are gone, or there again."""
    names = ", ".join(
        path.relative_to(session.folder).as_posix() if path.is_relative_to(session.folder) else str(path)
        for path in paths
    )
    text = f"The user has taken back your edits of {names}: the text is as it was before them."
    if action == "redo":
        text = f"The user has brought your edits of {names} back, which were taken back before."
    return UserMessage(id=f"msg-{uuid.uuid4().hex[:12]}", text=text, synthetic=True)


def _texts(edit: FileEdit) -> tuple[str | None, str | None]:
    """The text of the file before and after an edit; None: no file."""
    match edit:
        case TextEdits():
            return edit.before, edit.after
        case CreateFile():
            return None, edit.text
        case DeleteFile():
            return edit.before, None
        case RenameFile():
            return edit.before, edit.before


def _special_mode(path: Path) -> int | None:
    """The permission bits of a file if they are not those that any new file gets."""
    try:
        mode = path.stat().st_mode & 0o777
    except OSError:
        return None
    return None if mode in _USUAL_MODES else mode


async def _read(editor: Editor, path: Path) -> str | None:
    """What a file holds now, None if there is none; ToolError if it holds no text."""
    try:
        return (await editor.read(path)).text
    except ToolError:
        if await asyncio.to_thread(os.path.lexists, path):
            raise
        return None
