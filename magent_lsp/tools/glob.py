"""`glob`: files by name."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools import globs
from magent_lsp.tools.ignore import Ignored
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.search import find_rg, list_files
from magent_lsp.tools.view import View, subjects

_MOST = 200


class Input(BaseModel):
    """Arguments of `glob`."""

    pattern: str = Field(description="Such as `**/*.py` or `src/*.{ts,tsx}`.")
    path: str = "."


def _subjects(input: Input) -> tuple[Subject, ...]:
    return subjects(input.path, "glob")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return await find(input, context, find_rg)


async def find(input: Input, context: ToolContext, rg: Callable[[dict[str, str]], str | None]) -> ToolResult:
    """The result, with a given way to find ripgrep."""
    root = await asyncio.to_thread(resolve, input.path, context.folders)
    matches = globs.matcher(_below(input.pattern, root))
    ignored = await asyncio.to_thread(_rules, input.path, root, context.folder)
    env = context.environment()
    names = await list_files(root, rg=await asyncio.to_thread(rg, env), env=env, ignored=ignored)
    return await asyncio.to_thread(_result, names, matches, root, ignored, context)


def _rules(asked: str, root: Path, folder: Path) -> Ignored:
    if not root.is_dir():
        raise ToolError(f"{asked!r} is no folder; leave `path` out to search the workspace folder.")
    return Ignored(root, folder)


def _below(pattern: str, root: Path) -> str:
    """The pattern relative to the root, if it was given as an absolute one."""
    if not pattern.startswith(("/", "~")):
        return pattern
    prefix = f"{root.as_posix().rstrip('/')}/"
    if not pattern.startswith(prefix):
        raise ToolError(
            f"The glob {pattern!r} is absolute; give its folder as `path` and the rest as `pattern`."
        )
    return f"./{pattern[len(prefix) :]}"


def _result(
    names: Sequence[str], matches: Callable[[str], bool], root: Path, ignored: Ignored, context: ToolContext
) -> ToolResult:
    view = View(context, root, "glob")
    found = [root / name for name in names if matches(name)]
    if ignored.from_above:
        found = [path for path in found if not ignored.hides(path)]
    times = {path: _time(path) for path in found}
    for document in view.unsaved():
        path = document.path
        if path not in times and matches(relative(path, root)) and not ignored.hides(path):
            times[path] = float("inf")
    shown: list[str] = []
    more = False
    for path in sorted(times, key=lambda path: (-times[path], path.parts)):
        if not view.shows(path):
            continue
        if more := len(shown) == _MOST:
            break
        shown.append(relative(path, context.folder))
    if not shown:
        return ToolResult(text="No file matches.")
    if more:
        shown.append(f"(the {_MOST} newest; more files match: use a narrower pattern)")
    return ToolResult(text="\n".join(shown))


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


TOOL = Tool(
    name="glob",
    description="Find files by name, newest first; without what .gitignore hides.",
    input=Input,
    kind="search",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"Find {input.pattern}",
)
