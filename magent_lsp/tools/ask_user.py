"""`ask_user`: a question that only the person can answer."""

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Question
from magent_lsp.core.tool import Tool, ToolContext, ToolResult

NOBODY = "Nobody can be asked here. Decide yourself, say what you assumed, and go on."
SILENCE = "The user did not answer. Decide yourself, say what you assumed, and go on."
_MOST = 12


class Input(BaseModel):
    """Arguments of `ask_user`."""

    question: str = Field(min_length=1)
    options: list[str] = Field([], description="Answers to choose from, the recommended one first.")
    multiple: bool = Field(False, description="Several may be chosen.")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    options = tuple(dict.fromkeys(option.strip() for option in input.options))
    if not input.question.strip() or not all(options):
        raise ToolError("The question and every option must say something.")
    if len(options) > _MOST:
        raise ToolError(f"{len(options)} options are too many; {_MOST} at most, or ask without options.")
    if context.ask is None:
        return ToolResult(text=NOBODY)
    title, _, rest = input.question.strip().partition("\n")
    answer = await context.ask(
        Question(
            title=title, message=rest.strip(), options=options, multiple=input.multiple and bool(options)
        )
    )
    values = [value for value in answer.values if value.strip()] if answer is not None else []
    if not values:
        return ToolResult(text=SILENCE)
    chosen = "chose" if all(value in options for value in values) else "answered"
    return ToolResult(text=f"The user {chosen}: {', '.join(values) if options else values[0]}")


TOOL = Tool(
    name="ask_user",
    description=(
        "Ask the user and wait. Only for what the files cannot tell and a wrong guess would cost work."
    ),
    input=Input,
    kind="other",
    run=_run,
    title=lambda input: f"Ask: {_short(input.question)}",
)


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 60 else f"{line[:59]}…"
