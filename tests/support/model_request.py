"""What a client asked the model server."""

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.support.model_wire import Wire

PATHS: dict[str, Wire] = {
    "/v1/chat/completions": "openai",
    "/chat/completions": "openai",
    "/v1/messages": "anthropic",
    "/api/chat": "ollama",
}


@dataclass(eq=False)
class Request:
    """What a client asked."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    content: bytes
    number: int
    """Counted from 1, chat requests only; 0 for others."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the client goes away early."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the answer is over, one way or the other."""

    @property
    def json(self) -> dict[str, Any]:
        """The body."""
        answer: dict[str, Any] = json.loads(self.content or b"{}")
        return answer

    @property
    def wire(self) -> Wire:
        """The format in which it was asked."""
        return PATHS[self.path]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as it was sent."""
        answer: list[dict[str, Any]] = self.json["messages"]
        return answer

    @property
    def tools(self) -> list[str]:
        """The names of the tools offered, in order."""
        return [tool.get("function", tool)["name"] for tool in self.json.get("tools") or []]

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1]["content"])

    @property
    def closed(self) -> bool:
        """Whether the client went away before the answer was over."""
        return self.closing.is_set()

    async def wait_closed(self, seconds: float = 5) -> bool:
        """Whether the client went away within that time."""
        return await asyncio.to_thread(self.closing.wait, seconds)

    async def wait_done(self, seconds: float = 5) -> bool:
        """Whether the answer was over, one way or the other, within that time."""
        return await asyncio.to_thread(self.over.wait, seconds)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text", part.get("content", ""))) for part in content)
    return content or ""
