"""`message_agent`: say something to a subagent that was started in the background."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Agents, Proposal, Subject, Tool, ToolContext, ToolResult


class Input(BaseModel):
    """Arguments of `message_agent`."""

    agent: str = Field(min_length=1, description="Its name, such as explore-1.")
    message: str = Field(min_length=1)


def agents_of(context: ToolContext) -> Agents:
    """The agents that can be spoken to; ToolError if there can be none."""
    if context.agents is None:
        raise ToolError("Subagents are not available here; do the task yourself.")
    return context.agents


async def _run(input: Input, context: ToolContext) -> Proposal:
    agents = agents_of(context)

    async def act() -> ToolResult:
        return await agents.message(input.agent, input.message)

    # Whoever may not delegate to an agent may not give it work by another name either.
    kind = Subject(tool="delegate", kind="name", value=agents.kind(input.agent))
    return Proposal(title=_title(input), act=act, subjects=(kind,))


def _title(input: Input) -> str:
    return f"Message {input.agent}"


TOOL = Tool(
    name="message_agent",
    description="Tell a background agent more, or give it its next task; the result comes as a message.",
    input=Input,
    kind="other",
    run=_run,
    subjects=lambda input: (Subject(tool="message_agent", kind="name", value=input.agent),),
    title=_title,
)
