"""What a model says, in the wire formats of three kinds of provider.

Each `*_frames` function gives the frames of a streamed answer, each `*_body` function the whole answer,
each `*_error` function the body of a refusal. Formats follow the providers' own API references.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NamedTuple

Wire = Literal["openai", "anthropic", "ollama"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call of the model."""

    name: str
    arguments: dict[str, Any] | str = ""
    """A str goes out as it is: cut off, invalid, empty."""
    id: str | None = ""
    """Empty: a fresh one. None: no id on the wire (OpenAI)."""
    index: int | None = None
    """The index on the wire, where a server counts wrongly (OpenAI)."""

    @property
    def json(self) -> str:
        """The arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


def call(name: str, **arguments: Any) -> Call:
    """A tool call in short: `call("read_file", path="a.py")`."""
    return Call(name=name, arguments=arguments)


class Tokens(NamedTuple):
    """What the provider says that it counted; `cached` is part of `input`."""

    input: int = 100
    output: int = 20
    cached: int = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer; see `ModelServer.reply` and `ModelServer.fault`."""

    text: str | Sequence[str] = ""
    reasoning: str = ""
    signature: str = "c2lnbmVk"
    """Of the thinking block that holds `reasoning` (Anthropic)."""
    calls: Sequence[Call] = ()
    finish: str | None = None
    """OpenAI's word for why it stopped; None: `tool_calls` or `stop`."""
    usage: Tokens | None = field(default_factory=Tokens)
    interleave: bool = False
    """Sends the arguments of several calls in turns (OpenAI)."""
    piece: int = 8
    """Characters in a chunk, unless `text` comes in pieces already."""
    delay: float = 0
    """Seconds before each chunk after the first."""
    first_delay: float = 0
    """Seconds before the first chunk."""
    hold: bool = False
    """Waits after the first piece until `ModelServer.release()`."""
    plain: bool = False
    """The whole answer as JSON, although a stream was asked for."""
    fault: str | None = None
    status: int = 500
    retry_after: float | None = None
    message: str = ""
    error_type: str = ""
    after: int = 1
    """Pieces that are sent before the fault."""

    @property
    def pieces(self) -> list[str]:
        """The text as it is streamed."""
        return _split(self.text, self.piece) if isinstance(self.text, str) else list(self.text)

    @property
    def whole(self) -> str:
        """The text."""
        return "".join(self.pieces)

    @property
    def finished(self) -> str:
        """OpenAI's finish reason."""
        return self.finish or ("tool_calls" if self.calls else "stop")


class Frame(NamedTuple):
    """A part of a stream: the opening, a piece of the answer, or the end that says why it stopped."""

    kind: Literal["open", "piece", "end"]
    data: str


_numbers = count(1)


def fresh_id(prefix: str) -> str:
    """An id that no other answer of this process has."""
    return f"{prefix}{next(_numbers):06d}"


def frames(wire: Wire, reply: Reply, model: str) -> Iterator[Frame]:
    """The streamed answer."""
    return {"openai": openai_frames, "anthropic": anthropic_frames, "ollama": ollama_frames}[wire](
        reply, model
    )


def body(wire: Wire, reply: Reply, model: str) -> dict[str, Any]:
    """The answer that is not streamed."""
    return {"openai": openai_body, "anthropic": anthropic_body, "ollama": ollama_body}[wire](reply, model)


def error(wire: Wire, message: str, kind: str) -> dict[str, Any]:
    """The body of a refusal."""
    if wire == "anthropic":
        return {"type": "error", "error": {"type": kind or "api_error", "message": message}}
    if wire == "ollama":
        return {"error": message}
    return {
        "error": {"message": message, "type": kind or "server_error", "param": None, "code": kind or None}
    }


def error_frame(wire: Wire, message: str, kind: str) -> str:
    """A refusal in the middle of a stream."""
    data = json.dumps(error(wire, message, kind))
    if wire == "anthropic":
        return f"event: error\ndata: {data}\n\n"
    return f"{data}\n" if wire == "ollama" else f"data: {data}\n\n"


def keepalive(wire: Wire) -> str:
    """What a server sends to keep a connection open without saying anything."""
    if wire == "anthropic":
        return 'event: ping\ndata: {"type": "ping"}\n\n'
    return "\n" if wire == "ollama" else ": keep-alive\n\n"


# -- OpenAI ------------------------------------------------------------------------------------------


