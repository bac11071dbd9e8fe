"""`close_agent`: end a subagent that is not needed any more."""

from pydantic import BaseModel, Field

from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.message_agent import agents_of


class Input(BaseModel):
    """Arguments of `close_agent`."""

    agent: str = Field(min_length=1)


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return await agents_of(context).close(input.agent)


TOOL = Tool(
    name="close_agent",
    description="End a background agent that you need no longer.",
    input=Input,
    kind="other",
    run=_run,
    subjects=lambda input: (Subject(tool="close_agent", kind="name", value=input.agent),),
    title=lambda input: f"Close {input.agent}",
)
