"""Appends records to a session file as they happen."""

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

_MAX_PENDING: Final = 8 * 1024 * 1024
"""Bytes kept in memory while the disk takes nothing."""


class JournalFile:
    """An append-only file of lines; a write costs the same however long the file is, and never raises.

    The newline comes before each record, so that a record cut off by a crash spoils no other. What the disk
    does not take is kept and tried again with the next record; `tell` gets one sentence about it.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self.path = path
        self.written = 0
        """Bytes that were handed in so far."""
        self._tell = tell
        self._told = False
        self._pending: list[bytes] = []
        self._descriptor: int | None = None
        self._closed = False
        self._guard = threading.Lock()

    def append(self, line: bytes) -> None:
        """Write one record, which holds no newline."""
        with self._guard:
            if self._closed:
                return
            self._pending.append(line)
            self.written += len(line) + 1
            try:
                self._flush()
            except OSError as error:
                self._trouble(error)

    def sync(self) -> None:
        """Bring what was written to the disk; call it in a thread, at the end of a turn."""
        with self._guard:
            if self._closed or self._descriptor is None:
                return
            descriptor = os.dup(self._descriptor)  # `append` and `close` need not wait for the disk
        try:
            os.fsync(descriptor)
        except OSError as error:
            self._trouble(error)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Write what is pending, and take no more."""
        with self._guard:
            if self._closed:
                return
            with contextlib.suppress(OSError):
                self._flush()
            self._closed = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _flush(self) -> None:
        while self._pending:
            _write_all(self._open(), b"\n" + self._pending[0])
            del self._pending[0]

    def _open(self) -> int:
        if self._descriptor is None:
            private_folder(self.path.parent)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, 0o600)
        return self._descriptor

    def _trouble(self, error: OSError) -> None:
        while self._pending and sum(map(len, self._pending)) > _MAX_PENDING:
            del self._pending[0]
        if not self._told:
            self._told = True
            self._tell(
                f"The session cannot be written to {str(self.path)!r}: {error.strerror or error}. "
                "It goes on in memory; mend the disk, or what follows is lost when the program ends."
            )


def private_folder(path: Path) -> None:
    """Make a folder, and those above it, that only its owner can look into."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
