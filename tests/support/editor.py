"""An editor in memory: buffers a test can open and change, files on the real disk behind them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from magent_lsp.core.document import Document
from magent_lsp.core.edits import CreateFile, DeleteFile, EditOutcome, FileEdit, RenameFile, TextEdits
from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Answer, Diagnostic, Focus, PermissionReply, PermissionRequest, Question


class MemoryEditor:
    """Implements the `Editor` port; what is open is edited in its buffer, what is closed on disk."""

    can_save = True

    def __init__(self) -> None:
        self.buffers: dict[Path, Document] = {}
        self.problems: list[Diagnostic] = []
        self.answers: list[Answer | None] = []
        self.questions: list[Question] = []
        self.selected: Focus | None = None

    def open(self, path: Path, text: str | None = None) -> Document:
        """Open a buffer; with a text that differs from the disk it is unsaved."""
        on_disk = path.read_bytes().decode() if path.exists() else None
        held = on_disk or "" if text is None else text
        document = Document(
            path=path,
            text=held,
            origin="buffer",
            version=1,
            unsaved=held != on_disk if text is not None else False,
        )
        self.buffers[path] = document
        return document

    async def read(self, path: Path) -> Document:
        """The buffer's text, else the disk's."""
        if path in self.buffers:
            return self.buffers[path]
        try:
            return Document(path=path, text=path.read_bytes().decode(), origin="disk")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolError(f"{str(path)!r} cannot be read: {error}.") from error

    async def apply(self, edit: FileEdit, label: str) -> EditOutcome:
        """Make the change if the text is still the one it was computed on."""
        try:
            return EditOutcome(path=edit.path, outcome="applied", saved=await self._make(edit))
        except ToolError as error:
            return EditOutcome(path=edit.path, outcome="stale", detail=str(error))

    async def _make(self, edit: FileEdit) -> bool:
        if isinstance(edit, CreateFile):
            if edit.path.exists():
                raise ToolError(f"{str(edit.path)!r} exists.")
            edit.path.parent.mkdir(parents=True, exist_ok=True)
            edit.path.write_bytes(edit.text.encode())
            return True
        before = await self.read(edit.path)
        if before.text != edit.before:
            raise ToolError(f"{str(edit.path)!r} changed.")
        match edit:
            case TextEdits() if edit.path in self.buffers:
                version = (before.version or 0) + 1
                self.buffers[edit.path] = replace(before, text=edit.after, version=version, unsaved=True)
                return False
            case TextEdits():
                edit.path.write_bytes(edit.after.encode())
            case RenameFile():
                edit.path.rename(edit.target)
            case DeleteFile():
                edit.path.unlink()
        return True

    async def save(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Write buffers to disk."""
        for path in paths:
            if path in self.buffers:
                path.write_bytes(self.buffers[path].text.encode())
                self.buffers[path] = replace(self.buffers[path], unsaved=False)
        return [path for path in paths if path not in self.buffers]

    def documents(self) -> Sequence[Document]:
        """All buffers."""
        return list(self.buffers.values())

    def selection(self) -> Focus | None:
        """What a test has selected."""
        return self.selected

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Nobody is here to answer."""
        return None

    async def ask(self, question: Question) -> Answer | None:
        """The next prepared answer."""
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic]:
        """The problems a test has put here."""
        return [each for each in self.problems if path is None or each.path == path]

    @property
    def language(self) -> None:
        """None: it runs no code."""
        return None

    async def evaluate(self, code: str) -> str:
        """Never called: no language is declared."""
        raise AssertionError(code)
