"""Works out what files should hold once some steps are taken back, without touching any."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from magent_lsp.core.document import digest_of
from magent_lsp.core.edits import CreateFile, DeleteFile, FileEdit, RenameFile, TextEdits
from magent_lsp.core.errors import ToolError
from magent_lsp.engine.merge import MAX_CHARS, merge, text_edit
from magent_lsp.store.records import EditRecord


@dataclass(frozen=True, kw_only=True)
class Step:
    """One change of one file, as digests."""

    path: Path
    before: str | None
    """None: there was no file."""
    after: str | None
    target: Path | None = None
    """Where a renamed file went."""
    real_path: Path | None = None
    mode: int | None = None
    """Permission bits of a file that went away; None: nothing special."""

    @staticmethod
    def from_edit(edit: FileEdit) -> "Step":
        """The step that an edit is."""
        match edit:
            case TextEdits():
                before, after = digest_of(edit.before), digest_of(edit.after)
                return Step(path=edit.path, before=before, after=after, real_path=edit.real_path)
            case CreateFile():
                return Step(path=edit.path, before=None, after=digest_of(edit.text), real_path=edit.real_path)
            case DeleteFile():
                return Step(
                    path=edit.path, before=digest_of(edit.before), after=None, real_path=edit.real_path
                )
            case RenameFile():
                digest = digest_of(edit.before)
                return Step(path=edit.path, before=digest, after=digest, target=edit.target)

    @staticmethod
    def of(record: EditRecord) -> "Step":
        """The step that a record of the journal tells of."""
        return Step(
            path=Path(record.path),
            before=record.before,
            after=record.after,
            target=Path(record.target) if record.target else None,
            real_path=Path(record.real_path) if record.real_path else None,
            mode=record.mode,
        )

    def record(self, run_id: str, action: Literal["edit", "undo", "redo"]) -> EditRecord:
        """The record of the step for the journal."""
        return EditRecord(
            run_id=run_id,
            action=action,
            path=str(self.path),
            target=str(self.target) if self.target else None,
            before=self.before,
            after=self.after,
            real_path=str(self.real_path) if self.real_path else None,
            mode=self.mode,
        )

    def reversed(self) -> "Step":
        """The step that takes this one back."""
        if self.target is not None:
            return replace(self, path=self.target, target=self.path)
        return replace(self, before=self.after, after=self.before)

    def takes_back(self, other: "Step") -> bool:
        """Whether the two together are no change."""
        back = self.reversed()
        return (back.path, back.target, back.before, back.after) == (
            other.path,
            other.target,
            other.before,
            other.after,
        )

    def touches(self, path: Path) -> bool:
        """Whether the step is about the path."""
        return path in (self.path, self.target)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a file holds now, and what it should hold; None: no file."""

    path: Path
    before: str | None
    after: str | None
    real_path: Path | None = None
    mode: int | None = None
    """Permission bits of a file that goes away, or comes back."""

    def step(self) -> Step:
        """The change as a step that can be taken back in its turn."""
        return Step(
            path=self.path,
            before=None if self.before is None else digest_of(self.before),
            after=None if self.after is None else digest_of(self.after),
            real_path=self.real_path,
            mode=self.mode if self.after is None else None,
        )


@dataclass(kw_only=True)
class Group:
    """Files that renames tie together; mostly just one. All of it is taken back, or nothing."""

    paths: list[Path]
    steps: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    conflict: str = ""
    """Why the files are left alone."""


class Conflict(Exception):
    """A step that cannot be taken back."""


Read = Callable[[Path], Awaitable[str | None]]
"""What a file holds now; None if there is none, ToolError if it holds no text."""
Kept = Callable[[str], str | None]
"""The text of a digest, if it is still kept."""


async def work_out(steps: Sequence[Step], read: Read, kept: Kept) -> list[Group]:
    """What must change so that the steps never happened, file by file, in the order of the first steps."""
    groups = _grouped(steps)
    for group in groups:
        try:
            now = {path: await read(path) for path in group.paths}
            group.changes = await asyncio.to_thread(_changes, group, now, kept)
        except (Conflict, ToolError) as error:
            group.conflict = str(error)
    return groups


