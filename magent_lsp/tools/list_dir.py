"""`list_dir`: the entries of a folder."""

import asyncio
import os
from collections import deque
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.ignore import ALWAYS, Ignored
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.view import View, subjects

_MOST = 500


class Input(BaseModel):
    """Arguments of `list_dir`."""

    path: str = "."
    depth: int = Field(1, ge=1, le=20, description="Levels of folders.")


def _subjects(input: Input) -> tuple[Subject, ...]:
    return subjects(input.path, "list_dir")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return await asyncio.to_thread(_list, input, context)


def _list(input: Input, context: ToolContext) -> ToolResult:
    root = resolve(input.path, context.folders)
    if not root.exists():
        raise ToolError(f"There is no folder {input.path!r}.")
    if not root.is_dir():
        raise ToolError(f"{input.path!r} is a file, not a folder; use read_file.")
    view, ignored = View(context, root, "list_dir"), Ignored(root, context.folder)
    lines: list[tuple[tuple[str, ...], str]] = []
    hidden = left = 0
    todo = deque([(root, 1)])
    while todo and not left:
        folder, level = todo.popleft()
        for entry in _scan(folder, root):
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if not view.shows(path):
                continue
            if entry.name == ".git" or ignored.matches(entry.path, is_folder=is_folder):
                hidden += entry.name != ".git"
                continue
            if len(lines) == _MOST:
                left += 1
                continue
            lines.append((path.parts, _line(entry, relative(path, context.folder), is_folder)))
            if is_folder and level < input.depth and entry.name not in ALWAYS:
                todo.append((path, level + 1))
    lines += [
        (document.path.parts, f"{relative(document.path, context.folder)} (not yet saved)")
        for document in view.unsaved()
        if len(document.path.parts) - len(root.parts) <= input.depth and not document.path.exists()
    ]
    return ToolResult(text=_text([line for _, line in sorted(lines)], hidden, left))


def _scan(folder: Path, root: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if folder == root:
            raise ToolError(f"The folder cannot be read: {error}.") from error
        return []


def _line(entry: os.DirEntry[str], name: str, is_folder: bool) -> str:
    if entry.is_symlink():
        return f"{name} -> {Path(entry.path).readlink()}"
    return f"{name}/" if is_folder else name


def _text(lines: list[str], hidden: int, left: int) -> str:
    notes = [] if lines else ["(empty)"]
    if left:
        notes.append(f"(at least {left} more; list a folder below, or with a smaller depth)")
    if hidden:
        notes.append(f"(left out: {hidden} ignored by .gitignore)")
    return "\n".join([*lines, *notes])


TOOL = Tool(
    name="list_dir",
    description="List a folder, one path a line, folders with a trailing `/`; without what .gitignore hides.",
    input=Input,
    kind="search",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"List {input.path}",
)
