"""What is said in a conversation, free of any provider's shape."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

FinishReason = Literal["stop", "tool_calls", "length", "refused", "cut"]
"""Why the model stopped: `cut` means that the stream ended before it said why."""

ToolStatus = Literal["completed", "failed", "rejected", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture for a model that can see."""

    media_type: str
    data: str
    """Base64."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and money of one or more requests."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Part of `input_tokens` that the provider read from its cache."""
    cost_usd: float | None = None
    """None where no price is known."""
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=sum(known) if known else None,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """The model's wish to use a tool."""

    id: str
    name: str
    arguments: str
    """JSON exactly as the model wrote it, possibly cut off or invalid."""


@dataclass(frozen=True, kw_only=True)
class SystemMessage:
    """The system prompt; at most one, always first, never part of a stored history."""

    text: str


@dataclass(frozen=True, kw_only=True)
class UserMessage:
    """What a person (or, marked `synthetic`, the harness) said."""

    id: str
    text: str
    images: tuple[Image, ...] = ()
    synthetic: bool = False
    """True for nudges, steering notes and re-attached context that no person typed."""
    said: str = ""
    """What the person wrote, where `text` is more than that: context, a command that was filled in."""


_CONTEXT: Final = re.compile(r"\A<context>\n.*?\n</context>\n\n", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class AssistantMessage:
    """A whole reply of the model."""

    id: str
    text: str = ""
    reasoning: str = ""
    reasoning_blocks: tuple[Mapping[str, Any], ...] = ()
    """Signed thinking blocks, kept as the provider gave them and sent back unchanged."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolMessage:
    """The one result of one tool call."""

    id: str
    call_id: str
    name: str
    text: str
    status: ToolStatus = "completed"
    images: tuple[Image, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def spoken(message: Message) -> str:
    """What a message says to people: of theirs, what they wrote, without the context for the model."""
    if isinstance(message, UserMessage):
        return message.said or _CONTEXT.sub("", message.text)
    return message.text


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """A piece of the reply's text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ReasoningDelta:
    """A piece of the model's reasoning, for those who want to watch."""

    text: str


StreamItem = TextDelta | ReasoningDelta | AssistantMessage
"""A stream's last item, and only that, is the AssistantMessage."""
