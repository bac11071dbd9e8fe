"""Texts by their content hash: what files held before and after our edits, so that a run can be undone."""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

from magent_lsp.store.journal import private_folder

_log = logging.getLogger(__name__)

MAX_BLOB: Final = 20 * 1024 * 1024
"""A larger text is not kept; its edits can be undone only as long as an equal text is at hand."""
_DIGEST_LENGTH: Final = 64


class BlobStore:
    """Content-addressed files of the state folder; the digest is that of `Document.digest`.

    Methods read and write files: call them in a thread. Nothing here raises: a text that cannot be kept
    costs its undo, not the edit; `tell` gets one sentence about it.
    """

    def __init__(
        self, state: Path, *, tell: Callable[[str], None] = _log.warning, max_blob: int = MAX_BLOB
    ) -> None:
        self.folder = state / "blobs"
        self._tell = tell
        self._told = False
        self._max_blob = max_blob

    def put(self, content: str | bytes) -> str:
        """Keep a text; its digest, also where it could not be kept."""
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        digest = hashlib.sha256(data).hexdigest()
        if len(data) > self._max_blob:
            return digest
        path = self._path(digest)
        try:
            if path.exists():
                os.utime(path)  # used again: pruned later
            else:
                private_folder(path.parent)
                self._write(path, data)
        except OSError as error:
            if not self._told:
                self._told = True
                self._tell(
                    f"What files held before an edit cannot be kept in {str(self.folder)!r} "
                    f"({error.strerror or error}), so these edits cannot be undone; mend the disk."
                )
        return digest

    def get(self, digest: str) -> str | None:
        """The text of a digest; None if it is not kept, or no longer what it was."""
        data = self.get_bytes(digest)
        try:
            return None if data is None else data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None

    def get_bytes(self, digest: str) -> bytes | None:
        """As `get`, for content that may be no text."""
        if len(digest) != _DIGEST_LENGTH or not set(digest) <= set("0123456789abcdef"):
            return None
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def prune(self, max_bytes: int = 500 * 1024 * 1024, max_age_days: float = 30) -> int:
        """Drop what is older, then the oldest until the rest fits; the number of files dropped."""
        limit = time.time() - max_age_days * 86_400
        kept: list[tuple[float, int, Path]] = []
        dropped = 0
        for path in self._files():
            with contextlib.suppress(OSError):
                status = path.stat()
                if status.st_mtime < limit:
                    path.unlink()
                    dropped += 1
                else:
                    kept.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= max_bytes:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                dropped += 1
                total -= size
        return dropped

    def _files(self) -> list[Path]:
        try:
            return [path for folder in self.folder.iterdir() if folder.is_dir() for path in folder.iterdir()]
        except OSError:
            return []

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]

    def _write(self, path: Path, data: bytes) -> None:
        """Whole or not at all: a crash leaves no half text under a digest."""
        new = path.with_name(f"new-{uuid4().hex}")
        try:
            descriptor = os.open(
                new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise
