"""Lines of a server as messages, also those that are nearly messages: nobody must wait for what came."""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)

from magent_lsp.core.halves import whole

_SHOWN: Final = 300
_NAME: Final = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*'
_AT_START: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _NAME + rb',\s*"(?:result|error)"'
)
_AT_END: Final = re.compile(rb",\s*" + _NAME + rb"\}\s*$")
_RESULT_FIRST: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"')
_TAIL: Final = 400

_HEEDED: Final = frozenset({"notifications/tools/list_changed", "notifications/cancelled"})
_OFTEN_SECONDS: Final = 0.05
_MOST_KINDS: Final = 100


def read_message(line: bytes) -> JSONRPCMessage | None:
    """A message of the protocol; None for anything else, of which some servers print a lot.

    Text that is no Unicode is mended. An answer that cannot be read becomes an error, for the call that it
    names.
    """
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        value = json.loads(line.decode("utf-8", "replace"))
        # half an emoji, as servers send it that cut texts, is no text that could be written anywhere
        mended = whole(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError) as error:
        return _unreadable(line, "it nests too deep" if isinstance(error, RecursionError) else str(error))
    try:
        return jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except ValueError:
        return _improper(json.loads(mended))


def _unreadable(line: bytes, why: str) -> JSONRPCError | None:
    """An error for the call that a line answers which is no JSON."""
    found = _AT_START.match(line)
    if found is None and _RESULT_FIRST.match(line):
        found = _AT_END.search(line, max(0, len(line) - _TAIL))
    return _error(json.loads(found[1].decode("utf-8", "replace")), why) if found else None


def _improper(value: Mapping[str, Any]) -> JSONRPCMessage | None:
    """An answer that is none by the rules, as an error; None if it is no answer."""
    number = value.get("id")
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if "method" in value or isinstance(number, bool) or not isinstance(number, int | str):
        return None
    if value.get("error") is not None:
        error = value["error"]
        message = error.get("message") if isinstance(error, Mapping) else error
        return _error(number, message if isinstance(message, str) else _short(error), said=True)
    if "result" not in value:
        return None
    result = value["result"]
    if isinstance(result, dict):
        proper = json.dumps({"jsonrpc": "2.0", "id": number, "result": result})
        try:
            return jsonrpc_message_adapter.validate_json(proper, by_name=False)
        except ValueError:
            return _error(number, "it nests too deep")
    return _error(number, f"its result is {_short(result)}, which is no object")


def _error(number: int | str, words: str, *, said: bool = False) -> JSONRPCError:
    text = words if said else f"its answer cannot be read: {words}"
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=text))


def _short(value: Any) -> str:
    text = json.dumps(value).encode("ascii", "replace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class Sieve:
    """Lets through what matters of a flood: each kind of news at most twenty times a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}

    def passes(self, message: JSONRPCMessage) -> bool:
        """Whether to hand the message in; requests, answers and what changes the tools always are."""
        if not isinstance(message, JSONRPCNotification) or message.method in _HEEDED:
            return True
        kind = (message.method[:100], repr((message.params or {}).get("progressToken"))[:100])
        now = self._clock()
        if now - self._last.get(kind, float("-inf")) < _OFTEN_SECONDS:
            return False
        if len(self._last) >= _MOST_KINDS:
            self._last.clear()
        self._last[kind] = now
        return True
