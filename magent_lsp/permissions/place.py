"""Where a run works, and what a path means there: by its text and by where its links lead."""

import os.path
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from magent_lsp.permissions.layers import PathItem

MAX_PATH: Final = 4_096
"""No longer path is opened by Linux or macOS, nor by what people have on Windows."""


def _same(path: Path) -> Path:
    return path


class Disk(Protocol):
    """What is there, as far as a judgement must know it."""

    def has(self, path: Path) -> bool:
        """Whether something is there, be it a link that leads nowhere."""
        ...

    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder, or a link to one."""
        ...

    def is_link(self, path: Path) -> bool:
        """Whether it is a link itself."""
        ...

    def names(self, path: Path) -> Iterator[tuple[str, bool]]:
        """The names in a folder, and whether each is a link; may raise OSError."""
        ...


def from_home(path: str, home: str) -> str:
    """A path with a leading `~` replaced; `~name` is a name like any other, for us and for our tools."""
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        return home + path[1:]
    return path


def first_with(path: str, folders: Sequence[Path], has: Callable[[Path], bool]) -> str | None:
    """A path in the first of the folders in which it is there; None: in none."""
    places = (os.path.join(folder, path) for folder in folders)  # noqa: PTH118  Path would drop a final `/`
    return next((each for each in places if has(Path(os.path.normpath(each)))), None)


@dataclass(frozen=True, kw_only=True)
class Place:
    """The surroundings of a run."""

    folders: tuple[Path, ...]
    """The workspace folders, as they were opened; each may be a link."""
    apart: tuple[Path, ...] = ()
    """Folders that are outside although they may lie in one of those."""
    cwd: Path
    """Where relative paths start and commands run."""
    home: Path
    resolve: Callable[[Path], Path] = _same
    """The real path, all links followed; may raise OSError."""
    disk: Disk | None = None
    """What is there; without it names alone must tell."""
    own: tuple[Path, ...] = ()
    """Our own config, state and trust files and folders."""
    case_insensitive: bool = False


@dataclass(frozen=True, kw_only=True)
class Form:
    """One reading of a path: as it is written, or where its links lead."""

    path: str
    item: PathItem
    outside: bool
    real: bool


@dataclass(frozen=True, kw_only=True)
class Located:
    """All readings of a path."""

    forms: tuple[Form, ...] = ()
    problem: str = ""
    """Why it cannot be located, as a sentence."""
    impossible: bool = False
    """Whether no file can have this path."""


class Map:
    """Locates paths in a place; remembers what it resolved, so make one for each judgement."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._resolved: dict[str, str | None] = {}
        self.links: dict[tuple[str, str, bool], list[str] | None] = {}
        """What wildcards cover, as it was found."""
        self.names_seen = 0
        """Names that were compared with wildcards."""
        self._home = names_of(str(place.home))
        self._roots: list[tuple[tuple[str, ...], ...]] | None = None
        self._apart: list[tuple[str, ...]] | None = None

    @property
    def roots(self) -> list[tuple[tuple[str, ...], ...]]:
        """Each workspace folder as it was opened and as it really is."""
        if self._roots is None:
            self._roots = [self._spellings(folder) for folder in self.place.folders]
        return self._roots

    @property
    def apart(self) -> list[tuple[str, ...]]:
        """All spellings of the folders that are outside."""
        if self._apart is None:
            self._apart = [each for folder in self.place.apart for each in self._spellings(folder)]
        return self._apart

    def _spellings(self, folder: Path) -> tuple[tuple[str, ...], ...]:
        opened = os.path.normpath(str(folder))
        real = self.real(str(folder))
        return tuple(dict.fromkeys(names_of(each) for each in (opened, real) if each is not None))

    def real(self, path: str) -> str | None:
        """The real path; None if it cannot be found out."""
        if path not in self._resolved:
            try:
                self._resolved[path] = str(self.place.resolve(Path(path)))
            except (OSError, ValueError, RuntimeError):
                self._resolved[path] = None
        return self._resolved[path]

    def expand(self, text: str, folder: str) -> str:
        """A path made absolute, not yet tidied."""
        home = str(self.place.home)
        for prefix in ("~", "$HOME", "${HOME}"):
            if text == prefix or text.startswith(f"{prefix}/"):
                return home + text[len(prefix) :]
        for prefix in ("$PWD", "${PWD}"):
            if text == prefix or text.startswith(f"{prefix}/"):
                text = "." + text[len(prefix) :]
        if folder == "~" or folder.startswith("~/"):
            folder = home + folder[1:]
        return os.path.join(folder, text)  # noqa: PTH118  Path would drop `.` and a final `/`

    def named(self, text: str) -> str:
        """A path that a tool is given, made absolute as the tool does: the first folder that has it."""
        path = from_home(text, str(self.place.home))
        folders, disk = self.place.folders, self.place.disk
        if disk is not None and len(folders) > 1 and not os.path.isabs(path):  # noqa: PTH117  it is a text
            found = first_with(path, folders, disk.has)
            if found is not None:
                return found
        return os.path.join(folders[0], path) if folders else self.expand(path, str(self.place.cwd))  # noqa: PTH118

    def locate(self, text: str, folder: str | None = None, *, tool: bool = False) -> Located:
        """Every reading of a path in a command that runs in a folder, or of one that a `tool` is given."""
        if not text or "\0" in text or len(text) > MAX_PATH:
            why = (
                "is empty"
                if not text
                else "holds a NUL"
                if "\0" in text
                else "is longer than any file system allows"
            )
            return Located(problem=f"The path {why}.", impossible=True)
        start = folder or str(self.place.cwd)
        written = self.named(text) if tool else self.expand(text, start)
        tidy = os.path.normpath(written)
        is_folder = text.endswith(("/", "/.", "/..")) or text in (".", "..", "~")
        candidates = [(tidy, False), (self.real(tidy), True)]
        if ".." in written:
            candidates.append((self.real(written), True))
        if not tool and text.startswith(("~", "$")):  # it may be quoted, and the name of a link
            quoted = os.path.normpath(os.path.join(start, text))  # noqa: PTH118  as above
            candidates += [(leads, True)] if (leads := self.real(quoted)) != quoted else []
        if any(path is None for path, _ in candidates):
            return Located(
                forms=(self.form(tidy, real=False, folder=is_folder),),
                problem=f"Where `{text[:200]}` leads cannot be found out.",
            )
        unique = {path: real for path, real in reversed(candidates) if path is not None}
        return Located(
            forms=tuple(
                self.form(path, real=real, folder=is_folder) for path, real in reversed(unique.items())
            )
        )

    def form(self, path: str, *, real: bool, folder: bool) -> Form:
        """One reading of a path as the rules see it."""
        names = names_of(path)
        relative, absolute = self.below(names)
        item = PathItem(
            absolute=absolute,
            relative=relative,
            home=self._home,
            folder=folder,
            fold=self.place.case_insensitive,
        )
        return Form(path=path, item=item, outside=not relative, real=real)

    def below(
        self, names: tuple[str, ...]
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
        """The path relative to each workspace folder that holds it, and all its absolute spellings."""
        relative: dict[tuple[str, ...], None] = {}
        absolute: dict[tuple[str, ...], None] = {names: None}
        for spellings in self.roots:
            for root in spellings:
                if names[: len(root)] == root and not self._is_apart(names, root):
                    rest = names[len(root) :]
                    relative[rest] = None
                    absolute.update((other + rest, None) for other in spellings)
        return tuple(relative), tuple(absolute)

    def _is_apart(self, names: tuple[str, ...], root: tuple[str, ...]) -> bool:
        """Whether a folder that is outside lies between a workspace folder and a path in it."""
        return any(
            len(each) > len(root) and is_below(self._folded(names), self._folded(each)) for each in self.apart
        )

    def _folded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str.casefold, names)) if self.place.case_insensitive else names


def names_of(path: str) -> tuple[str, ...]:
    """The names of an absolute path."""
    return tuple(part for part in path.replace(os.sep, "/").split("/") if part not in ("", "."))


def is_below(names: Sequence[str], root: Sequence[str]) -> bool:
    """Whether a path is a folder or lies in it."""
    return tuple(names[: len(root)]) == tuple(root)
