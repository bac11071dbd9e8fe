"""Putting new bytes in the place of a file's old ones, whole or not at all."""

import contextlib
import os
import secrets
import sys

from magent_lsp.core.errors import StaleError
from magent_lsp.store.folder import Folder


def swap(folder: Folder, name: str, status: os.stat_result, before: bytes, after: bytes) -> None:
    """Write a new file beside the old one and rename it over it; mode, owner and attributes are kept."""
    # The beginning of a long name is enough: names are limited to 255 bytes.
    temporary = f".{name[:40]}.{secrets.token_hex(6)}.tmp"
    try:
        descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except PermissionError:  # a file that we may write in a folder that we may not
        overwrite(folder, name, before, after)
        return
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            write_all(stream.fileno(), after)
            kept = _keep(folder, name, stream.fileno(), status)
            os.fsync(stream.fileno())
        if not kept:
            overwrite(folder, name, before, after)
            return
        _compare(folder, name, status, before)
        folder.replace(temporary, name)
    finally:
        with contextlib.suppress(OSError):
            folder.unlink(temporary)
    folder.flush()


def overwrite(folder: Folder, name: str, before: bytes, after: bytes) -> None:
    """Write into the file itself, for one with several names; room is claimed before a byte is changed."""
    descriptor = folder.open(name, os.O_RDWR)
    with os.fdopen(descriptor, "r+b", buffering=0) as stream:
        if stream.read(len(before) + 1) != before:
            raise StaleError(f"{name!r} changed while the change was made. Nothing was changed.")
        try:
            if len(after) > len(before):
                _claim(descriptor, before, after)
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, after)
            os.ftruncate(descriptor, len(after))
            os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.lseek(descriptor, 0, os.SEEK_SET)
                write_all(descriptor, before)
                os.ftruncate(descriptor, len(before))
                os.fsync(descriptor)
            raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a short write is gone on with, as a full disk shows itself in the next one."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _claim(descriptor: int, before: bytes, after: bytes) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, len(before), len(after) - len(before))
    else:
        os.lseek(descriptor, len(before), os.SEEK_SET)
        write_all(descriptor, bytes(len(after) - len(before)))


def _compare(folder: Folder, name: str, status: os.stat_result, before: bytes) -> None:
    """StaleError if the file is not the one that was read, or has other bytes by now."""
    with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as stream:
        now = os.fstat(stream.fileno())
        same = (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino)
        if not same or now.st_nlink != status.st_nlink or stream.read(len(before) + 1) != before:
            raise StaleError(f"{name!r} changed while the change was made. Nothing was changed.")


def _keep(folder: Folder, name: str, descriptor: int, status: os.stat_result) -> bool:
    """Give the new file the old one's owner, mode and attributes; False if it cannot have its owner."""
    if sys.platform == "win32":
        return True
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except OSError:
            return False
    os.fchmod(descriptor, status.st_mode & 0o7777)
    if sys.platform == "linux":
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as old, contextlib.suppress(OSError):
            for attribute in os.listxattr(old.fileno()):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(old.fileno(), attribute))
    return True
