"""The wire of a small language client: a server process, and JSON-RPC to its stdio."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from magent_lsp.core.errors import MagentError

Handler = Callable[[Any], Awaitable[Any]]

_METHOD_NOT_FOUND = -32601
_INTERNAL_ERROR = -32603


class ServerError(MagentError):
    """The server answered a request with an error, or is gone."""


class Connection:
    """Requests, notifications and answers over two pipes; use it through `connect`."""

    def __init__(self, process: asyncio.subprocess.Process, handlers: Mapping[str, Handler]) -> None:
        self._process = process
        self._reader = asyncio.create_task(self._listen(), name="language server")
        self._handlers = handlers
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        """Set when the server has closed its side."""

    async def request(self, method: str, params: Any = None, *, seconds: float = 30) -> Any:
        """The result of a request; ServerError if there is none in time."""
        self._last_id += 1
        number, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send({"id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise ServerError(f"the server did not answer {method!r} within {seconds:g} s") from None
        finally:
            del self._waiting[number]

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something."""
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        if message.get("params", ...) is None:
            del message["params"]
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while (message := await _read(self._process.stdout)) is not None:
                self._take(message)
        finally:
            self.ended.set()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ServerError("the server ended before it answered"))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            task = asyncio.create_task(self._handle(message), name=message["method"])
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        answer = self._waiting.get(message.get("id", -1))
        if answer is None or answer.done():
            return
        if error := message.get("error"):
            answer.set_exception(ServerError(str(error.get("message", error))))
        else:
            answer.set_result(message.get("result"))

    async def _handle(self, message: dict[str, Any]) -> None:
        handler = self._handlers.get(message["method"])
        reply: dict[str, Any]
        if handler is None:
            reply = {"error": {"code": _METHOD_NOT_FOUND, "message": f"no {message['method']!r} here"}}
        else:
            try:
                reply = {"result": await handler(message.get("params"))}
            except MagentError as error:
                reply = {"error": {"code": _INTERNAL_ERROR, "message": str(error)}}
        if "id" in message:
            self._send({"id": message["id"], **reply})

    async def close(self, *, grace: float = 5) -> int:
        """Shut the server down as the protocol says; kills it if it does not go. Returns its exit code.

        `grace` is the time, in seconds, that it has to answer, and again to go.
        """
        if not self.ended.is_set():
            with suppress(ServerError):
                await self.request("shutdown", seconds=grace)
                self.notify("exit")
        try:
            async with asyncio.timeout(grace):
                code = await self._process.wait()
        except TimeoutError:
            self._process.kill()
            code = await self._process.wait()
        for task in (self._reader, *self._tasks):
            task.cancel()
        await asyncio.gather(self._reader, *self._tasks, return_exceptions=True)
        return code


@asynccontextmanager
async def connect(
    command: Sequence[str],
    handlers: Mapping[str, Handler],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    log: BinaryIO,
    grace: float = 5,
) -> AsyncIterator[Connection]:
    """Start a server and speak with it; it is gone when the block ends. Its stderr goes to `log`."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        cwd=cwd,
        env=dict(environ),
        start_new_session=True,
    )
    connection = Connection(process, handlers)
    try:
        yield connection
    finally:
        if process.returncode is None:
            await connection.close(grace=grace)


async def _read(stream: asyncio.StreamReader) -> dict[str, Any] | None:
    length = 0
    while (line := await stream.readline()).strip():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if not line:
        return None
    try:
        body = await stream.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
    message: dict[str, Any] = json.loads(body)
    return message
