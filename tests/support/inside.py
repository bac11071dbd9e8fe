"""A server of the language client's side of things, in this process: what it is sent, what it sends."""

import asyncio
import json
from typing import Any

from magent_lsp.lsp.server import MagentServer, make_server


class Recorder:
    """A writer that keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._came = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Take one frame."""
        self.messages.append(json.loads(data.split(b"\r\n\r\n", 1)[1]))
        self._came.set()

    def close(self) -> None:
        """Nothing to do."""

    async def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request, once it is there."""
        while True:
            for message in self.messages:
                if message.get("id") == number and "method" not in message:
                    return message
            self._came.clear()
            await self._came.wait()

    def of(self, method: str) -> list[Any]:
        """The parameters of all messages of a method."""
        return [message.get("params") for message in self.messages if message.get("method") == method]

    def requests(self, method: str) -> list[dict[str, Any]]:
        """The whole requests of a method."""
        return [item for item in self.messages if item.get("method") == method and "id" in item]


def inside(
    *, initialized: bool = True, client: dict[str, str] | None = None, **options: Any
) -> tuple[MagentServer, Recorder]:
    """A server and what it writes; `initialize` of a client is answered already unless told otherwise."""
    server, recorder = make_server(**options), Recorder()
    server.protocol.set_writer(recorder)
    if initialized:
        params = {"processId": None, "rootUri": None, "capabilities": {}, "clientInfo": client}
        tell(server, "initialize", params, number=0)
        recorder.messages.clear()
    return server, recorder


def tell(server: MagentServer, method: str, params: Any, *, number: Any = None) -> None:
    """Send the server a request, or without a number a notification."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    server.receive(json.dumps(message if number is None else {**message, "id": number}))


def answer(server: MagentServer, number: Any, **what: Any) -> None:
    """Answer a request of the server, with `result=` or `error=`."""
    server.receive(json.dumps({"jsonrpc": "2.0", "id": number, **what}))
