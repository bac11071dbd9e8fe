"""Text files on the disk: strict reading, and writing that compares before it swaps.

All functions block and are meant for a thread. They raise ToolError with a sentence for the model, StaleError
if the file is not what the caller thinks, MissingError if there is none. Whoever calls them for one path from
several tasks holds a lock of that path.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from magent_lsp.core.document import Document, Encoding
from magent_lsp.core.errors import MissingError, StaleError, ToolError
from magent_lsp.store.encoding import decode, encode
from magent_lsp.store.folder import FILE, Folder, hold, holding
from magent_lsp.store.replace import overwrite, swap, write_all

MAX_BYTES = 50 * 1024 * 1024
"""Larger files are refused before they are read."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A file that is open, in a folder that is held."""

    folder: Folder
    name: str
    descriptor: int
    status: os.stat_result
    data: bytes
    text: str
    encoding: Encoding


def real(path: Path) -> Path:
    """Where a path really leads; it need not exist. ToolError for links that lead in a circle."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise explain(error, path, "resolved") from error


def read(path: Path) -> Document:
    """The text of a file."""
    data = read_bytes(path)
    text, encoding = decode(data, str(path))
    return Document(path=path, text=text, origin="disk", encoding=encoding)


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes."""
    try:
        _regular(path.stat(), path, limit)
        descriptor = os.open(path, os.O_RDONLY | FILE & ~getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        raise explain(error, path, "read") from error
    with os.fdopen(descriptor, "rb") as stream:
        try:
            _regular(os.fstat(descriptor), path, limit)
            data = stream.read(limit + 1)
        except OSError as error:
            raise explain(error, path, "read") from error
    if len(data) > limit:
        raise _too_large(path, len(data), limit)
    return data


def write(path: Path, *, before: str, after: str, real_path: Path | None = None) -> None:
    """Replace the text of a file that still holds `before`; mode, links, encoding and BOM are kept.

    With `real_path`, StaleError if the path leads elsewhere by now.
    """
    place = _place(path, real_path)
    with _errors(path, "written"), holding(place.parent) as folder, _held(folder, place, path) as file:
        if file.text != before:
            raise StaleError(f"{str(path)!r} changed on disk since it was read. Nothing was changed.")
        if not file.status.st_mode & 0o222 or not os.access(place, os.W_OK):
            raise ToolError(
                f"{str(path)!r} is read-only; nothing was changed. Its mode must be changed first."
            )
        data = encode(after, file.encoding, str(path))
        if file.status.st_nlink > 1:
            overwrite(folder, file.name, file.data, data)
        else:
            swap(folder, file.name, file.status, file.data, data)


def create(path: Path, text: str, *, real_path: Path | None = None, mode: int | None = None) -> None:
    """Make a new file and the folders it needs; ToolError if the path exists."""
    if os.path.lexists(path):
        kind = "a link that leads nowhere" if path.is_symlink() and not path.exists() else "there already"
        raise ToolError(f"{str(path)!r} is {kind}; nothing was changed.")
    place = _place(path, real_path)
    data = encode(text, "utf-8", str(path))
    with _errors(path, "created"), holding(place.parent, create=True) as folder:
        descriptor = folder.open(place.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as stream:
                write_all(stream.fileno(), data)
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(stream.fileno(), mode & 0o777)
                os.fsync(stream.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                folder.unlink(place.name)
            raise
        folder.flush()


def delete(path: Path, *, before: str, real_path: Path | None = None) -> None:
    """Remove a file that still holds `before`."""
    place = _place(path, real_path)
    if path.is_symlink():
        raise ToolError(f"{str(path)!r} is a link; it is not deleted. Nothing was changed.")
    with _errors(path, "deleted"), holding(place.parent) as folder:
        with _held(folder, place, path) as file:
            if file.text != before:
                raise StaleError(f"{str(path)!r} changed since it was read; it was not deleted.")
        folder.unlink(place.name)
        folder.flush()


def rename(path: Path, target: Path, *, before: str) -> None:
    """Move a file that still holds `before`; ToolError if the target exists."""
    if path.is_symlink():
        raise ToolError(f"{str(path)!r} is a link; it is not moved. Nothing was changed.")
    place, goal = _place(path, None), _place(target, None)
    if os.path.lexists(target):
        raise ToolError(f"{str(target)!r} is there already; nothing was changed.")
    with (
        _errors(path, "moved"),
        holding(place.parent) as folder,
        holding(goal.parent, create=True) as into,
    ):
        with _held(folder, place, path) as file:
            if file.text != before:
                raise StaleError(f"{str(path)!r} changed since it was read; it was not moved.")
        folder.move(place.name, into, goal.name)
        folder.flush()
        into.flush()


def explain(error: OSError, path: Path, what: str) -> ToolError:
    """A failure of the system as a sentence; `what` is a participle such as `read`."""
    name = str(path)
    match error.errno:
        case errno.ENOENT:
            return MissingError(f"There is no file {name!r}.")
        case errno.EEXIST:
            return ToolError(f"{name!r} is there already; nothing was changed.")
        case errno.ENOTDIR:
            return ToolError(f"{name!r} cannot be {what}: a part of the path is a file, not a folder.")
        case errno.ELOOP:
            return ToolError(f"{name!r} cannot be {what}: its links changed or lead in a circle.")
        case errno.ENOSPC | errno.EDQUOT:
            return ToolError(f"{name!r} cannot be {what}: the disk is full. The file is as it was.")
        case errno.EFBIG:
            return ToolError(f"{name!r} cannot be {what}: it would be larger than allowed. It is as it was.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return ToolError(f"{name!r} cannot be {what}: permission denied.")
    return ToolError(f"{name!r} cannot be {what}: {error.strerror or error}.")


def _place(path: Path, real_path: Path | None) -> Path:
    place = real(path)
    if real_path is not None and place != real_path:
        raise StaleError(
            f"{str(path)!r} leads to {str(place)!r} by now, not to {str(real_path)!r} as it was judged. "
            "Nothing was changed."
        )
    return place


@contextlib.contextmanager
def _errors(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explain(error, path, what) from error


@contextlib.contextmanager
def _held(folder: Folder, place: Path, path: Path) -> Iterator[_Held]:
    _regular(folder.status(place.name), path, MAX_BYTES)
    descriptor = folder.open(place.name, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as stream:
        hold(descriptor)
        status = os.fstat(descriptor)
        _regular(status, path, MAX_BYTES)
        data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _too_large(path, len(data), MAX_BYTES)
        text, encoding = decode(data, str(path))
        yield _Held(
            folder=folder,
            name=place.name,
            descriptor=descriptor,
            status=status,
            data=data,
            text=text,
            encoding=encoding,
        )


def _regular(status: os.stat_result, path: Path, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        if stat.S_ISLNK(status.st_mode):
            raise StaleError(
                f"{str(path)!r} became a link while the change was decided. Nothing was changed."
            )
        more = " Use list_dir to see what is in it." if stat.S_ISDIR(status.st_mode) else ""
        raise ToolError(f"{str(path)!r} is {kind}, not a file.{more}")
    if status.st_size > limit:
        raise _too_large(path, status.st_size, limit)


def _too_large(path: Path, size: int, limit: int) -> ToolError:
    return ToolError(
        f"{str(path)!r} is too large ({size / 1_048_576:.1f} MB; at most {limit / 1_048_576:g} MB are read). "
        "Use grep, or bash with head, tail or sed, to see a part of it."
    )
