"""What providers refuse: checked on every request that reaches the model server."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.support.model_request import Request

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def violations(request: Request) -> list[str]:
    """Why the provider would answer with 400; empty if it would not."""
    check = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}[request.wire]
    return list(check(request.json))


def _openai(body: Mapping[str, Any]) -> Iterator[str]:
    messages = [message for message in body["messages"] if message["role"] != "system"]
    if any(message["role"] == "system" for message in body["messages"][1:]):
        yield "a system prompt that is not the first message"
    yield from _begins(messages)
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role, content, calls = message["role"], message.get("content"), message.get("tool_calls") or ()
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"message {at}: a result without its call, or a second one"
            else:
                waiting.remove(message["tool_call_id"])
            if not content:
                yield f"message {at}: an empty result"
            continue
        if waiting:
            yield f"message {at}: calls without a result: {waiting}"
            waiting = []
        if not content and not calls:
            yield f"message {at}: nothing is said by {role}"
        for each in calls:
            waiting.append(each["id"])
            yield from _call(at, each["id"], each["function"]["name"], each["function"]["arguments"])
        if len(set(waiting)) < len(waiting):
            yield f"message {at}: two calls with one id"
    if waiting:
        yield f"calls without a result at the end: {waiting}"


def _anthropic(body: Mapping[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    yield from _begins(messages)
    waiting: set[str] = set()
    thinks = "thinking" in body
    for at, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            yield f"message {at}: no content"
        if at and messages[at - 1]["role"] == message["role"]:
            yield f"message {at}: two turns of {message['role']} in a row"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if set(results) != waiting or len(results) != len(waiting):
            yield f"message {at}: calls {sorted(waiting)} and results {sorted(results)} differ"
        kinds = [block["type"] for block in blocks]
        if results and "tool_result" in kinds[kinds.index("tool_result") :][len(results) :]:
            yield f"message {at}: results do not come first"
        waiting = set()
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                yield f"message {at}: an empty text"
            if block["type"] == "thinking" and not block.get("signature"):
                yield f"message {at}: thinking without its signature"
            if block["type"] == "tool_use":
                waiting.add(block["id"])
                yield from _call(at, block["id"], block["name"], json.dumps(block["input"]))
        if "tool_use" in kinds and thinks and at == len(messages) - 2 and kinds[0] != "thinking":
            yield f"message {at}: the turn that goes on does not begin with thinking"
    if waiting:
        yield f"calls without a result at the end: {waiting}"


def _ollama(body: Mapping[str, Any]) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        calls = message.get("tool_calls") or ()
        if not message.get("content") and not calls:
            yield f"message {at}: nothing is said by {message['role']}"
        for each in calls:
            if not isinstance(each["function"]["arguments"], dict):
                yield f"message {at}: arguments that are no object"


def _begins(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages:
        yield "no messages"
    elif messages[0]["role"] != "user":
        yield "the first message is not the user's"


def _call(at: int, call_id: str, name: str, arguments: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"message {at}: a call of {name!r}"
    if not _ID.fullmatch(call_id):
        yield f"message {at}: the id {call_id!r}"
    try:
        if not isinstance(json.loads(arguments), dict):
            yield f"message {at}: arguments that are no object"
    except ValueError:
        yield f"message {at}: arguments that are no JSON"