def _grouped(steps: Sequence[Step]) -> list[Group]:
    groups: list[Group] = []
    for step in steps:
        paths = [step.path, step.target] if step.target else [step.path]
        tied = [group for group in groups if any(path in group.paths for path in paths)]
        if not tied:
            groups.append(Group(paths=paths, steps=[step]))
            continue
        first, *rest = tied
        for group in rest:
            first.paths += group.paths
            first.steps += group.steps
            groups.remove(group)
        first.paths += (path for path in paths if path not in first.paths)
        first.steps.append(step)
        if rest:
            order = {id(step): n for n, step in enumerate(steps)}
            first.steps.sort(key=lambda step: order[id(step)])
    return groups


def _changes(group: Group, now: dict[Path, str | None], kept: Kept) -> list[Change]:
    """The changes of one group; Conflict names the file that cannot be taken back."""
    then = dict(now)
    for step in reversed(_collapsed(group.steps)):
        if step.target is None:
            then[step.path] = _text_before(step, then[step.path], kept)
        elif then[step.target] is None and then[step.path] is not None:
            continue  # moved back already
        elif then[step.target] is None or then[step.path] is not None:
            where = step.path if then[step.path] is not None else step.target
            what = "there is a file of that name again" if where == step.path else "it is gone"
            raise Conflict(f"{where.name!r} was left alone: {what}.")
        else:
            then[step.path], then[step.target] = then[step.target], None
    real = {step.path: step.real_path for step in group.steps}
    mode = {step.path: step.mode for step in group.steps}
    return [
        Change(path=path, before=now[path], after=then[path], real_path=real.get(path), mode=mode.get(path))
        for path in group.paths
    ]


def _collapsed(steps: Sequence[Step]) -> list[Step]:
    """Steps that follow on each other made one; a person's text between two keeps them apart."""
    collapsed: list[Step] = []
    for step in steps:
        last = collapsed[-1] if collapsed else None
        if (
            last
            and not last.target
            and not step.target
            and last.path == step.path
            and last.after == step.before
        ):
            collapsed[-1] = Step(
                path=step.path,
                before=last.before,
                after=step.after,
                real_path=step.real_path or last.real_path,
            )
        else:
            collapsed.append(step)
    return [step for step in collapsed if step.target or step.before != step.after]


def _text_before(step: Step, text: str | None, kept: Kept) -> str | None:
    """What the file should hold once the step is taken back."""
    name = repr(step.path.name)
    digest = None if text is None else digest_of(text)
    if digest == step.before:
        return text  # as it was already
    if text is not None and text.endswith("\n") and not text[:-1].endswith(("\n", "\r")):
        # Editors and formatters end a text with a line break.
        digest = step.after if digest_of(text[:-1]) == step.after else digest
    if digest != step.after:
        if step.before is None:
            raise Conflict(f"{name} was left alone: it was changed since it was created.")
        if step.after is None:
            raise Conflict(f"{name} was left alone: there is a file of that name again.")
        if text is None:
            raise Conflict(f"{name} was left alone: it is gone.")
    if step.before is None:
        return None
    before = kept(step.before)
    if before is None:
        raise Conflict(f"{name} was left alone: what it held before is no longer kept.")
    if digest == step.after or text is None or step.after is None:
        return before
    if max(len(text), len(before)) > MAX_CHARS:
        raise Conflict(f"{name} was left alone: it was changed since and is too large to be merged.")
    after = kept(step.after)
    if after is None:
        raise Conflict(
            f"{name} was left alone: it was changed since, and what it held then is no longer kept."
        )
    merged = merge(after, text, before)
    if merged is None and text.endswith("\n"):
        merged = merge(_ended(after), text, _ended(before))
    if merged is None:
        raise Conflict(f"{name} was left alone: the same lines were changed since.")
    return merged


def _ended(text: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else f"{text}\n"


def edits_of(changes: Sequence[Change]) -> list[FileEdit]:
    """The edits that make the changes: what is new first, what goes away last, moved files moved."""
    gone = {c.path: c for c in changes if c.after is None and c.before is not None}
    edits: list[FileEdit] = []
    for change in changes:
        if change.after is None or change.before == change.after:
            continue
        if change.before is not None:
            edits.append(text_edit(change.path, change.before, change.after, change.real_path))
            continue
        source = next((path for path, old in gone.items() if old.before == change.after), None)
        if source is not None:
            del gone[source]
            edits.append(RenameFile(path=source, target=change.path, before=change.after))
        else:
            edits.append(
                CreateFile(path=change.path, text=change.after, real_path=change.real_path, mode=change.mode)
            )
    edits += (
        DeleteFile(path=change.path, before=change.before or "", real_path=change.real_path)
        for change in gone.values()
    )
    return edits
