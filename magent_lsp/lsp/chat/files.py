"""The files of the workspace, as a message names them."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from magent_lsp.core.errors import ToolError

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

FRESH: Final = 10.0
"""Seconds for which a list of files is taken again."""


class Files:
    """The files of the workspace, listed anew when the list is old."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._listed = -FRESH
        self._lock = asyncio.Lock()

    async def names(self, edge: "Edge") -> Sequence[str]:
        """Their paths as a message names them."""
        async with self._lock:
            if time.monotonic() - self._listed > FRESH:
                self._names = await _list(edge)
                self._listed = time.monotonic()
        return self._names


def name_of(edge: "Edge", path: Path) -> str:
    """A path as a message names it: relative to the first workspace folder where it is inside."""
    folders = edge.app.folders
    if folders and path.is_relative_to(folders[0]):
        return path.relative_to(folders[0]).as_posix()
    return str(path)


async def _list(edge: "Edge") -> list[str]:
    # Tools are loaded with the first run, or when they are of use here.
    from magent_lsp.tools.ignore import Ignored
    from magent_lsp.tools.search import find_rg, list_files

    names: list[str] = []
    env = dict(edge.environ)
    rg = await edge.in_thread(find_rg, env)
    for folder in edge.app.folders:
        try:
            ignored = await edge.in_thread(Ignored, folder, folder)
            found = await list_files(folder, rg=rg, env=env, ignored=ignored)
        except ToolError:
            continue
        names += [name_of(edge, folder / name) for name in found]
    return names
