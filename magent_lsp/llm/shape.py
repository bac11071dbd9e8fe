"""Conversations and tools in the shape LiteLLM takes: OpenAI's, and what a provider needs on top; pure."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from magent_lsp.core.tool import Tool

Wire = dict[str, Any]
_CACHE = {"type": "ephemeral"}
_ID = {"anthropic": re.compile(r"[^a-zA-Z0-9_-]"), "mistral": re.compile(r"^[a-zA-Z0-9]{9}$")}
_SEND_REASONING = frozenset({"deepseek", "moonshot"})


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What a provider takes beyond the common shape."""

    provider: str = "openai"
    claude: bool = False
    """Takes cache marks, signed thinking blocks, and images in tool results."""
    vision: bool = True
    calls_in_text: bool = False
    """Without tools, calls are shown as the model is told to write them, not as notes."""
    thinking: bool = True
    """Whether signed thinking blocks are sent back."""


def tools_to_wire(tools: Sequence[Tool]) -> list[Wire]:
    """The tools in their order, which is part of what a provider caches."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def described(tools: Sequence[Tool]) -> str:
    """The tools as a part of the system prompt, for models that take none: they write their calls as text."""
    if not tools:
        return ""
    lines = [
        "# Tools",
        "To use a tool, answer with one JSON object and nothing else: "
        '`{"name": "<tool>", "arguments": {…}}`. Its result comes in the next message. '
        "Answer in plain text when you need no tool.",
    ]
    for tool in tools:
        schema = json.dumps(tool.parameters, ensure_ascii=False).replace("</", "<\\/")
        lines.append(f"## {tool.name}\n{tool.description}\nArguments: {schema}")
    return "\n\n".join(lines)


def to_wire(messages: Sequence[Message], dialect: Dialect, *, tools: bool) -> list[Wire]:
    """The conversation; without `tools`, tool turns become text, since some providers refuse them else."""
    wire: list[Wire] = []
    pictures: list[Wire] = []
    for message in messages:
        if pictures and not isinstance(message, ToolMessage):
            # results must follow their calls without a gap: pictures come after the last of them
            wire.append({"role": "user", "content": pictures})
            pictures = []
        match message:
            case SystemMessage():
                wire.append({"role": "system", "content": message.text})
            case UserMessage():
                wire.append({"role": "user", "content": _content(message.text, message.images, dialect)})
            case AssistantMessage():
                wire += _assistant(message, dialect, tools)
            case ToolMessage():
                wire.append(_result(message, dialect, tools))
                if message.images and not dialect.claude:
                    pictures += _parts(f"The pictures of {message.name}:", message.images, dialect)
    if pictures:
        wire.append({"role": "user", "content": pictures})
    return _marked(wire) if dialect.claude else wire


def _assistant(message: AssistantMessage, dialect: Dialect, tools: bool) -> list[Wire]:
    text = message.text
    if message.tool_calls and not tools:
        text = "\n".join(filter(None, [text, *(_note(call, dialect) for call in message.tool_calls)]))
    answer: Wire = {"role": "assistant", "content": text or None}
    if message.tool_calls and tools:
        answer["tool_calls"] = [
            {
                "id": call_id(call.id, dialect),
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.reasoning_blocks and dialect.claude and dialect.thinking and tools and _of_claude(message):
        answer["thinking_blocks"] = [dict(block) for block in message.reasoning_blocks]
    if message.reasoning and dialect.provider in _SEND_REASONING:
        answer["reasoning_content"] = message.reasoning
    # an answer without content is refused by all
    return [answer] if answer["content"] or answer.get("tool_calls") else []


def _note(call: ToolCall, dialect: Dialect) -> str:
    """A call as text, for a request without tools."""
    arguments = _arguments(call.arguments)
    if dialect.calls_in_text:
        return f'{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}'
    return f"[used {call.name} with {call.arguments or '{}'}]"


def _of_claude(message: AssistantMessage) -> bool:
    """Whether the blocks are Claude's: it refuses those that another model has signed."""
    model = message.model.lower()
    return not model or "claude" in model or model.startswith("anthropic/")


def breaks_off_thinking(messages: Sequence[Message]) -> bool:
    """Whether the turn to go on with called tools, and the thinking that led to it is not there any more.

    Thinking is not kept on disk unless the person wants it, so this is how an interrupted turn comes back.
    Claude refuses to go on thinking in such a turn.
    """
    last = next((m for m in reversed(messages) if isinstance(m, AssistantMessage)), None)
    return last is not None and bool(last.tool_calls) and not (last.reasoning_blocks and _of_claude(last))


def _result(message: ToolMessage, dialect: Dialect, tools: bool) -> Wire:
    text = message.text if message.text.strip() else "(no output)"
    if not tools:
        return {"role": "user", "content": f"[{message.name} answered]\n{text}"}
    content: str | list[Wire] = text
    if message.images and dialect.claude:
        content = _content(text, message.images, dialect)
    return {
        "role": "tool",
        "tool_call_id": call_id(message.call_id, dialect),
        "name": message.name,
        "content": content,
    }


def _content(text: str, images: Sequence[Image], dialect: Dialect) -> str | list[Wire]:
    """Text, or a list of parts where there are pictures."""
    return _parts(text, images, dialect) if images else text or "(empty)"


def _parts(text: str, images: Sequence[Image], dialect: Dialect) -> list[Wire]:
    parts: list[Wire] = [{"type": "text", "text": text}] if text.strip() else []
    for image in images:
        if dialect.vision:
            url = f"data:{image.media_type};base64,{image.data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            parts.append({"type": "text", "text": "[a picture, which this model cannot see]"})
    return parts


def _arguments(text: str) -> str:
    """Arguments that every provider can parse; what the model wrote wrongly is shown to it as it was."""
    try:
        if isinstance(json.loads(text or "{}"), dict):
            return text or "{}"
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_arguments": text}, ensure_ascii=False)


def call_id(id: str, dialect: Dialect) -> str:
    """The id as the provider takes it, the same each time: one may come from another provider."""
    if dialect.claude:
        return _ID["anthropic"].sub("_", id)
    if dialect.provider == "mistral" and not _ID["mistral"].fullmatch(id):
        return hashlib.sha256(id.encode()).hexdigest()[:9]
    return id


def _marked(wire: list[Wire]) -> list[Wire]:
    """Cache marks at the system prompt and the last two turns of the user, tool results among them."""
    turns = [
        place
        for place, message in enumerate(wire)
        if message["role"] in ("user", "tool")
        and (place + 1 == len(wire) or wire[place + 1]["role"] not in ("user", "tool"))
    ]
    systems = [place for place, message in enumerate(wire) if message["role"] == "system"]
    for place in [*systems, *turns[-2:]]:
        message = wire[place]
        if message["role"] == "tool":
            wire[place] = {**message, "cache_control": _CACHE}
            continue
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        wire[place] = {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": _CACHE}]}
    return wire
