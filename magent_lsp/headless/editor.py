"""An editor without an editor: files are on the disk, and people are asked through what the caller gives."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from magent_lsp.core.document import Document
from magent_lsp.core.edits import EditOutcome, FileEdit
from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Answer, Diagnostic, Focus, PermissionReply, PermissionRequest, Question
from magent_lsp.store import disk
from magent_lsp.store.land import in_thread, land

AskPermission = Callable[[PermissionRequest], Awaitable[PermissionReply | None]]
AskQuestion = Callable[[Question], Awaitable[Answer | None]]


class DiskEditor:
    """Reads and writes files in threads; writes of one path are made one after the other."""

    def __init__(
        self, *, permission: AskPermission | None = None, question: AskQuestion | None = None
    ) -> None:
        self._permission = permission
        self._question = question
        self._locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def can_save(self) -> bool:
        """False: nothing is ever unsaved here."""
        return False

    async def read(self, path: Path) -> Document:
        """The text on the disk; ToolError if there is none or it is not text."""
        return await in_thread(disk.read, path)

    async def apply(self, edit: FileEdit, label: str) -> EditOutcome:
        """Write the change to the disk."""
        real = getattr(edit, "real_path", None)
        async with self._locks[real or edit.path]:
            return await in_thread(land, edit)

    async def save(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Nothing is unsaved here."""
        return ()

    def documents(self) -> Sequence[Document]:
        """No buffers are open."""
        return ()

    def selection(self) -> Focus | None:
        """Nothing is selected here."""
        return None

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask through the caller's function; None if it gave none."""
        return await self._permission(request) if self._permission else None

    async def ask(self, question: Question) -> Answer | None:
        """Ask through the caller's function; None if it gave none."""
        return await self._question(question) if self._question else None

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic]:
        """Nobody reports problems here."""
        return ()

    @property
    def language(self) -> None:
        """None: there is no editor to run code in."""
        return None

    async def evaluate(self, code: str) -> str:
        """Always a ToolError."""
        raise ToolError("There is no editor here that could run code.")
