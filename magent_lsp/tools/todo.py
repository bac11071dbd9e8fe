"""`todo`: the agent's plan, for the person to see."""

from pydantic import BaseModel

from magent_lsp.core.errors import ToolError
from magent_lsp.core.session import Todo, TodoStatus
from magent_lsp.core.tool import Tool, ToolContext, ToolResult

_MOST = 20


class Item(BaseModel):
    """One step."""

    content: str
    status: TodoStatus


class Input(BaseModel):
    """Arguments of `todo`."""

    items: list[Item]


async def _run(input: Input, context: ToolContext) -> ToolResult:
    items = [Todo(content=item.content.strip(), status=item.status) for item in input.items]
    if len(items) > _MOST:
        raise ToolError(f"{len(items)} items are too many; {_MOST} at most: join small steps.")
    if any(not item.content for item in items):
        raise ToolError("An item has no content; say what the step is.")
    current = [item.content for item in items if item.status == "in_progress"]
    if len(current) > 1:
        raise ToolError(f"{len(current)} items are in progress ({', '.join(current)}); only one may be.")
    done = sum(item.status == "completed" for item in items)
    return ToolResult(text=f"The list is set: {done} of {len(items)} done.", todos=tuple(items))


TOOL = Tool(
    name="todo",
    description=(
        f"Replace the plan that the user sees: at most {_MOST} items, one in_progress. "
        "For work of three steps or more; update it as you go."
    ),
    input=Input,
    kind="think",
    run=_run,
    title=lambda input: "Update the plan",
)
