"""`diagnostics`: problems that the editor knows of."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from magent_lsp.core.request import Diagnostic
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.output import cut_line
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.view import View, subjects

NO_PROBLEMS = "No problems are known to the editor."
_MOST = 100
_ORDER = ("error", "warning", "information", "hint")


class Input(BaseModel):
    """Arguments of `diagnostics`."""

    path: str | None = None


def _subjects(input: Input) -> tuple[Subject, ...]:
    return () if input.path is None else subjects(input.path, "diagnostics")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    path = None
    if input.path is not None:
        path = await asyncio.to_thread(resolve, input.path, context.folders)
    found = await context.editor.diagnostics(path)
    return await asyncio.to_thread(_result, found, path, context)


def _result(found: Sequence[Diagnostic], path: Path | None, context: ToolContext) -> ToolResult:
    view = View(context, path or context.folder, "diagnostics")
    ordered = sorted(
        (each for each in found if view.shows(each.path)),
        key=lambda each: (_ORDER.index(each.severity), each.path.parts, each.span, each.message),
    )
    lines = [_line(each, context.folder) for each in ordered[:_MOST]]
    if len(ordered) > _MOST:
        lines.append(f"({len(ordered) - _MOST} more)")
    return ToolResult(text="\n".join(lines) or NO_PROBLEMS)


def _line(each: Diagnostic, folder: Path) -> str:
    place = f"{relative(each.path, folder)}:{each.span.start.line + 1}:{each.span.start.column + 1}"
    origin = " ".join(part for part in (each.source, each.code) if part)
    message = cut_line(" ".join(each.message.split()))
    return f"{place}: {each.severity}: {message}{f' [{origin}]' if origin else ''}"


TOOL = Tool(
    name="diagnostics",
    description="Errors and warnings of the editor's language servers, for a file or all.",
    input=Input,
    kind="read",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"Check {input.path or 'the workspace'}",
)
