"""Paths as the model writes them, and as results name them."""

import os
from collections.abc import Sequence
from pathlib import Path

from magent_lsp.core.errors import ToolError
from magent_lsp.permissions.place import first_with, from_home


def resolve(path: str, folders: Sequence[Path]) -> Path:
    """The absolute, normalised path; links are not resolved, and the file need not exist.

    A relative path belongs to the first workspace folder that has it, else to the first folder: the guard
    reads it in the same way. Raises ToolError for an empty path, one with NUL or with half of a surrogate
    pair, and for the home of another person.
    """
    if not path.strip():
        raise ToolError("The path is empty; name a file or folder, '.' for the workspace folder.")
    if "\0" in path:
        raise ToolError(f"The path {path!r} holds a NUL character, which no file name can.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError(f"The path {path!r} holds half of a character, which no file name can.") from None
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is none
    expanded = from_home(path, home)
    found = first_with(expanded, folders, os.path.lexists)
    if found is None and expanded.startswith("~"):
        name = path.partition("/")[0]
        raise ToolError(
            f"The home that {name!r} may stand for is not looked up: write its whole path, or './{name}' for "
            "a name in the workspace."
        )
    return Path(os.path.normpath(folders[0] / expanded if found is None else found))


def relative(path: Path, folder: Path) -> str:
    """The name of a path for the model: relative to the folder, `/` as separator; absolute outside."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return path.as_posix()
