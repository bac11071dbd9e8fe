"""A context for calling a tool by itself, over a real folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from magent_lsp.core.config import Settings
from magent_lsp.core.ports import Editor
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext, ToolResult, Verdict
from tests.support.editor import MemoryEditor


def context_for(
    *folders: Path,
    editor: Editor | None = None,
    judge: Callable[[Subject], Verdict] = lambda subject: "allow",
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> ToolContext:
    """All is allowed unless `judge` says otherwise; the environment is the test's own."""
    more.setdefault("environment", lambda: dict(os.environ))
    return ToolContext(
        folders=folders,
        session=Session(id="session", folder=folders[0], agent="build"),
        settings=Settings.model_validate(settings or {}),
        editor=editor or MemoryEditor(),
        judge=judge,
        **more,
    )


async def call(tool: Tool, context: ToolContext, **arguments: Any) -> ToolResult:
    """Validate, run, and carry out what is proposed, as the executor does once it is allowed."""
    outcome = await tool.run(parse(tool, **arguments), context)
    if isinstance(outcome, Proposal):
        assert outcome.act is not None
        outcome = await outcome.act()
    return outcome


def parse(tool: Tool, **arguments: Any) -> BaseModel:
    """The tool's input from the arguments as a model sends them."""
    return tool.input.model_validate(arguments)


def write(folder: Path, files: dict[str, str]) -> None:
    """Make files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
