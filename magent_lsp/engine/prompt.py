"""What the model is told: a stable system prompt, and the facts of the moment in the user's turn."""

import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from magent_lsp.core.document import Document, line_starts, position_at, slice_span
from magent_lsp.core.errors import ToolError
from magent_lsp.core.messages import UserMessage
from magent_lsp.core.ports import Editor
from magent_lsp.core.request import Diagnostic, Focus, RunRequest, Scope
from magent_lsp.engine.run import Run
from magent_lsp.engine.scopes import line_numbers
from magent_lsp.store.instructions import Instruction

MAX_SELECTION = 20_000
"""Characters of a selection that are put into the prompt; more is read by the model itself."""


def system_prompt(run: Run, instructions: Sequence[Instruction]) -> str:
    """The agent's prompt and the project's instructions; the same bytes in every request of a session."""
    parts = [run.agent.prompt.strip()]
    for instruction in instructions:
        name, text = run.name_path(instruction.path), instruction.text.strip()
        parts.append(f'<instructions from="{name}">\n{text}\n</instructions>')
    return "\n\n".join(parts)


async def user_turn(run: Run, request: RunRequest, prompt: str) -> str:
    """The prompt with what the person was looking at; the first turn also says where we are."""
    facts: list[str] = []
    if not any(isinstance(m, UserMessage) and _has_context(m) for m in run.session.messages):
        facts.append(whereabouts(run))
    if request.focus is not None:
        facts += await _focus_facts(run, request.focus)
    unsaved = [run.name_path(document.path) for document in run.host.editor.documents() if document.unsaved]
    if unsaved:
        facts.append(f"Unsaved buffers (you read and edit the buffer's text): {', '.join(unsaved[:20])}")
    scope = run.scope
    if scope is not None and run.parent is None:
        facts.append(_scope_fact(run, scope))
    if request.extra:
        facts.append(request.extra)
    context = "<context>\n" + "\n".join(facts) + "\n</context>\n\n" if facts else ""
    return f"{context}{prompt}"


def whereabouts(run: Run) -> str:
    """Where and when the conversation takes place; told once, and again beside a summary."""
    today = date.today().isoformat()
    return f"Workspace folder: {run.session.folder}\nSystem: {platform.system()}; date: {today}"


def _has_context(message: UserMessage) -> bool:
    """Whether the facts were told with this message: not in a conversation that was only written down."""
    return message.synthetic or bool(message.said) or message.text.startswith("<context>")


async def _focus_facts(run: Run, focus: Focus) -> list[str]:
    language = f" ({focus.language})" if focus.language else ""
    facts = [f"File at hand: {run.name_path(focus.path)}{language}"]
    document = await _read(run.host.editor, focus.path)
    selection = focus.selection
    if document is not None and focus.span is not None:
        selection = selection or slice_span(document.text, focus.span)
        first, last = focus.span.start.line + 1, focus.span.end.line + 1
        if selection:
            facts.append(
                f"Selected lines {first}-{last}:\n{_fenced(selection[:MAX_SELECTION], focus.language)}"
            )
        else:
            facts.append(f"Cursor: line {first}, column {focus.span.start.column + 1}")
            facts.append(_fenced(_around(document, focus.span.start.line), focus.language))
    if focus.symbol:
        facts.append(f"Symbol at the cursor: {focus.symbol}")
    facts += [_diagnostic(run, diagnostic) for diagnostic in focus.diagnostics[:20]]
    return facts


async def _read(editor: Editor, path: Path) -> Document | None:
    try:
        return await editor.read(path)
    except ToolError:
        return None


def _around(document: Document, line: int, before: int = 10, after: int = 10) -> str:
    starts = line_starts(document.text)
    first = max(line - before, 0)
    start = starts[min(first, len(starts) - 1)]
    end = starts[line + after + 1] if line + after + 1 < len(starts) else len(document.text)
    number = position_at(document.text, start, starts).line + 1
    lines = document.text[start:end].splitlines()
    return "\n".join(f"{number + index}\t{text[:400]}" for index, text in enumerate(lines))


def _diagnostic(run: Run, diagnostic: Diagnostic) -> str:
    source = f" [{diagnostic.source}]" if diagnostic.source else ""
    where = f"{run.name_path(diagnostic.path)}:{diagnostic.span.start.line + 1}"
    return f"Diagnostic {where}: {diagnostic.severity}: {diagnostic.message}{source}"


def _scope_fact(run: Run, scope: Scope) -> str:
    where = run.name_path(scope.path) if scope.path else "the files of this workspace"
    if scope.span is not None:
        first, last = line_numbers(scope)
        where += f", lines {first}-{last} (they move with your edits)"
    return f"You may only edit: {where}. Call `done` when the change is made."


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
