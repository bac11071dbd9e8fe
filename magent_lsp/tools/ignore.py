"""What `.gitignore` files leave out, with the rules of git."""

import os
from collections.abc import Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

ALWAYS = frozenset({".git", "node_modules"})
"""Never walked into, unless the walk begins there."""

_MAX_BYTES = 1_000_000


class Ignored:
    """The ignore rules for one walk below `root`; reads each `.gitignore` once.

    Rules of folders above count up to the repository's root, or to `folder` if there is no repository; if
    they hide `root` itself, they are left aside, since it was asked for by name. A folder with a `.git` of
    its own begins anew, as for git.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._specs: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = {}
        self._folders: dict[str, bool] = {}
        self._depth = len(root.parts)
        self._top = self._find_top(root, folder)
        self.from_above = False
        """Whether rules of folders above the root count."""
        if self._top != root:
            if self._is_hidden(str(root), is_folder=True):
                self._top = root
                self._specs.clear()
                self._folders.clear()
            else:
                self.from_above = bool(self._rules(str(root.parent)))

    def hides(self, path: Path, *, is_folder: bool = False) -> bool:
        """Whether a file below the root is ignored, by itself or with a folder above it."""
        return any(name in ALWAYS for name in path.parts[self._depth :]) or self._is_hidden(
            str(path), is_folder=is_folder
        )

    def _is_hidden(self, path: str, *, is_folder: bool) -> bool:
        """From the top down, as a file in a hidden folder cannot be shown again."""
        top = str(self._top)
        start = len(top.rstrip(os.sep)) + 1
        if not path.startswith(top) or len(path) <= start:
            return False
        end = path.find(os.sep, start)
        while end >= 0:
            if self._hides_folder(path[:end]):
                return True
            end = path.find(os.sep, end + 1)
        return self._hides_folder(path) if is_folder else self.matches(path, is_folder=False)

    def _hides_folder(self, path: str) -> bool:
        if path not in self._folders:
            self._folders[path] = self.matches(path, is_folder=True)
        return self._folders[path]

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the rules hide this entry of a folder that is not hidden itself."""
        for base, spec in reversed(self._rules(os.path.dirname(path))):  # noqa: PTH120
            name = path[len(base) :].lstrip(os.sep).replace(os.sep, "/") + ("/" if is_folder else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False

    def _rules(self, folder: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        """The rules for the entries of a folder, innermost last."""
        known = self._specs.get(folder)
        if known is None:
            own = [Path(folder, ".gitignore")]
            is_repository = os.path.exists(own[0].with_name(".git"))  # noqa: PTH110 - never raises
            if is_repository:
                own.insert(0, Path(folder, ".git", "info", "exclude"))
            inherit = folder != str(self._top) and not is_repository
            inherited = self._rules(os.path.dirname(folder)) if inherit else ()  # noqa: PTH120
            known = (*inherited, *((folder, spec) for file in own if (spec := _read(file)) is not None))
            self._specs[folder] = known
        return known

    @staticmethod
    def _find_top(root: Path, folder: Path) -> Path:
        for place in (root, *root.parents):
            if os.path.exists(place / ".git"):  # noqa: PTH110 - never raises
                return place
        return folder if root.is_relative_to(folder) else root


def walk(root: Path, ignored: Ignored) -> Iterator[os.DirEntry[str]]:
    """All files below a folder that are not ignored, by name; links are left out, not followed."""
    stack = [iter(_entries(str(root), ignored))]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif entry.is_dir(follow_symlinks=False):
            stack.append(iter(_entries(entry.path, ignored)))
        else:
            yield entry


def _entries(folder: str, ignored: Ignored) -> list[os.DirEntry[str]]:
    """Folders and plain files of a folder that are not ignored, by name."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        entry
        for entry in found
        if entry.name not in ALWAYS
        and ((is_folder := entry.is_dir(follow_symlinks=False)) or entry.is_file(follow_symlinks=False))
        and not ignored.matches(entry.path, is_folder=is_folder)
    ]


def _read(file: Path) -> GitIgnoreSpec | None:
    try:
        if file.stat().st_size > _MAX_BYTES:
            return None
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    rules = [line for line in lines if line.strip() and not line.startswith("#")]
    try:
        return GitIgnoreSpec.from_lines(rules) if rules else None
    except ValueError:  # one bad line must not cost the others
        return GitIgnoreSpec.from_lines([rule for rule in rules if _is_valid(rule)])


def _is_valid(rule: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([rule])
    except ValueError:
        return False
    return True
