"""A context for the tools that read and edit, over a real folder and the disk editor."""

from pathlib import Path

from magent_lsp.core.config import Settings
from magent_lsp.core.edits import EditOutcome
from magent_lsp.core.ports import Editor
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Proposal, Tool, ToolContext, ToolResult
from magent_lsp.headless.editor import DiskEditor


def context_at(folder: Path, editor: Editor | None = None, session: Session | None = None) -> ToolContext:
    """A context whose only workspace folder is `folder`."""
    return ToolContext(
        folders=(folder,),
        session=session or Session(id="s", folder=folder, agent="build"),
        settings=Settings(),
        editor=editor or DiskEditor(),
        judge=lambda subject: "allow",
    )


async def call(tool: Tool, context: ToolContext, **arguments: object) -> ToolResult | Proposal:
    """Run a tool as the executor does, without asking; what it saw is kept in the session."""
    outcome = await tool.run(tool.input.model_validate(arguments), context)
    if isinstance(outcome, ToolResult):
        for path, digest in outcome.seen:
            context.session.seen[str(path)] = digest
    return outcome


async def change(tool: Tool, context: ToolContext, **arguments: object) -> EditOutcome:
    """Run a tool that proposes an edit, and apply the edit."""
    proposal = await call(tool, context, **arguments)
    assert isinstance(proposal, Proposal)
    assert proposal.edit is not None
    outcome = await context.editor.apply(proposal.edit, proposal.title)
    if outcome.outcome == "applied":
        context.session.seen[str(outcome.path)] = (await context.editor.read(outcome.path)).digest
    return outcome
