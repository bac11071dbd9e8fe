"""A loopback server that speaks the wire formats of OpenAI, Anthropic and Ollama, as scripted.

    async with ModelServer() as server:                     # or `with`, in a test that is not async
        server.reply("Looking.", calls=[call("read_file", path="a.py")])
        server.reply("It says hello.", reasoning="hm", usage=Tokens(900, 12, cached=800))
        server.fault("status", 429, retry_after=1)
        ...
        model, base = server.model("openai"), server.base("openai")     # for settings `model`, `apiBase`
        assert server.requests[1].messages[-1]["role"] == "tool"

Answers are taken from the queue in order; when it is empty `server.respond` (a function of the Request,
giving a Reply) is asked, and without one the answer is a 500 which says that the script is over. The server
runs in a thread of its own, so that everything here may be called from any thread, with or without a loop.

Faults, as `server.fault(kind, …)`; `text` and `calls` are what was begun, `after` the pieces that come first:

    status      the status code, in the provider's shape; `retry_after=`, `message=`, `error_type=`
    overflow    400, the prompt does not fit the window
    policy      400, content policy
    close       closes the connection before the response
    empty       closes right after the head of the response
    cut         drops the connection after some pieces
    end         ends well, but without saying why it stopped
    stall       goes silent after some pieces (`after=0`: before the first chunk)
    keepalive   sends nothing but keep-alives from there on
    garbage     sends what is not the format
    error       sends an error in the middle of the stream

Odd but real answers are plain replies: arguments that are cut off (`calls=[Call(name="x", arguments='{"a')],
finish="length"`), two calls with `index=0`, calls with `id=None`, `first_delay=`, `interleave=True`.

`reply(hold=True)` waits after its first piece until `server.release()`. `request.closed` says whether the
client went away before the answer was over; `request.wait_closed(seconds)` waits for that.

As a process, `python -m tests.support.model_server [--port N] [--script FILE] [--repeat]` prints its address
as the first line and lives until its stdin closes. FILE is a JSON list of replies with the fields of `Reply`
(a fault is `{"fault": "status", "status": 429}`). More can be queued by POST to `/_queue` (such a list), and
`GET /_requests` lists what was asked; a POST to `/_release` lets answers with `hold` go on.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.model_request import PATHS, Request
from tests.support.model_wire import (
    Call,
    Reply,
    Tokens,
    Wire,
    body,
    call,
    error,
    error_frame,
    frames,
    keepalive,
)

__all__ = ["Call", "ModelServer", "Reply", "Request", "Tokens", "call"]

_OVERFLOW = {
    "openai": "This model's maximum context length is 8192 tokens. However, your messages resulted in "
    "9001 tokens. Please reduce the length of the messages.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "ollama": "the input length exceeds the context length",
}
_POLICY = {
    "openai": "Your request was rejected as a result of our safety system. content_policy_violation",
    "anthropic": "Output blocked by content filtering policy",
    "ollama": "content policy",
}


class ModelServer:
    """The server; see the module's docstring."""

    def __init__(
        self, *, port: int = 0, models: Sequence[str] = ("test-model",), repeat: bool = False
    ) -> None:
        self.models = list(models)
        """What `/v1/models` and `/api/tags` list."""
        self.respond: Callable[[Request], Reply | None] | None = None
        """Asked when the queue is empty."""
        self.repeat = repeat
        """Whether answers go back to the end of the queue."""
        self.port = port
        self._queue: deque[Reply] = deque()
        self._requests: list[Request] = []
        self._news = threading.Condition()
        self._release = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    # -- script ---------------------------------------------------------------------------------

    def reply(self, text: str | Sequence[str] = "", **fields: Any) -> Self:
        """Queue an answer; fields as in `Reply`."""
        return self.queue(Reply(text=text, **fields))

    def fault(self, kind: str, status: int = 500, **fields: Any) -> Self:
        """Queue a failure; the kinds are in the module's docstring."""
        return self.queue(Reply(fault=kind, status=status, **fields))

    def queue(self, *replies: Reply) -> Self:
        """Queue answers."""
        with self._news:
            self._queue.extend(replies)
        return self

    def release(self) -> None:
        """Let answers with `hold` go on, from now on."""
        self._release.set()

    def hold(self) -> None:
        """Let answers with `hold` wait again, until the next `release`."""
        self._release.clear()

    # -- what was asked ---------------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        """The chat requests so far."""
        with self._news:
            return [request for request in self._requests if request.number]

    @property
    def all_requests(self) -> list[Request]:
        """All requests so far, those for lists of models among them."""
        with self._news:
            return list(self._requests)

    def wait_requests(self, number: int = 1, seconds: float = 60) -> list[Request]:
        """Blocks until so many chat requests have come; AssertionError if they do not."""
        with self._news:
            if not self._news.wait_for(lambda: self._count() >= number, seconds):
                raise AssertionError(f"{self._count()} requests came within {seconds} s, not {number}")
        return self.requests

    async def arrived(self, number: int = 1, seconds: float = 60) -> list[Request]:
        """As `wait_requests`, for a test that is async."""
        return await asyncio.to_thread(self.wait_requests, number, seconds)

    def _count(self) -> int:
        return sum(1 for request in self._requests if request.number)

    # -- where ------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self.port}"

    def base(self, wire: Wire = "openai") -> str:
        """The setting `apiBase` for that format."""
        return f"{self.url}/v1" if wire == "openai" else self.url

    def model(self, wire: Wire = "openai", name: str | None = None) -> str:
        """The setting `model` for that format."""
        defaults = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "ollama": "test-model"}
        prefix = "ollama_chat" if wire == "ollama" else wire
        return f"{prefix}/{name or defaults[wire]}"

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Listen."""
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main(ready)), name="model-server", daemon=True
        )
        self._thread.start()
        if not ready.wait(10):
            raise AssertionError("the model server did not start")
        return self

    def close(self) -> None:
        """Stop, dropping what is open."""
        if self._loop and self._stop and self._thread:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    async def _main(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        self.release()  # a thread that waits for it would hold up the end of the loop
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- a connection -----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: Request | None = None
        try:
            request, reply = await self._read(reader)
            answer = asyncio.ensure_future(self._answer(request, reply, writer))
            gone = asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done() or isinstance(answer.exception(), OSError):
                    request.closing.set()
            finally:
                for task in (answer, gone):
                    task.cancel()
                await asyncio.gather(answer, gone, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away, which is what some tests do
        finally:
            if request:
                request.over.set()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Request, Reply | None]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        path = target.partition("?")[0]
        with self._news:
            number = self._count() + 1 if path in PATHS else 0
            request = Request(method, path, headers, content, number)
            if not path.startswith("/_"):
                self._requests.append(request)
            # Chosen before anyone hears of the request: who waited for it also sees what answered it.
            reply = self._next(request) if number else None
            self._news.notify_all()
        return request, reply

    async def _answer(self, request: Request, reply: Reply | None, writer: asyncio.StreamWriter) -> None:
        if reply is not None:
            await self._chat(request, reply, writer)
        elif request.path == "/_queue":
            self.queue(*[read_reply(item) for item in json.loads(request.content)])
            await _send(writer, 200, {"queued": len(self._queue)})
        elif request.path == "/_release":
            self.release()
            await _send(writer, 200, {})
        elif request.path == "/_requests":
            asked = [
                {"path": item.path, "headers": item.headers, "json": item.json} for item in self.requests
            ]
            await _send(writer, 200, asked)
        elif request.path == "/v1/models":
            await _send(
                writer,
                200,
                {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]},
            )
        elif request.path == "/api/tags":
            await _send(writer, 200, {"models": [{"name": name, "model": name} for name in self.models]})
        else:
            await _send(writer, 404, {"error": f"no such path {request.path!r}"})

    def _next(self, request: Request) -> Reply:
        with self._news:
            if self._queue:
                queued = self._queue.popleft()
                if self.repeat:
                    self._queue.append(queued)
                return queued
        reply = self.respond(request) if self.respond else None
        return reply or Reply(fault="status", status=500, message="the script of the model server is over")

    async def _chat(self, request: Request, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.fault == "close":
            writer.transport.abort()
        elif reply.fault in ("status", "overflow", "policy"):
            await self._refuse(request, reply, writer)
        elif request.json.get("stream", request.wire == "ollama") and not reply.plain:
            await self._stream(request, reply, writer)
        else:
            await asyncio.sleep(reply.first_delay)
            await _send(writer, 200, body(request.wire, reply, request.json.get("model", "")))

    async def _refuse(self, request: Request, reply: Reply, writer: asyncio.StreamWriter) -> None:
        status, message, kind = reply.status, reply.message or "scripted failure", reply.error_type
        if reply.fault == "overflow":
            status, message = 400, reply.message or _OVERFLOW[request.wire]
            kind = "context_length_exceeded" if request.wire == "openai" else "invalid_request_error"
        elif reply.fault == "policy":
            status, message = 400, reply.message or _POLICY[request.wire]
            kind = "content_policy_violation" if request.wire == "openai" else "invalid_request_error"
        more = {} if reply.retry_after is None else {"retry-after": f"{reply.retry_after:g}"}
        await asyncio.sleep(reply.first_delay)
        await _send(writer, status, error(request.wire, message, kind), more)

    async def _stream(self, request: Request, reply: Reply, writer: asyncio.StreamWriter) -> None:
        kind = "application/x-ndjson" if request.wire == "ollama" else "text/event-stream"
        how = "transfer-encoding: chunked\r\nconnection: close"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{how}\r\n\r\n".encode())
        await writer.drain()
        pieces = 0
        if reply.fault == "empty" or (reply.fault and reply.after == 0):
            return await self._fail(request, reply, writer)
        await asyncio.sleep(reply.first_delay)
        for frame in frames(request.wire, reply, request.json.get("model", "")):
            if reply.fault and (pieces >= reply.after or frame.kind == "end"):
                return await self._fail(request, reply, writer)
            if frame.kind == "piece":
                pieces += 1
                if pieces > 1:
                    await asyncio.sleep(reply.delay)
                if pieces == 2 and reply.hold:
                    await asyncio.to_thread(self._release.wait, 300)
            await _chunk(writer, frame.data)
        await _chunk(writer, "")

    async def _fail(self, request: Request, reply: Reply, writer: asyncio.StreamWriter) -> None:
        match reply.fault:
            case "cut":
                # `after` pieces are on the wire before the connection drops: a reset would discard them
                writer.close()
            case "empty" | "end":
                await _chunk(writer, "")
            case "stall":
                await asyncio.sleep(600)
            case "keepalive":
                while True:
                    await _chunk(writer, keepalive(request.wire))
                    await asyncio.sleep(0.02)
            case "garbage":
                await _chunk(writer, "data: {not json at all\n\n<html>oops</html>\n\n")
                await _chunk(writer, "")
            case "error":
                message = reply.message or "Overloaded"
                await _chunk(
                    writer, error_frame(request.wire, message, reply.error_type or "overloaded_error")
                )
                await _chunk(writer, "")
            case other:
                raise AssertionError(f"unknown fault {other!r}")


def read_reply(value: Mapping[str, Any]) -> Reply:
    """A Reply from its JSON."""
    fields = dict(value)
    fields["calls"] = [Call(**item) for item in fields.get("calls", ())]
    if isinstance(fields.get("usage"), list):
        fields["usage"] = Tokens(*fields["usage"])
    return Reply(**fields)


async def _chunk(writer: asyncio.StreamWriter, data: str) -> None:
    encoded = data.encode()
    writer.write(f"{len(encoded):x}\r\n".encode() + encoded + b"\r\n")
    await writer.drain()


async def _send(
    writer: asyncio.StreamWriter, status: int, value: Any, headers: Mapping[str, str] = {}
) -> None:
    data = json.dumps(value).encode()
    more = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    what = f"content-type: application/json\r\ncontent-length: {len(data)}\r\nconnection: close"
    writer.write(f"HTTP/1.1 {status} -\r\n{what}\r\n{more}\r\n".encode() + data)
    await writer.drain()


def main() -> None:
    """Serve until stdin closes or the process is ended."""
    parser = argparse.ArgumentParser(description="A scripted model server on the loopback interface.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--repeat", action="store_true")
    options = parser.parse_args()
    server = ModelServer(port=options.port, repeat=options.repeat)
    if options.script:
        server.queue(*[read_reply(item) for item in json.loads(options.script.read_text())])
    with server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
