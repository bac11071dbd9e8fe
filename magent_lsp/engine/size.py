"""How much of a model's window messages and tools take, before the provider has counted them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.core.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from magent_lsp.core.tool import Tool

CHARS_PER_TOKEN: Final = 4.0
"""Where no request has been counted yet."""
_IMAGE_TOKENS: Final = 1_500
_PER_MESSAGE: Final = 16
"""Characters that roles, ids and brackets of a message come to."""


@dataclass(frozen=True)
class Size:
    """What something holds; sizes can be added, so that a long history need not be measured anew."""

    chars: int = 0
    images: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.chars + other.chars, self.images + other.images)

    def tokens(self, chars_per_token: float = CHARS_PER_TOKEN) -> int:
        """Tokens, roughly; see `calibrate`."""
        return int(self.chars / chars_per_token) + self.images * _IMAGE_TOKENS


def size_of(messages: Iterable[Message], tools: Sequence[Tool] = ()) -> Size:
    """The size of a request with these messages and tools."""
    chars, images = sum(map(_tool_chars, tools)), 0
    for message in messages:
        chars += _chars(message)
        images += len(message.images) if isinstance(message, UserMessage | ToolMessage) else 0
    return Size(chars, images)


def estimate(
    messages: Iterable[Message], tools: Sequence[Tool] = (), chars_per_token: float = CHARS_PER_TOKEN
) -> int:
    """Tokens that a request with these messages and tools takes, roughly."""
    return size_of(messages, tools).tokens(chars_per_token)


def calibrate(asked: Size, usage: Usage) -> float | None:
    """Characters per token as the provider counted the request that held just this; None if it did not.

    Kept within what languages and tokenisers can differ by, so that one odd count does no harm.
    """
    tokens = usage.input_tokens - asked.images * _IMAGE_TOKENS
    if usage.estimated or tokens < 200 or asked.chars < 200:
        return None
    return min(max(asked.chars / tokens, 1.0), 6.0)


def _chars(message: Message) -> int:
    size = len(message.text) + _PER_MESSAGE
    if isinstance(message, AssistantMessage):
        size += sum(len(c.name) + len(c.arguments) + _PER_MESSAGE for c in message.tool_calls)
        size += sum(len(str(value)) for block in message.reasoning_blocks for value in block.values())
    return size


def _tool_chars(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters)) + _PER_MESSAGE
