"""A folder held open, so that links swapped in behind our back cannot lead a write elsewhere."""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from magent_lsp.core.errors import StaleError

_HELD = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
"""Whether the system can work relative to an open folder; Windows cannot, and has no such links to fear."""

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
FILE = _NOFOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags for files: never through a link, never waiting for the other end of a pipe."""


LOCK_SECONDS = 1.0
"""How long a file that another program holds is waited for; then it is written without a lock."""


def hold(descriptor: int) -> None:
    """Keep our other processes from changing the open file until it is closed; others need not care."""
    if sys.platform == "win32":
        return
    import fcntl  # there is none on Windows

    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(0.005)
        except OSError:  # a file system without locks
            return
        else:
            return


class Folder:
    """One open folder; names are single path segments."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of a file in the folder."""
        return os.open(self._name(name), flags | FILE, mode, dir_fd=self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """The status of an entry; a link's own, not its target's."""
        if self._descriptor is None:
            return os.lstat(self._name(name))
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def replace(self, name: str, target: str) -> None:
        """Rename within the folder, over an existing file."""
        if self._descriptor is None:
            (self.path / name).replace(self.path / target)
        else:
            os.rename(name, target, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._name(name), dir_fd=self._descriptor)

    def move(self, name: str, to: "Folder", target: str) -> None:
        """Rename into another folder; FileExistsError if the target exists."""
        if self._descriptor is None or to._descriptor is None:
            (self.path / name).rename(to.path / target)  # Windows refuses an existing target by itself
            return
        mine, theirs = self._descriptor, to._descriptor
        try:
            os.link(name, target, src_dir_fd=mine, dst_dir_fd=theirs, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with contextlib.suppress(FileNotFoundError):
                to.status(target)
                raise FileExistsError(target) from None
            os.rename(name, target, src_dir_fd=mine, dst_dir_fd=theirs)
        else:
            self.unlink(name)

    def flush(self) -> None:
        """Have the folder's own entries written out, where that can be asked for."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)

    def _name(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)


@contextlib.contextmanager
def holding(path: Path, *, create: bool = False) -> Iterator[Folder]:
    """Open a folder by its real path, segment by segment, following no link.

    Raises StaleError if a segment is a link by now: the path was real when it was judged. With `create`,
    missing folders are made, and removed again if the block fails.
    """
    if not _HELD:
        if create:
            path.mkdir(parents=True, exist_ok=True)
        yield Folder(path, None)
        return
    made: list[tuple[int, str]] = []
    opened = [os.open(path.anchor, _FOLDER)]
    try:
        for segment in path.parts[1:]:
            opened.append(_enter(opened[-1], segment, path, made if create else None))
        yield Folder(path, opened[-1])
    except BaseException:
        for parent, segment in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(segment, dir_fd=parent)
        raise
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _enter(parent: int, segment: str, path: Path, made: list[tuple[int, str]] | None) -> int:
    try:
        return os.open(segment, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if made is None:
            raise
        os.mkdir(segment, dir_fd=parent)
        made.append((parent, segment))
        return os.open(segment, _FOLDER, dir_fd=parent)
    except OSError:
        with contextlib.suppress(OSError):
            kind = os.stat(segment, dir_fd=parent, follow_symlinks=False).st_mode
            if stat.S_ISLNK(kind):
                raise StaleError(
                    f"{segment!r} in {str(path)!r} became a link while the change was decided. "
                    "Nothing was changed."
                ) from None
        raise
