"""`done`: ends a run that was started on a place."""

from pydantic import BaseModel, Field

from magent_lsp.core.tool import Tool, ToolContext, ToolResult


class Input(BaseModel):
    """Arguments of `done`."""

    summary: str = Field(min_length=1, description="What changed, and what is left open.")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return ToolResult(text=input.summary.strip() or "Done.", done=True)


TOOL = Tool(
    name="done",
    description="Say that the change is made. Ends your work; call it last, and alone.",
    input=Input,
    kind="other",
    run=_run,
    title=lambda input: "Done",
)
