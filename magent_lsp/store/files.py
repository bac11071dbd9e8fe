"""Reading and writing the small files that people keep for us: bounded, strict about type, atomic."""

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.problems import UNTRUSTED, Problem

MAX_BYTES = 1_000_000
"""A larger file is not one that a person wrote for us."""
MAX_FILES = 2_000
MAX_FOLDERS = 2_000
MAX_DEPTH = 8


def read_bytes(path: Path, *, within: Path | None = None, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file; ConfigError says why it cannot be had.

    With `within`, a file whose real place is outside that folder is refused. FileNotFoundError passes.
    """
    try:
        if within is not None:
            check_within(path, within)
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "no regular file"
            raise ConfigError(f"this is {what}; it is skipped", path=path)
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError("this is no regular file; it is skipped", path=path)
            content = stream.read(limit + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError("this link leads nowhere; remove it or mend its target", path=path) from None
        raise
    except OSError as error:
        reason = "links lead in a circle" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise ConfigError(f"cannot be read: {reason}", path=path) from error
    if len(content) > limit:
        raise ConfigError(f"is larger than {limit:,} bytes; it is skipped", path=path)
    return content


Texts = Mapping[Path, str]
"""Texts of open buffers, which are looked at in place of what is on disk."""

NO_TEXTS: Texts = MappingProxyType({})


def read_text(path: Path, *, within: Path | None = None, texts: Texts = NO_TEXTS) -> str:
    """The text of a UTF-8 file, without its BOM; ConfigError as for `read_bytes`, or if it is not text."""
    if path in texts:
        return _checked(texts[path].removeprefix("\ufeff"), path)
    content = read_bytes(path, within=within)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8; save it in that encoding", path=path, line=line) from None
    return _checked(text, path)


def _checked(text: str, path: Path) -> str:
    if "\0" in text:
        raise ConfigError("holds a NUL character, so it is no text file", path=path)
    if len(text) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES:,} bytes; it is skipped", path=path)
    return text


def check_within(path: Path, folder: Path) -> None:
    """ConfigError if the real place of a path is not in the folder."""
    try:
        real, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):
        raise ConfigError("links lead in a circle", path=path) from None
    if real != root and root not in real.parents:
        raise ConfigError(f"leads out of the project by a link; it is skipped {UNTRUSTED}", path=path)


@dataclass
class Walk:
    """A bounded walk for files of one kind; order is by name, links to folders are followed once."""

    wanted: Callable[[str], bool]
    """Whether a file of this name is one."""
    recursive: bool = True
    within: Path | None = None
    """Refuse what leaves this folder by a link."""
    problems: list[Problem] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _count: int = 0

    def files(self, folder: Path, depth: int = 0) -> Iterator[Path]:
        """The files in the folder, and below it if recursive; a missing folder has none."""
        try:
            status = folder.stat()
            if not stat.S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in self._seen:
                return
            if len(self._seen) >= MAX_FOLDERS:
                return
            self._seen.add((status.st_dev, status.st_ino))
            if self.within is not None and (depth == 0 or folder.is_symlink()):
                check_within(folder, self.within)
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except ConfigError as error:
            self.problems.append(Problem(message=error.reason, path=folder, severity="error"))
            return
        except OSError as error:
            self.problems.append(Problem(message=f"cannot be read: {error.strerror}", path=folder))
            return
        for entry in entries:
            path = Path(entry.path)
            if _is_folder(entry):
                if self.recursive and depth < MAX_DEPTH and not entry.name.startswith("."):
                    yield from self.files(path, depth + 1)
            elif self.wanted(entry.name):
                self._count += 1
                if self._count == MAX_FILES + 1:
                    message = f"more than {MAX_FILES} files here; the rest is skipped"
                    self.problems.append(Problem(message=message, path=folder))
                if self._count > MAX_FILES:
                    return
                yield path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_markdown(name: str) -> bool:
    """Whether a file of this name may define an agent or a command; README.md is for people."""
    return name.endswith(".md") and not name.startswith(".") and name != "README.md"


def write_atomic(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file's text whole or not at all; a link stays a link, an existing file keeps its mode."""
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o644 if mode is None else mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file, so that two servers do not lose each other's change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("a+b") as stream:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if sys.platform == "win32":
                stream.seek(0)
                msvcrt.locking(stream.fileno(), msvcrt.LK_UNLCK, 1)
