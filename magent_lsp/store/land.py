"""Lets a FileEdit land on the disk, and says what became of it."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from magent_lsp.core.edits import CreateFile, DeleteFile, EditOutcome, FileEdit, RenameFile, TextEdits
from magent_lsp.core.errors import MissingError, StaleError, ToolError
from magent_lsp.store import disk

P = ParamSpec("P")
T = TypeVar("T")


def land(edit: FileEdit) -> EditOutcome:
    """Make one change; a failure is an outcome, not an exception, and has changed nothing."""
    try:
        match edit:
            case TextEdits():
                disk.write(edit.path, before=edit.before, after=edit.after, real_path=edit.real_path)
            case CreateFile():
                disk.create(edit.path, edit.text, real_path=edit.real_path, mode=edit.mode)
            case DeleteFile():
                disk.delete(edit.path, before=edit.before, real_path=edit.real_path)
            case RenameFile():
                disk.rename(edit.path, edit.target, before=edit.before)
    except (StaleError, MissingError) as error:
        return EditOutcome(path=edit.path, outcome="stale", detail=str(error))
    except ToolError as error:
        return EditOutcome(path=edit.path, outcome="rejected", detail=str(error))
    return EditOutcome(path=edit.target if isinstance(edit, RenameFile) else edit.path, outcome="applied")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short file work in a thread to its end, even if the caller is cancelled meanwhile.

    A write that is on its way cannot be called back; a lock held around it must not be given up early.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # taken, so that nobody reports it as lost
        raise
