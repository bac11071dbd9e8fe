"""What the tools for files share: the text of a file, with errors that name it as the model does."""

import asyncio
import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from magent_lsp.core.document import Document
from magent_lsp.core.errors import MissingError, ToolError
from magent_lsp.core.tool import ToolContext
from magent_lsp.tools.paths import relative

P = ParamSpec("P")
T = TypeVar("T")

SMALL = 50_000
"""Characters of a text up to which work on it is done at once; beyond it a thread does it."""


async def read(path: Path, context: ToolContext) -> Document:
    """The text of a file; MissingError names files that may be meant."""
    try:
        return await context.editor.read(path)
    except MissingError:
        name = relative(path, context.folder)
        near = await asyncio.to_thread(_similar, path)
        hint = f" Did you mean {relative(path.parent / near, context.folder)!r}?" if near else ""
        raise MissingError(f"There is no file {name!r}.{hint}") from None
    except ToolError as error:
        text = str(error).replace(repr(str(path)), repr(relative(path, context.folder)))
        raise type(error)(text) from error


async def real(path: Path) -> Path:
    """Where the path leads now, to be judged and written."""
    return Path(await asyncio.to_thread(os.path.realpath, path))


async def work(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function on a text of `size` characters, so that the event loop stays free."""
    if size <= SMALL:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


def _similar(path: Path) -> str | None:
    try:
        names = [entry.name for entry in list(os.scandir(path.parent))[:2000]]
    except OSError:
        return None
    return next(iter(difflib.get_close_matches(path.name, names, n=1, cutoff=0.7)), None)
