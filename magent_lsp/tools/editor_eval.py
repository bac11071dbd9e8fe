"""`editor_eval`: code in the person's own editor; always asked."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext, ToolResult


class Input(BaseModel):
    """Arguments of `editor_eval`."""

    code: str = Field(min_length=1)


async def _run(input: Input, context: ToolContext) -> Proposal:
    if context.editor.language is None:
        raise ToolError("This editor runs no code for an agent.")

    async def act() -> ToolResult:
        return ToolResult(text=await context.editor.evaluate(input.code))

    return Proposal(title="Run code in your editor", act=act, command=input.code)


TOOL = Tool(
    name="editor_eval",
    description="Run code in the user's editor and get the printed value. The user is asked each time.",
    input=Input,
    kind="execute",
    run=_run,
    subjects=lambda input: (Subject(tool="editor_eval", kind="name", value=input.code),),
    title=lambda input: "Run code in your editor",
)
