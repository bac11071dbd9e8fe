"""`skill`: load instructions for a kind of task."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult


class Input(BaseModel):
    """Arguments of `skill`."""

    name: str = Field(min_length=1)
    arguments: str = ""


async def _run(input: Input, context: ToolContext) -> ToolResult:
    if context.load_skill is None:
        raise ToolError("No skills are available here; go on without.")
    return context.load_skill(input.name, input.arguments)


TOOL = Tool(
    name="skill",
    description="Load a skill's instructions, when the task fits its description; then follow them.",
    input=Input,
    kind="think",
    run=_run,
    subjects=lambda input: (Subject(tool="skill", kind="name", value=input.name),),
    title=lambda input: f"Load skill {input.name}",
)
