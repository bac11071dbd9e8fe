"""A person who talks to a model, for tests of models."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from magent_lsp.core.messages import AssistantMessage, Message, StreamItem, UserMessage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.tool import Tool, ToolResult
from magent_lsp.llm.load import Models
from tests.support.model_server import ModelServer
from tests.support.model_wire import Wire


class ReadInput(BaseModel):
    """Input of a tool."""

    path: str
    limit: int | None = None


class TodoInput(BaseModel):
    """Input of a tool without arguments."""


async def _run(input: Any, context: Any) -> ToolResult:
    raise AssertionError("a model does not run tools")


READ = Tool(name="read_file", description="Read a file.", input=ReadInput, kind="read", run=_run)
TODO = Tool(name="todo", description="Plan.", input=TodoInput, kind="think", run=_run)
TOOLS = (READ, TODO)


class Talk:
    """Asks a model as the loop does."""

    def __init__(self, models: Models, server: ModelServer) -> None:
        self.models = models
        self.server = server
        self.items: list[StreamItem] = []
        """What came of the last request."""

    def settings(self, wire: Wire, **more: Any) -> ModelSettings:
        defaults: dict[str, Any] = {
            "model": self.server.model(wire),
            "api_base": self.server.base(wire),
            "api_key": "key-of-the-user-1234",
        }
        return ModelSettings(**{**defaults, **more})

    async def ask(
        self,
        wire: Wire,
        messages: Sequence[Message] | str = "hello",
        tools: Sequence[Tool] = TOOLS,
        **more: Any,
    ) -> AssistantMessage:
        self.items = []
        if isinstance(messages, str):
            messages = [UserMessage(id="1", text=messages)]
        async for item in self.models.stream(messages, tools, self.settings(wire, **more)):
            self.items.append(item)
        last = self.items[-1]
        assert isinstance(last, AssistantMessage)
        return last
