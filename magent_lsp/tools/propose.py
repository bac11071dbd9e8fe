"""`propose`: a text that the person may take, change or refuse."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Question
from magent_lsp.core.tool import Tool, ToolContext, ToolResult

ACCEPT, REJECT = "Accept", "Reject"
NOBODY = "Not answered: nobody can be asked here. Go on without it, and show the text in your answer."
SILENCE = "Not answered. Go on without it; do not treat it as accepted."
_MOST = 20_000


class Input(BaseModel):
    """Arguments of `propose`."""

    title: str = Field(min_length=1)
    content: str = Field(min_length=1)


async def _run(input: Input, context: ToolContext) -> ToolResult:
    if not input.title.strip() or not input.content.strip():
        raise ToolError("The title and the content must say something.")
    if len(input.content) > _MOST:
        raise ToolError(f"{len(input.content):,} characters are too many to decide on; {_MOST:,} at most.")
    if context.ask is None:
        return ToolResult(text=NOBODY)
    answer = await context.ask(
        Question(
            title=input.title.strip(),
            message=input.content,
            options=(ACCEPT, REJECT),
            default=input.content,
        )
    )
    said = answer.values[0].strip() if answer is not None and answer.values else ""
    if not said:
        return ToolResult(text=SILENCE)
    if said == REJECT:
        return ToolResult(text="Rejected. Do not use it; ask what should be different, or do something else.")
    if said in (ACCEPT, input.content.strip()):
        return ToolResult(text="Accepted as it is.")
    return ToolResult(text=f"Accepted with changes. The user's text, which counts from now on:\n{said}")


TOOL = Tool(
    name="propose",
    description=(
        "Show the user a text (commit message, name, design) to accept, edit or reject; it changes nothing "
        "by itself."
    ),
    input=Input,
    kind="other",
    run=_run,
    title=lambda input: f"Propose {input.title}",
)
