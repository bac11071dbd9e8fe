"""Completion of `/commands` and `@files` while a message is typed, and the files a message names."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_AT = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")
_NAMED = re.compile(r"(?:^|(?<=\s))@(\S+)")
_MOST = 200
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


def complete(before: str, commands: Mapping[str, str], folder: Path) -> Iterator[tuple[str, int, str]]:
    """(text, characters it replaces, explanation) for what may stand at the end of `before`."""
    if before.startswith("/") and not re.search(r"\s", before):
        for name, description in sorted(commands.items()):
            if name.startswith(before[1:]):
                yield f"/{name}", len(before), description
    elif match := _AT.search(before):
        for path in _paths(match[1], folder):
            yield path, len(match[1]), ""


def named_files(text: str, folder: Path) -> list[str]:
    """The existing files that a message names with `@`, as they are written there."""
    names = (match[1].rstrip(".,;:!?)") for match in _NAMED.finditer(text))
    return list(dict.fromkeys(name for name in names if name and (folder / name).exists()))


def _paths(typed: str, folder: Path) -> list[str]:
    head, slash, start = typed.rpartition("/")
    try:
        with os.scandir(folder / f"{head}{slash}") as entries:
            found = [
                f"{head}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
                for entry in entries
                if entry.name.startswith(start)
                and entry.name not in _SKIPPED
                and (start.startswith(".") or not entry.name.startswith("."))
            ]
    except OSError:
        return []
    return sorted(found)[:_MOST]
