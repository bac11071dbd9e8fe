"""Tool calls that a model wrote as text, which small local models do; pure.

Where a whole message, or its one fenced block, is exactly a JSON object that names an offered tool and fits
its schema's keys, it is a call. Anything less is text. So text is held back while it can still become a call.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from magent_lsp.core.tool import Tool

_NAME_KEYS = ("name", "tool", "function", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_FIRST_KEYS = (*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id")
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(?P<body>.*?)\r?\n?[ \t]*```", re.DOTALL)
_MAX_HELD = 200_000


@dataclass(frozen=True, kw_only=True)
class TextCall:
    """A call that was written as text."""

    name: str
    arguments: str
    """JSON."""


class TextCalls:
    """Holds a message's text back while it may be a call."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._schemas = {tool.name: tool.parameters for tool in tools}
        self._held = ""
        self._scan = _Scan()
        self._given_up = not tools

    def __bool__(self) -> bool:
        return bool(self._held)

    def feed(self, text: str, *, hold: bool = True) -> str:
        """Take text; returns what can be shown now."""
        if self._given_up or not hold:
            return self.release() + text
        self._held += text
        if self._scan.feed(text) and len(self._held) <= _MAX_HELD:
            return ""
        return self.release()

    def release(self) -> str:
        """What was held back; the rest of the message is text."""
        text, self._held = self._held, ""
        # blank text says nothing yet: a call may still follow it
        self._given_up = self._given_up or bool(text)
        return text

    def call(self) -> TextCall | None:
        """The call that the text held back is, once the message is over."""
        return read_call(self._held, self._schemas) if self._held.strip() else None


def read_call(text: str, schemas: dict[str, dict[str, Any]]) -> TextCall | None:
    """The call that a whole message is, if it is one."""
    text = text.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced["body"].strip()
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    nested = value.get("function")
    if isinstance(nested, dict):
        value = nested
    names = [value[key] for key in _NAME_KEYS if key in value]
    arguments = [value[key] for key in _ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(arguments) > 1 or not isinstance(names[0], str):
        return None
    schema, given = schemas.get(names[0]), arguments[0] if arguments else {}
    if isinstance(given, str):
        given = _loads(given)
    if schema is None or not isinstance(given, dict) or not _fits(given, schema):
        return None
    return TextCall(name=names[0], arguments=json.dumps(given, ensure_ascii=False))


def _fits(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    known = schema.get("properties", {})
    given = set(arguments)
    return set(schema.get("required", ())) <= given <= set(known)


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class _Scan:
    """Says, character by character, whether a text can still become a call."""

    def __init__(self) -> None:
        self._state = "start"
        self._word = ""
        self._depth = 0
        self._string = self._escape = self._fenced = False

    def feed(self, text: str) -> bool:
        """Whether the text so far can still become a call."""
        return all(self._step(character) for character in text)

    def _step(self, character: str) -> bool:
        return bool(getattr(self, f"_{self._state}")(character))

    def _start(self, character: str) -> bool:
        if character == "`":
            self._state, self._word, self._fenced = "fence", "`", True
            return True
        return self._open(character)

    def _fence(self, character: str) -> bool:
        if character == "\n":
            self._state = "open"
            return self._word.startswith("```")
        self._word += character
        return len(self._word) < 30 and bool(re.fullmatch(r"`{1,2}|```[\w-]*[ \t\r]*", self._word))

    def _open(self, character: str) -> bool:
        if character == "{":
            self._state, self._depth, self._word = "key", 1, ""
            return True
        return character.isspace()

    def _key(self, character: str) -> bool:
        if not self._word:
            self._word = '"' if character == '"' else ""
            return bool(self._word) or character.isspace()
        if character == '"':
            self._state = "body"
            return self._word[1:] in _FIRST_KEYS
        self._word += character
        return any(key.startswith(self._word[1:]) for key in _FIRST_KEYS)

    def _body(self, character: str) -> bool:
        if self._string:
            ends = character == '"' and not self._escape
            self._string, self._escape = not ends, character == "\\" and not self._escape
        elif character == '"':
            self._string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            if self._depth == 0:
                self._state, self._word = "end", ""
        return True

    def _end(self, character: str) -> bool:
        if self._fenced and character == "`" and len(self._word) < 3:
            self._word += character
            return True
        return character.isspace()
