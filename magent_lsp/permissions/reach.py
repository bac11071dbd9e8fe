"""What a file that a command names reaches on the disk: whole folders, and links that a wildcard covers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from magent_lsp.permissions.file_use import FileUse
from magent_lsp.permissions.paths import Segment, compile_segment, name_matches
from magent_lsp.permissions.place import Disk, Map
from magent_lsp.permissions.words import Word

MAX_NAMES: Final = 10_000
"""Names that are compared with wildcards, in one judgement."""
MAX_FOLDERS: Final = 200
MAX_LINKS: Final = 60
"""Paths behind links that are looked at one by one."""

_FILE_NAME: Final = re.compile(r".*[^.].*\.(?!v?\d|d$)[A-Za-z]\w{0,6}")
"""A name that is one of a file rather than of a folder, where nobody can look."""


def reached(use: FileUse, folder: str, map: Map) -> FileUse | None:
    """The use as it is on this disk; None if it reads nothing there."""
    if not use.peers:
        return use
    kinds = {_is_folder(each, folder, map) for each in use.peers}
    folders = True in kinds and False not in kinds
    if use.loose and (not _all_there(use.peers, folder, map) or _in_repository(folder, map.place.disk)):
        return None
    return replace(use, deep=use.deep or folders)


def _is_folder(each: Word, folder: str, map: Map) -> bool | None:
    """None if there is nothing: `diff -N` takes it for an empty folder."""
    disk = map.place.disk
    if disk is not None and each.literal:
        path = Path(map.expand(each.text, folder))
        return disk.is_folder(path) if disk.has(path) else None
    return not _FILE_NAME.fullmatch(each.text.rstrip("/").rpartition("/")[2])


def _all_there(words: tuple[Word, ...], folder: str, map: Map) -> bool:
    """Whether these can be paths; if nobody can look, one must be spelled as such."""
    disk = map.place.disk
    if disk is None:
        return any(each.text in (".", "..") or each.text.endswith("/") for each in words)
    return all(not each.literal or disk.has(Path(map.expand(each.text, folder))) for each in words)


def _in_repository(folder: str, disk: Disk | None) -> bool:
    if disk is None:
        return False
    for above in (Path(folder), *Path(folder).parents):
        mark = above / ".git"
        if disk.has(mark / "HEAD") or (disk.has(mark) and not disk.is_folder(mark)):
            return True
    return False


def links_below(glob: str, folder: str, map: Map, *, dots: bool) -> list[str] | None:
    """The paths that a wildcard covers and that are links, or lie behind one; None: too many to look at."""
    key = (glob, folder, dots)
    if key not in map.links:
        try:
            map.links[key] = _Links(map=map, dots=dots).of(glob, folder)
        except _TooManyError:
            map.links[key] = None
    return map.links[key]


class _TooManyError(Exception):
    """A wildcard covers more than can be looked at."""


@dataclass(kw_only=True)
class _Links:
    """Walks along the folders that a wildcard covers."""

    map: Map
    dots: bool
    folders: int = 0
    found: list[str] = field(default_factory=list)

    def of(self, glob: str, folder: str) -> list[str]:
        """Those of one wildcard; raises _TooManyError."""
        disk = self.map.place.disk
        if disk is None:
            return []
        segments = [compile_segment(each) for each in glob.rstrip("/").split("/")]
        fixed = next((at for at, each in enumerate(segments) if not isinstance(each, str)), len(segments))
        start = "/".join(str(each) for each in segments[:fixed])
        root = self.map.expand(start or ("/" if glob.startswith("/") else "."), folder)
        self._walk(disk, Path(root), segments[fixed:], linked=False)
        return self.found

    def _walk(self, disk: Disk, at: Path, segments: list[Segment], *, linked: bool) -> None:
        if not segments:
            if linked:
                self.found.append(str(at))
                if len(self.found) > MAX_LINKS:
                    raise _TooManyError
            return
        first, rest = segments[0], segments[1:]
        if isinstance(first, str):
            self._walk(disk, at / first, rest, linked=linked or disk.is_link(at / first))
            return
        for name, link in self._matching(disk, at, first):
            if linked or link or rest:
                self._walk(disk, at / name, rest, linked=linked or link)

    def _matching(self, disk: Disk, at: Path, segment: Segment) -> Iterator[tuple[str, bool]]:
        self.folders += 1
        if self.folders > MAX_FOLDERS:
            raise _TooManyError
        hidden = self.dots or segment[:1] in (".", (".",))
        try:
            for name, link in disk.names(at):
                self.map.names_seen += 1
                if self.map.names_seen > MAX_NAMES:
                    raise _TooManyError
                if (hidden or not name.startswith(".")) and name_matches(segment, name):
                    yield name, link
        except OSError:
            return
