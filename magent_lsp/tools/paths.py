"""Paths as the model writes them, and as results name them."""

import os
from collections.abc import Sequence
from pathlib import Path

from magent_lsp.core.errors import ToolError


def resolve(path: str, folders: Sequence[Path]) -> Path:
    """The absolute, normalised path; links are not resolved, and the file need not exist.

    A relative path belongs to the first workspace folder that has it, else to the first folder.
    Raises ToolError for an empty path, one with NUL or with half of a surrogate pair.
    """
    if not path.strip():
        raise ToolError("The path is empty; name a file or folder, '.' for the workspace folder.")
    if "\0" in path:
        raise ToolError(f"The path {path!r} holds a NUL character, which no file name can.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError(f"The path {path!r} holds half of a character, which no file name can.") from None
    expanded = os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for an unknown ~name
    places = [Path(os.path.normpath(folder / expanded)) for folder in folders]
    return next((place for place in places if os.path.lexists(place)), places[0])


def relative(path: Path, folder: Path) -> str:
    """The name of a path for the model: relative to the folder, `/` as separator; absolute outside."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return path.as_posix()