def openai_frames(reply: Reply, model: str) -> Iterator[Frame]:
    """Server-sent events of `/v1/chat/completions`."""
    head = {
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"

    yield Frame("open", chunk({"role": "assistant", "content": ""}))
    for piece in _split(reply.reasoning, reply.piece):
        yield Frame("piece", chunk({"reasoning_content": piece}))
    for piece in reply.pieces:
        yield Frame("piece", chunk({"content": piece}))
    for delta in _openai_calls(reply):
        yield Frame("piece", chunk({"tool_calls": [delta]}))
    yield Frame("end", chunk({}, reply.finished))
    if reply.usage:
        yield Frame("end", f"data: {json.dumps({**head, 'choices': [], 'usage': _openai_usage(reply)})}\n\n")
    yield Frame("end", "data: [DONE]\n\n")


def _openai_calls(reply: Reply) -> Iterator[dict[str, Any]]:
    queues: list[list[dict[str, Any]]] = []
    for place, item in enumerate(reply.calls):
        index = place if item.index is None else item.index
        first = {"index": index, "type": "function", "function": {"name": item.name, "arguments": ""}}
        if item.id is not None:
            first["id"] = item.id or fresh_id("call_")
        rest = [{"index": index, "function": {"arguments": part}} for part in _split(item.json, reply.piece)]
        queues.append([first, *rest])
    if not reply.interleave:
        for queue in queues:
            yield from queue
        return
    while any(queues):
        for queue in queues:
            if queue:
                yield queue.pop(0)


def openai_body(reply: Reply, model: str) -> dict[str, Any]:
    """The JSON answer of `/v1/chat/completions`."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.whole or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": item.id or fresh_id("call_"),
                "type": "function",
                "function": {"name": item.name, "arguments": item.json},
            }
            for item in reply.calls
        ]
    answer: dict[str, Any] = {
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finished}],
    }
    if reply.usage:
        answer["usage"] = _openai_usage(reply)
    return answer


def _openai_usage(reply: Reply) -> dict[str, Any]:
    tokens = reply.usage or Tokens()
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }


# -- Anthropic ---------------------------------------------------------------------------------------


def anthropic_frames(reply: Reply, model: str) -> Iterator[Frame]:
    """Server-sent events of `/v1/messages`."""

    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    usage = _anthropic_usage(reply)
    message = {
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield Frame("open", event("message_start", message=message))
    yield Frame("open", event("ping"))
    for index, block in enumerate(_anthropic_blocks(reply)):
        start, deltas = _anthropic_stream(block, reply)
        yield Frame("open", event("content_block_start", index=index, content_block=start))
        for delta in deltas:
            yield Frame("piece", event("content_block_delta", index=index, delta=delta))
        yield Frame("open", event("content_block_stop", index=index))
    stop = {"stop_reason": _anthropic_stop(reply), "stop_sequence": None}
    yield Frame("end", event("message_delta", delta=stop, usage={"output_tokens": usage["output_tokens"]}))
    yield Frame("end", event("message_stop"))


def _anthropic_blocks(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": reply.signature}
    if reply.whole:
        yield {"type": "text", "text": reply.whole}
    for item in reply.calls:
        yield {"type": "tool_use", "id": item.id or fresh_id("toolu_"), "name": item.name, "input": item.json}


def _anthropic_stream(block: dict[str, Any], reply: Reply) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it opens, and its deltas."""
    if block["type"] == "thinking":
        parts = [
            {"type": "thinking_delta", "thinking": part} for part in _split(block["thinking"], reply.piece)
        ]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*parts, signature]
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in reply.pieces]
    parts = [
        {"type": "input_json_delta", "partial_json": part} for part in _split(block["input"], reply.piece)
    ]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": ""}, *parts]


def anthropic_body(reply: Reply, model: str) -> dict[str, Any]:
    """The JSON answer of `/v1/messages`."""
    blocks = [
        {**block, "input": json.loads(block["input"] or "{}")} if block["type"] == "tool_use" else block
        for block in _anthropic_blocks(reply)
    ]
    return {
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": _anthropic_stop(reply),
        "stop_sequence": None,
        "usage": _anthropic_usage(reply),
    }


def _anthropic_stop(reply: Reply) -> str:
    words = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    }
    return words.get(reply.finished, reply.finished)


def _anthropic_usage(reply: Reply) -> dict[str, int]:
    tokens = reply.usage or Tokens(0, 0)
    return {
        "input_tokens": tokens.input - tokens.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
    }


# -- Ollama ------------------------------------------------------------------------------------------


def ollama_frames(reply: Reply, model: str) -> Iterator[Frame]:
    """Lines of JSON of `/api/chat`."""

    def line(message: dict[str, Any], **more: Any) -> str:
        answer = {
            "model": model,
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "", **message},
            "done": False,
        }
        return json.dumps({**answer, **more}) + "\n"

    for piece in _split(reply.reasoning, reply.piece):
        yield Frame("piece", line({"thinking": piece}))
    for piece in reply.pieces:
        yield Frame("piece", line({"content": piece}))
    if reply.calls:
        yield Frame("piece", line({"tool_calls": _ollama_calls(reply)}))
    yield Frame("end", line({}, **_ollama_end(reply)))


def ollama_body(reply: Reply, model: str) -> dict[str, Any]:
    """The JSON answer of `/api/chat`."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.whole}
    if reply.reasoning:
        message["thinking"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = _ollama_calls(reply)
    return {
        "model": model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        **_ollama_end(reply),
    }


def _ollama_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"function": {"name": item.name, "arguments": json.loads(item.json or "{}")}} for item in reply.calls
    ]


def _ollama_end(reply: Reply) -> dict[str, Any]:
    tokens = reply.usage
    counts = {"prompt_eval_count": tokens.input, "eval_count": tokens.output} if tokens else {}
    return {"done": True, "done_reason": "length" if reply.finished == "length" else "stop", **counts}


def _split(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
