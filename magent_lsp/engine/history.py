"""Makes any history one that every provider takes: pure, and idempotent.

What a history may hold after a cancel, a crash, a fork, a compaction, a change of provider or a hand-edited
session file is mended here and nowhere else. OpenAI and Anthropic refuse a whole request for one bad message,
so a session that is not mended cannot go on.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from magent_lsp.core.halves import has_half, whole
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
LONGEST_NAME: Final = 64
"""Characters of a tool's name; OpenAI refuses longer ones."""
_SIGNATURE: Final = "__thought__"
"""LiteLLM keeps a thought signature of Gemini behind this in the id; without it Gemini refuses the call."""


def normalise(messages: Iterable[Message]) -> list[Message]:
    """The same conversation, valid for OpenAI's and Anthropic's rules.

    Every call has exactly one result, right behind its message and in the order of the calls; ids are unique
    and keep their value where they can; arguments are JSON objects (`{}` where they were not: the result says
    what was wrong); nothing is empty; the first message after the system prompt is a user's. What is already
    valid comes back equal, and a longer history begins with what the shorter one gave, so that caches hold.
    """
    history = History()
    for message in messages:
        history.take(message)
    return history.messages()


class _Wanted(NamedTuple):
    """A call without a result."""

    turn: int
    """The place of its message."""
    place: int
    """Where its result belongs."""
    name: str


class History:
    """What `normalise` makes of a conversation, as it grows: what was taken in once costs nothing again."""

    def __init__(self) -> None:
        self._names, self._call_ids = _Names(), _Names()
        self._begun = False
        self._known: dict[str, Message] = {}
        self._places: list[Message | None] = []
        """The history so far; None stands for the result of a call that has none."""
        self._open: dict[int, tuple[ToolCall, AssistantMessage]] = {}
        """The calls without a result, by the place of that."""
        self._waiting: dict[str, list[_Wanted]] = {}
        """The same by the ids that their models gave them."""

    def take(self, message: Message) -> Message | None:
        """Take in the next message; gives what it has become, None if it is left out."""
        kept = _kept(message, first=not self._begun)
        if kept is None:
            return None
        self._begun = True
        own = self._unique(kept)
        match own:
            case ToolMessage():
                return self._answer(own)
            case AssistantMessage():
                return self._ask(own)
            case SystemMessage() | UserMessage():
                self._places.append(own)
        return own

    def messages(self) -> list[Message]:
        """The history as it is to be sent now, with a word for each call that has no result."""
        names = _Names(self._names)
        history = [
            message if message is not None else _missing(*self._open[place], names)
            for place, message in enumerate(self._places)
        ]
        return _from_user(history, names)

    def _unique(self, message: Message) -> Message | None:
        """The message under an id of its own; None if it was written down twice."""
        if isinstance(message, SystemMessage):
            return message
        if message.id and self._known.get(message.id) == message:
            return None
        self._known.setdefault(message.id, message)
        own_id = self._names.take(message.id or "message")
        return message if own_id == message.id else replace(message, id=own_id)

    def _ask(self, message: AssistantMessage) -> AssistantMessage:
        calls = tuple(_valid_call(call, self._call_ids) for call in message.tool_calls)
        asking = message if calls == message.tool_calls else replace(message, tool_calls=calls)
        turn = len(self._places)
        self._places.append(asking)
        for told, call in zip(message.tool_calls, calls, strict=True):
            place = len(self._places)
            self._waiting.setdefault(told.id, []).append(_Wanted(turn, place, told.name))
            self._open[place] = (call, message)
            self._places.append(None)
        return asking

    def _answer(self, result: ToolMessage) -> ToolMessage | None:
        """Put a result to its call; what belongs to no call is left out.

        An id that several turns used belongs to the last of them that still waits, and within a turn to the
        first call of that name. The first result of a call stands: it is the one the model was told.
        """
        waiting = self._waiting.get(result.call_id)
        if not waiting:
            return None
        last = waiting[-1].turn
        first = next((n for n in range(len(waiting), 0, -1) if waiting[n - 1].turn != last), 0)
        wanted = next((each for each in waiting[first:] if each.name == result.name), waiting[first])
        waiting.remove(wanted)
        call, _ = self._open.pop(wanted.place)
        right = result.call_id == call.id and result.name == call.name
        own = result if right else replace(result, call_id=call.id, name=call.name)
        self._places[wanted.place] = own
        return own


def _kept(message: Message, *, first: bool) -> Message | None:
    """The message with texts that can be sent as UTF-8; None if it is empty, or a stray system prompt."""
    text = _sendable(message.text)
    if isinstance(message, SystemMessage):
        if not first or not text:
            return None
    elif isinstance(message, UserMessage):
        if not text and not message.images:
            return None
    elif isinstance(message, AssistantMessage):
        if not text and not message.tool_calls:
            return None
        reasoning = _sendable(message.reasoning)
        if reasoning != message.reasoning:
            message = replace(message, reasoning=reasoning)
    elif not text and not message.images:
        text = NO_OUTPUT
    return message if text == message.text else replace(message, text=text)


def _sendable(text: str) -> str:
    """Without lone surrogates, which no HTTP client can encode; blank text becomes empty."""
    if text.isspace():
        return ""
    return whole(text)


def _valid_call(call: ToolCall, ids: "_Names") -> ToolCall:
    valid = ToolCall(
        id=ids.take_call(call.id),
        name=_BAD_ID.sub("_", call.name)[:LONGEST_NAME] or "unknown_tool",
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
    if has_half(arguments) or ("\\u" in arguments and has_half(_dump(value))):
        return whole(_dump(value))
    return arguments


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _missing(call: ToolCall, message: AssistantMessage, names: "_Names") -> ToolMessage:
    """A result that says why there is none."""
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

    def __init__(self, others: "_Names | None" = None) -> None:
        """None that is among the others is given either."""
        self._others = others
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def take(self, wish: str, limit: int = 1_000) -> str:
        name, number = wish, self._number(wish)
        while self._has(name):
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

    def _has(self, name: str) -> bool:
        return name in self._taken or (self._others is not None and self._others._has(name))

    def _number(self, wish: str) -> int:
        known = self._numbers.get(wish)
        if known is not None:
            return known
        return 1 if self._others is None else self._others._number(wish)
