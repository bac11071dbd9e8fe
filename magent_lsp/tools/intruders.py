"""What a sandboxed command must not leave in the workspace: files that run code outside of it later.

Those that are there already are mounted read-only. A mount for one that is not there yet would leave an
empty file behind, so new ones are found after the command and taken out of the workspace.
"""

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from magent_lsp.permissions.protected import OPEN, protected_name
from magent_lsp.tools.ignore import ALWAYS

MOST_ENTRIES: Final = 200_000
"""Looked at in one walk, those near the top first."""
MOST_MOUNTS: Final = 300
MOST_MODULES: Final = 500

_GIT_PARTS: Final = ("config", "config.worktree", "commondir", "hooks")
_PLAIN_CONFIG: Final = re.compile(
    r"""\s*(?:[#;].*)?
    | \[(?:core|init)\] | \[(?:remote|branch)\ "[^"\\]*"\]
    | \s*(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks
          |defaultbranch|fetch|merge|remote|rebase|worktree)\s*=\s*[^\s"\\#;]+
    | \s*url\s*=\s*(?:https?://|ssh://|git@|/)[^\s"\\]+""",
    re.VERBOSE | re.IGNORECASE,
)
"""Lines that `git init` and `git clone` write, which run nothing."""

Stamp = tuple[int, int, int]
"""Device, inode and, of links, the time of change: what tells one file from another in its place."""


class Guard:
    """Knows what was there before a command, and clears away what came with it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._before: set[Stamp] = set()
        self._links: dict[Path, str] = {}
        self.pinned: list[Path] = []
        """Folders that are written to, but must stay where they are."""
        self.kept: list[Path] = []
        """What must stay as it is."""
        for path, status in _protected(folders):
            self._before.add(_stamp(status))
            if stat.S_ISLNK(status.st_mode):
                with contextlib.suppress(OSError):
                    self._links[path] = str(path.readlink())
            elif len(self.pinned) + len(self.kept) < MOST_MOUNTS:
                folder = path.name == ".git" and stat.S_ISDIR(status.st_mode)
                (self.pinned if folder else self.kept).append(path)

    def clear(self, held: Path | None) -> str:
        """Take new ones out of the workspace, into `held`; returns a note that names them, or nothing."""
        gone: list[str] = []
        where = held / f"held-{secrets.token_hex(4)}" if held is not None else None
        for path, status in list(_protected(self._folders)):
            if _stamp(status) in self._before or is_plain(path):
                continue
            with contextlib.suppress(FileNotFoundError):  # it went with a folder above it
                target = _take_away(path, where, len(gone))
                gone.append(f"{_name(path, self._folders)} (now {target})")
        for path, link in self._links.items():
            if not os.path.lexists(path):
                with contextlib.suppress(OSError):
                    path.symlink_to(link)
        if not gone:
            return ""
        return (
            f"[Taken out of the workspace, because it would run code outside the sandbox: {', '.join(gone)}. "
            "If it is wanted, write it with write_file, which asks for it.]"
        )


def _stamp(status: os.stat_result) -> Stamp:
    """A link is known by its time too: it is not mounted, so another may get its inode."""
    return (status.st_dev, status.st_ino, status.st_ctime_ns if stat.S_ISLNK(status.st_mode) else 0)


def _protected(folders: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below the folders that decides what runs later, those near the top first."""
    todo = deque(folders)
    seen = 0
    while todo and seen < MOST_ENTRIES:
        for entry in _scan(todo.popleft()):
            seen += 1
            with contextlib.suppress(OSError):
                if may_matter(entry.name) and protected_name((entry.name,)) is not None:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
                    if entry.name == ".git":
                        yield from _git_parts(Path(entry.path))
                elif entry.name not in ALWAYS and entry.is_dir(follow_symlinks=False):
                    todo.append(Path(entry.path))


def may_matter(name: str) -> bool:
    """A quick look that spares most names the thorough one."""
    return name[0] in ".gGcC" or not name.isascii()


def _git_parts(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """What in a `.git` folder, and in those of its submodules, says which programs git runs."""
    todo = [folder]
    for _ in range(MOST_MODULES):
        if not todo:
            return
        each = todo.pop()
        for name in _GIT_PARTS:
            with contextlib.suppress(OSError):
                yield each / name, (each / name).lstat()
        modules = each / "modules" if each == folder or (each / "HEAD").exists() else each
        todo += [Path(entry.path) for entry in _scan(modules) if entry.is_dir(follow_symlinks=False)]


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def is_plain(path: Path) -> bool:
    """Whether it is no more than what `git init` or `git clone` makes, or plans: it runs nothing."""
    if path.is_symlink():
        return False
    if path.name == "hooks":
        return all(entry.name.endswith(".sample") for entry in _scan(path))
    if path.name == "config":
        return all(map(_PLAIN_CONFIG.fullmatch, _lines(path)))
    if path.name == OPEN[0]:
        return path.is_dir() and [(each.name, each.is_symlink()) for each in _scan(path)] == [
            (OPEN[1], False)
        ]
    if path.name != ".git":
        return False
    folder = path if path.is_dir() else _points_to(path)
    return folder is not None and all(is_plain(part) for part, _ in _git_parts(folder))


def _points_to(path: Path) -> Path | None:
    """The folder of a submodule that a `.git` file names, if it lies in the `.git` of the workspace."""
    lines = _lines(path)
    name = lines[0].removeprefix("gitdir: ") if len(lines) == 1 else ""
    folder = Path(os.path.realpath(path.parent / name))
    return folder if name and ".git" in folder.parts and "modules" in folder.parts else None


def _lines(path: Path) -> list[str]:
    """The lines of a small file; one that cannot be read has a line that nothing matches."""
    try:
        with path.open("rb") as file:
            return file.read(100_000).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ["\0"]


def _take_away(path: Path, where: Path | None, number: int) -> Path:
    """Move it out of the workspace; if that cannot be done, give it a name that means nothing."""
    if where is not None:
        try:
            where.mkdir(parents=True, exist_ok=True, mode=0o700)
            return Path(shutil.move(path, where / f"{number}{path.name}"))
        except (OSError, shutil.Error):
            if not os.path.lexists(path):
                raise FileNotFoundError(path) from None
    target = path.with_name(f"held{path.name}-{secrets.token_hex(4)}")
    return path.rename(target)


def _name(path: Path, folders: Sequence[Path]) -> str:
    return next((str(path.relative_to(each)) for each in folders if path.is_relative_to(each)), str(path))
