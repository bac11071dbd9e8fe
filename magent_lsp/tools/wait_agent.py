"""`wait_agent`: the result of a subagent that works in the background."""

from pydantic import BaseModel, Field

from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.message_agent import agents_of


class Input(BaseModel):
    """Arguments of `wait_agent`."""

    agent: str = Field(min_length=1)
    timeout: float | None = Field(None, gt=0, le=86_400, description="Seconds.")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return await agents_of(context).wait(input.agent, input.timeout, context.report)


TOOL = Tool(
    name="wait_agent",
    description="Wait for a background agent and get its latest result.",
    input=Input,
    kind="other",
    run=_run,
    subjects=lambda input: (Subject(tool="wait_agent", kind="name", value=input.agent),),
    title=lambda input: f"Wait for {input.agent}",
    side_by_side=True,
)
