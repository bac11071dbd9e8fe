"""A conversation as one text, for models that are asked about it: summaries and titles.

Some providers refuse a history with tool calls when no tools are given, so calls and results become words.
"""

from collections.abc import Sequence
from typing import Final

from magent_lsp.core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

_CAPS: Final = {"user": 12_000, "assistant": 6_000, "call": 1_500, "result": 3_000}
"""Characters of one piece, as long as there is room."""
_SMALLEST: Final = 0.02
"""Share of these caps below which whole messages are left out instead."""


def flatten(messages: Sequence[Message], max_chars: int) -> str:
    """The conversation in at most `max_chars`; long pieces are cut first, then the middle is left out."""
    share = 1.0
    while True:
        parts = [part for message in messages for part in _parts(message, share)]
        total = sum(map(len, parts)) + 2 * len(parts)
        if total <= max_chars or share < _SMALLEST:
            return _without_middle(parts, max_chars)
        share /= 2


def clipped(text: str, limit: int) -> str:
    """The head and the tail of a text that is longer than the limit."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text) - limit:,} characters left out …]\n"
    room = max(limit - len(mark), 0)
    head = (room * 2 + 2) // 3
    tail = room - head
    return text[:head] + mark + (text[-tail:] if tail else "") if room else text[:limit]


def _parts(message: Message, share: float) -> list[str]:
    def cut(text: str, kind: str) -> str:
        return clipped(text, max(int(_CAPS[kind] * share), 40))

    match message:
        case SystemMessage():
            return []
        case UserMessage():
            who = "Note" if message.synthetic else "User"
            return [f"{who}: {cut(message.text, 'user')}" + " [image]" * len(message.images)]
        case ToolMessage():
            return [f"Result of {message.name} ({message.status}): {cut(message.text, 'result')}"]
        case AssistantMessage():
            said = [f"Assistant: {cut(message.text, 'assistant')}"] if message.text.strip() else []
            called = [f"Assistant calls {c.name}({cut(c.arguments, 'call')})" for c in message.tool_calls]
            return said + called


def _without_middle(parts: Sequence[str], max_chars: int) -> str:
    """All parts if they fit, else the first one and as many of the last ones as do."""
    text = "\n\n".join(parts)
    if len(text) <= max_chars:
        return text
    mark = "[… earlier messages left out …]"
    first = parts[0]
    room = max_chars - len(first) - len(mark) - 4
    last: list[str] = []
    for part in reversed(parts[1:]):
        if len(part) + 2 > room:
            break
        room -= len(part) + 2
        last.insert(0, part)
    return clipped("\n\n".join([first, mark, *last]), max_chars)
