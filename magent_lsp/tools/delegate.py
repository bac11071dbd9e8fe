"""`delegate`: give a task to a subagent."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult


class Input(BaseModel):
    """Arguments of `delegate`."""

    agent: str = Field(min_length=1)
    prompt: str = Field(min_length=1, description="The whole task; the agent sees nothing else.")
    background: bool = Field(False, description="Go on meanwhile; the result comes as a message.")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    if context.delegate is None:
        raise ToolError("Subagents are not available here; do the task yourself.")
    return await context.delegate(input.agent, input.prompt, input.background)


def _title(input: Input) -> str:
    line = input.prompt.strip().partition("\n")[0]
    return f"Delegate to {input.agent}: {line if len(line) <= 60 else line[:59] + '…'}"


TOOL = Tool(
    name="delegate",
    description=(
        "Give a self-contained task to a subagent and get its final answer; several calls in one reply run "
        "side by side."
    ),
    input=Input,
    kind="other",
    run=_run,
    subjects=lambda input: (Subject(tool="delegate", kind="name", value=input.agent),),
    title=_title,
    side_by_side=True,
)
