"""`list_agents`: the subagents that can be spoken to."""

from pydantic import BaseModel

from magent_lsp.core.tool import Tool, ToolContext, ToolResult
from magent_lsp.tools.message_agent import agents_of


class Input(BaseModel):
    """`list_agents` takes no arguments."""


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return ToolResult(text=agents_of(context).overview())


TOOL = Tool(
    name="list_agents",
    description="List the background agents of this workspace.",
    input=Input,
    kind="other",
    run=_run,
    title=lambda input: "List the agents",
)
