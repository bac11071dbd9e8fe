"""Makes any history one that every provider takes: pure, and idempotent.

What a history may hold after a cancel, a crash, a fork, a compaction, a change of provider or a hand-edited
session file is mended here and nowhere else. OpenAI and Anthropic refuse a whole request for one bad message,
so a session that is not mended cannot go on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

INTERRUPTED: Final = (
    "Interrupted before it gave a result. Whether it had an effect is not known: check first."
)
CUT_OFF: Final = (
    "Not run: the call was cut off before it was complete, and nothing was changed. Send it again."
)
NO_OUTPUT: Final = "(no output)"
BEGINNING: Final = "(The beginning of this conversation was left out.)"

_BAD_ID: Final = re.compile(r"[^A-Za-z0-9_-]")
_MAX_ID: Final = 40
"""OpenAI refuses longer ids of calls."""
_MAX_NAME: Final = 64
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SIGNATURE: Final = "__thought__"
"""LiteLLM keeps a thought signature of Gemini behind this in the id; without it Gemini refuses the call."""


def normalise(messages: Sequence[Message]) -> list[Message]:
    """The same conversation, valid for OpenAI's and Anthropic's rules.

    Every call has exactly one result, right behind its message and in the order of the calls; ids are unique
    and keep their value where they can; arguments are JSON objects (`{}` where they were not: the result says
    what was wrong); nothing is empty; the first message after the system prompt is a user's. What is already
    valid comes back equal, and a longer history begins with what the shorter one gave, so that caches hold.
    """
    names, call_ids = _Names(), _Names()
    turns = _unique_messages(_kept(messages), names)
    results = _paired(turns)
    history: list[Message] = []
    for at, message in enumerate(turns):
        if isinstance(message, AssistantMessage):
            calls = tuple(_valid_call(call, call_ids) for call in message.tool_calls)
            history.append(message if calls == message.tool_calls else replace(message, tool_calls=calls))
            found = results.get(at, {})
            history += (_result(call, found.get(n), message, names) for n, call in enumerate(calls))
        elif not isinstance(message, ToolMessage):
            history.append(message)
    return _from_user(history, names)


def _kept(messages: Iterable[Message]) -> list[Message]:
    """All but empty messages and stray system prompts, with texts that can be sent as UTF-8."""
    kept: list[Message] = []
    for message in messages:
        text = _sendable(message.text)
        if isinstance(message, SystemMessage):
            if kept or not text:
                continue
        elif isinstance(message, UserMessage):
            if not text and not message.images:
                continue
        elif isinstance(message, AssistantMessage):
            if not text and not message.tool_calls:
                continue
            reasoning = _sendable(message.reasoning)
            if reasoning != message.reasoning:
                message = replace(message, reasoning=reasoning)
        elif not text and not message.images:
            text = NO_OUTPUT
        kept.append(message if text == message.text else replace(message, text=text))
    return kept


def _sendable(text: str) -> str:
    """Without lone surrogates, which no HTTP client can encode; blank text becomes empty."""
    if text.isspace():
        return ""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _unique_messages(messages: Iterable[Message], names: "_Names") -> list[Message]:
    """Each message once and under its own id."""
    known: dict[str, Message] = {}
    unique: list[Message] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            unique.append(message)
            continue
        if message.id and known.get(message.id) == message:
            continue  # written down twice
        known.setdefault(message.id, message)
        own_id = names.take(message.id or "message")
        unique.append(message if own_id == message.id else replace(message, id=own_id))
    return unique


def _paired(messages: Sequence[Message]) -> dict[int, dict[int, ToolMessage]]:
    """Results by the place of their message and of their call in it; what belongs to no call is left out.

    An id that several turns used belongs to the last of them that still waits, and within a turn to the
    first call of that name. The first result of a call stands: it is the one the model was told.
    """
    found: dict[int, dict[int, ToolMessage]] = {}
    waiting: dict[str, list[tuple[int, int, str]]] = {}
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for n, call in enumerate(message.tool_calls):
                waiting.setdefault(call.id, []).append((at, n, call.name))
        elif isinstance(message, ToolMessage) and (open_calls := waiting.get(message.call_id)):
            last = open_calls[-1][0]
            first = next((n for n in range(len(open_calls), 0, -1) if open_calls[n - 1][0] != last), 0)
            of_turn = open_calls[first:]
            slot = next((slot for slot in of_turn if slot[2] == message.name), of_turn[0])
            open_calls.remove(slot)
            found.setdefault(slot[0], {})[slot[1]] = message
    return found


def _valid_call(call: ToolCall, ids: "_Names") -> ToolCall:
    valid = ToolCall(
        id=ids.take_call(call.id),
        name=_BAD_ID.sub("_", call.name)[:_MAX_NAME] or "unknown_tool",
        arguments=_valid_arguments(call.arguments),
    )
    return call if valid == call else valid


def _valid_arguments(arguments: str) -> str:
    """The arguments as they were if they are a JSON object that can be sent, else `{}`."""
    try:
        value = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(value, dict):
        return "{}"
    if _SURROGATE.search(arguments) or ("\\u" in arguments and _SURROGATE.search(_dump(value))):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", _dump(value))
    return arguments


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _result(
    call: ToolCall, found: ToolMessage | None, message: AssistantMessage, names: "_Names"
) -> ToolMessage:
    """The result of a call under the call's own id and name, or one that says why there is none."""
    if found is not None:
        right = found.call_id == call.id and found.name == call.name
        return found if right else replace(found, call_id=call.id, name=call.name)
    text = CUT_OFF if message.finish in ("length", "cut") else INTERRUPTED
    own_id = names.take(f"{message.id}-{call.id}")
    return ToolMessage(id=own_id, call_id=call.id, name=call.name, text=text, status="cancelled")


def _from_user(history: list[Message], names: "_Names") -> list[Message]:
    """Begins with what a user said, since Anthropic refuses anything else."""
    start = 1 if history and isinstance(history[0], SystemMessage) else 0
    first = history[start] if len(history) > start else None
    if isinstance(first, AssistantMessage):
        own_id = names.take(f"before-{first.id}")
        history.insert(start, UserMessage(id=own_id, text=BEGINNING, synthetic=True))
    return history


class _Names:
    """Gives every id once; a second use gets the next free number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def take(self, wish: str, limit: int = 1_000) -> str:
        name, number = wish, self._numbers.get(wish, 1)
        while name in self._taken:
            number += 1
            tail = f"-{number}"
            name = wish[: limit - len(tail)] + tail
        self._numbers[wish] = number
        self._taken.add(name)
        return name

    def take_call(self, wish: str) -> str:
        """As `take`, in the alphabet and length that providers allow; the signature does not count."""
        plain, mark, signature = wish.partition(_SIGNATURE)
        valid = _BAD_ID.sub("_", plain) or "call"
        if len(valid) > _MAX_ID:
            valid = f"{valid[:31]}-{hashlib.sha256(plain.encode('utf-8', 'replace')).hexdigest()[:8]}"
        return self.take(valid, _MAX_ID) + mark + signature
