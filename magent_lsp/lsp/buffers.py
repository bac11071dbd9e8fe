"""Which open document belongs to a file, and whether it differs from the disk."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from magent_lsp.core.document import Document
from magent_lsp.core.errors import ToolError
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.documents import Documents, OpenDocument
from magent_lsp.store import disk
from magent_lsp.store.land import in_thread


class Buffers:
    """The open documents of one client, as files."""

    def __init__(self, documents: Callable[[], Documents]) -> None:
        self._documents = documents
        self._tasks: dict[str, asyncio.Task[None]] = {}
        documents().observe(self._opened)
        for document in documents().open_documents():
            self._opened(document, document.uri)

    def close(self) -> None:
        """Look at the disk no more."""
        for task in self._tasks.values():
            task.cancel()

    def by_uri(self, uri: str) -> OpenDocument | None:
        """The open document with a URI."""
        return self._documents().open_document(uri)

    def all(self) -> list[Document]:
        """Every buffer that is a file."""
        found = ((document, to_path(document.uri)) for document in self._documents().open_documents())
        return [snapshot(document, path) for document, path in found if path is not None]

    async def find(self, path: Path) -> OpenDocument | None:
        """The open document of a file, by whatever name or link the editor opened it."""
        buffers = [
            (document, place)
            for document in self._documents().open_documents()
            if (place := to_path(document.uri)) is not None
        ]
        for document, place in buffers:
            if place == path:
                return document
        if not buffers:
            return None
        index = await in_thread(_same_file, path, [place for _, place in buffers])
        return buffers[index][0] if index is not None else None

    async def compare(self, document: OpenDocument, *, again: bool = False) -> None:
        """Find out whether the buffer differs from the disk, if that is not known."""
        path = to_path(document.uri)
        if path is None or (document.compared and not again):
            return
        text = await in_thread(on_disk, path)
        if again or not document.compared:
            document.saved_as(text or "")

    def _opened(self, document: OpenDocument | None, uri: str) -> None:
        """Compare a buffer that was just opened, so that `all` knows without waiting."""
        if document is None or document.compared or uri in self._tasks:
            return
        task = asyncio.get_running_loop().create_task(self.compare(document), name=f"compare {uri}")
        self._tasks[uri] = task
        task.add_done_callback(lambda _: self._tasks.pop(uri, None))


def snapshot(document: OpenDocument, path: Path) -> Document:
    """The buffer as a value."""
    return Document(
        path=path,
        text=document.source,
        origin="buffer",
        version=document.version,
        unsaved=bool(document.unsaved),
        language=document.language_id or "",
    )


def on_disk(path: Path) -> str | None:
    """The text on the disk; None if there is none."""
    try:
        return disk.read(path).text
    except ToolError:
        return None


def _same_file(path: Path, places: Sequence[Path]) -> int | None:
    """Which of the places is the same file under another name: a link, another case, a second hard link."""
    real = os.path.realpath(path)
    try:
        status: os.stat_result | None = path.stat()
    except OSError:
        status = None
    for index, place in enumerate(places):
        if os.path.realpath(place) == real:
            return index
        if status is not None:
            try:
                if os.path.samestat(status, place.stat()):
                    return index
            except OSError:
                continue
    return None
