"""`open_buffers`: what the person has open and selected, for agents that are not told with a prompt."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from magent_lsp.core.document import Document
from magent_lsp.core.request import Focus
from magent_lsp.core.tool import READ, Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.paths import relative

_MOST = 200
_SELECTION = 10_000
"""Characters of the selection that are shown; the file can be read."""


class Input(BaseModel):
    """Arguments of `open_buffers`: none."""


async def _run(input: Input, context: ToolContext) -> ToolResult:
    documents = context.editor.documents()
    return await asyncio.to_thread(_result, documents, context.editor.selection(), context)


def _result(documents: Sequence[Document], selected: Focus | None, context: ToolContext) -> ToolResult:
    shown = [document for document in documents if _may_see(document.path, context)]
    lines = [f"Workspace folder: {folder}" for folder in context.folders]
    lines += [_line(document, context) for document in shown[:_MOST]]
    if len(shown) > _MOST:
        lines.append(f"({len(shown) - _MOST} more)")
    if not documents:
        lines.append("No file is open.")
    elif len(shown) < len(documents):
        lines.append(f"({len(documents) - len(shown)} that you may not read, or only after a question)")
    if selected is not None and _may_see(selected.path, context):
        lines.append(_selection(selected, context))
    return ToolResult(text="\n".join(lines))


def _may_see(path: Path, context: ToolContext) -> bool:
    return context.judge(Subject(tool=READ, kind="path", value=str(path))) == "allow"


def _line(document: Document, context: ToolContext) -> str:
    notes = [document.language, "not saved" if document.unsaved else ""]
    about = ", ".join(note for note in notes if note)
    return f"{relative(document.path, context.folder)}{f' ({about})' if about else ''}"


def _selection(selected: Focus, context: ToolContext) -> str:
    name, text = relative(selected.path, context.folder), selected.selection
    where = ""
    if selected.span is not None:
        where = f":{selected.span.start.line + 1}-{selected.span.end.line + 1}"
    cut = f"\n(cut; {len(text):,} characters in all)" if len(text) > _SELECTION else ""
    return f"\nSelected last: {name}{where}\n{text[:_SELECTION]}{cut}"


TOOL = Tool(
    name="open_buffers",
    description=(
        "What the user has open in the editor: the files, which of them are not saved, and the text they "
        "selected last, if the editor told."
    ),
    input=Input,
    kind="read",
    run=_run,
    title=lambda input: "Look at what is open",
)
