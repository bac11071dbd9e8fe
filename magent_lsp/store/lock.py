"""One writer a session: a lock file that names its owner, and is taken over when the owner is dead."""

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from magent_lsp.core.errors import UserError

_FOREIGN_SECONDS: Final = 24 * 3600
"""An owner on another machine cannot be looked at; it counts as dead when it wrote nothing for this long."""


class SessionLocked(UserError):
    """Another process writes to the session."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who holds a lock."""

    pid: int
    host: str
    started: str
    """Start time of the process as the system tells it, so that a reused pid is not taken for it."""
    token: str

    @staticmethod
    def ours() -> "Owner":
        """A fresh owner in this process."""
        pid = os.getpid()
        return Owner(pid=pid, host=platform.node(), started=_start_time(pid), token=uuid4().hex)


class Lock:
    """Holds a session for this process until released."""

    def __init__(self, path: Path) -> None:
        """Take the lock at `path`; SessionLocked names the living process that holds it."""
        self.path = path
        self.owner = Owner.ours()
        with _exclusive(path) as descriptor:
            holder = _read(descriptor)
            if holder is not None and _alive(holder, path):
                raise SessionLocked(
                    f"Session {path.stem!r} is in use by process {holder.pid} on {holder.host!r}: "
                    "close it there, fork it, or open it to read only."
                )
            _write(descriptor, self.owner)

    def release(self) -> None:
        """Let others write; harmless if the lock was lost or its folder is gone."""
        with contextlib.suppress(OSError), _exclusive(self.path, create=False) as descriptor:
            if _read(descriptor) == self.owner:
                os.ftruncate(descriptor, 0)
                with contextlib.suppress(OSError):  # Windows keeps files that are open
                    self.path.unlink()


@contextlib.contextmanager
def _exclusive(path: Path, create: bool = True) -> Iterator[int]:
    """The lock file, open and held against all others for the moment in which its owner changes."""
    flags = os.O_RDWR | (os.O_CREAT if create else 0)
    deadline = time.monotonic() + 2
    while True:
        descriptor = os.open(path, flags, 0o600)
        try:
            _hold(descriptor, deadline)
            if _same_file(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)  # frees the hold


def _same_file(descriptor: int, path: Path) -> bool:
    """False if the previous owner removed the file between our opening and holding it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _hold(descriptor: int, deadline: float) -> None:
        while True:
            try:
                os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond the text: others may read it
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)
            else:
                return

else:
    import fcntl

    def _hold(descriptor: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)
            except OSError:  # a file system without locks: the owner's name must do
                return
            else:
                return


def _read(descriptor: int) -> Owner | None:
    """The owner that the file names; None for an empty file and for anything that is no owner."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        data = json.loads(os.read(descriptor, 4096))
        return Owner(pid=int(data["pid"]), host=data["host"], started=data["started"], token=data["token"])
    except (ValueError, KeyError, TypeError):
        return None


def _write(descriptor: int, owner: Owner) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(owner.__dict__).encode())


def _alive(holder: Owner, path: Path) -> bool:
    if holder.host != platform.node():
        written = [p.stat().st_mtime for p in (path, path.with_suffix(".jsonl")) if p.exists()]
        return time.time() - max(written, default=0) < _FOREIGN_SECONDS
    return is_running(holder)


def is_running(owner: Owner) -> bool:
    """Whether a process of this machine is the one that the owner names."""
    if not _runs(owner.pid):
        return False
    now = _start_time(owner.pid)
    return not (now and owner.started) or now == owner.started


def _runs(pid: int) -> bool:
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _start_time(pid: int) -> str:
    """Field 22 of Linux's stat, in clock ticks since boot, with the boot; empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return f"{stat.rpartition(')')[2].split()[19]}@{boot}"
