"""Instructions for the model that people keep beside their code: AGENTS.md, CLAUDE.md and more."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.config_project import stays_inside
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import read_text
from magent_lsp.store.problems import Problem, from_error

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first that a folder has counts."""
MAX_CHARS = 40_000
"""Of one file; the rest is cut off."""
MAX_TOTAL = 120_000
MAX_MATCHES = 50
"""Files that one glob may add."""
MAX_ENTRIES = 20_000
"""Files and folders that one glob looks at."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One file's text, as the model gets it."""

    path: Path
    text: str


def load_instructions(
    folder: Path | None, file: Path | None, dirs: Dirs, globs: Sequence[str], trusted: bool
) -> tuple[Instruction, ...]:
    """The instructions for work on a file; see `find_instructions`, which also says what was wrong."""
    return find_instructions(folder, file, dirs, globs, trusted)[0]


def find_instructions(
    folder: Path | None, file: Path | None, dirs: Dirs, globs: Sequence[str], trusted: bool
) -> tuple[tuple[Instruction, ...], tuple[Problem, ...]]:
    """The user's, then the project's from its root down to the file's folder, then those of the globs.

    A link that leads out of the project is followed only at its root, and only if it is trusted; a
    glob that leaves the project must be absolute, as only the user's own settings may hold one.
    """
    problems: list[Problem] = []
    found: dict[Path, Instruction] = {}
    left = MAX_TOTAL
    for path, within in _candidates(folder, file, dirs, globs, trusted, problems):
        try:
            text = read_text(path, within=within).strip()
            real = path.resolve()
        except FileNotFoundError:
            continue
        except ConfigError as error:
            problems.append(from_error(error, path))
            continue
        if not text or real in found:
            continue
        if left <= 0:
            problems.append(
                Problem(message=f"instructions are longer than {MAX_TOTAL:,} characters; skipped", path=path)
            )
            continue
        limit = min(MAX_CHARS, left)
        if len(text) > limit:
            problems.append(Problem(message=f"only the first {limit:,} characters are used", path=path))
            text = f"{text[:limit]}\n[cut off here: {len(text) - limit} more characters]"
        left -= len(text)
        found[real] = Instruction(path=path, text=text)
    return tuple(found.values()), tuple(problems)


def _candidates(
    folder: Path | None,
    file: Path | None,
    dirs: Dirs,
    globs: Sequence[str],
    trusted: bool,
    problems: list[Problem],
) -> Iterator[tuple[Path, Path | None]]:
    """Files that may exist, each with the folder that its links must not leave."""
    yield from ((path, None) for path in _of_folder(dirs.user))
    if folder is not None:
        for level in _down_to(folder, file):
            within = None if trusted and level == folder else folder
            yield from ((path, within) for path in _of_folder(level))
    for glob in globs:
        yield from _matches(glob, folder, problems)


def _of_folder(folder: Path) -> Sequence[Path]:
    path = next((folder / name for name in NAMES if os.path.lexists(folder / name)), None)
    return () if path is None else (path,)


def _down_to(folder: Path, file: Path | None) -> Sequence[Path]:
    """The folder, and those below it on the way to the file."""
    levels = [folder]
    if file is not None and file.is_relative_to(folder):
        for part in file.parent.relative_to(folder).parts:
            levels.append(levels[-1] / part)
    return levels


def _matches(glob: str, folder: Path | None, problems: list[Problem]) -> Iterator[tuple[Path, Path | None]]:
    """The files of one glob, in the order of their names."""
    if not glob.strip() or "\0" in glob:
        problems.append(Problem(message=f"'instructions': {glob!r} is no glob; it is ignored"))
        return
    pattern = os.path.expanduser(glob)  # noqa: PTH111 - Path.expanduser raises for an unknown ~name
    absolute = PurePath(pattern).is_absolute()
    if not absolute and (folder is None or not stays_inside(glob)):
        if folder is not None:
            problems.append(
                Problem(message=f"'instructions': {glob!r} leaves the project; write it as an absolute path")
            )
        return
    path = Path(pattern) if absolute or folder is None else folder / pattern
    fixed = [part for part in _leading(path.parts)]
    base, rest = Path(*fixed), path.parts[len(fixed) :]
    within = None if absolute else folder
    if not rest:
        yield path, within
        return
    matched = sorted(_walk(base, "/".join(rest)))
    if len(matched) > MAX_MATCHES:
        problems.append(
            Problem(
                message=f"'instructions': {glob!r} matches more than {MAX_MATCHES} files; the rest is skipped"
            )
        )
    yield from ((found, within) for found in matched[:MAX_MATCHES])


def _leading(parts: Sequence[str]) -> Iterator[str]:
    """The parts before the first one that is a pattern."""
    for part in parts:
        if any(sign in part for sign in "*?["):
            return
        yield part


def _walk(base: Path, pattern: str) -> Iterator[Path]:
    """Files below a folder that match, within bounds; links to folders are not followed."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([f"/{pattern}"])
    deep = "**" in pattern
    depth = pattern.count("/")
    looked_at = 0
    for here, folders, files in os.walk(base):
        place = Path(here)
        relative = place.relative_to(base)
        looked_at += len(folders) + len(files)
        if looked_at > MAX_ENTRIES:
            return
        folders[:] = [] if not deep and len(relative.parts) >= depth else sorted({*folders} - _SKIPPED)
        yield from (place / name for name in files if spec.match_file((relative / name).as_posix()))
