"""An LspEditor over a real pygls server, and at the other end of real sockets a scripted editor.

async with connected(tmp_path) as (editor, client):
    uri = await client.open("a.py", "x = 1\\n")
    client.on_edit = client.lying
    outcome = await editor.apply(…, "label")
"""

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

from lsprotocol import types
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from magent_lsp.core.config import Client, Edits, Settings
from magent_lsp.core.edits import Replacement, TextEdits, apply_replacements
from magent_lsp.lsp.editor import LspEditor
from magent_lsp.lsp.verify import Bounds
from magent_lsp.lsp.wire import Wire, plain_converter
from tests.support.scripted_buffer import ScriptedBuffer

FAST = Bounds(reply=0.4, change=0.3, retry=0.02, earlier=0.2, save=2, evaluate=2)
"""Short enough for tests that wait for all of it."""

DOCUMENT_CHANGES: dict[str, Any] = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
RESOURCES: dict[str, Any] = {
    "applyEdit": True,
    "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
}

NO_ANSWER = object()
"""What a behaviour returns for a request that is never answered."""


class Refusal(Exception):
    """Raised by a behaviour: a JSON-RPC error."""

    def __init__(self, message: str, code: int = -32603) -> None:
        super().__init__(message)
        self.code = code


Behaviour = Callable[[dict[str, Any]], Awaitable[Any]]


class ScriptedEditor:
    """Real buffers, incremental sync, and a behaviour for each request of the server."""

    def __init__(self, folder: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.folder = folder
        self.buffers: dict[str, ScriptedBuffer] = {}
        self.requests: list[tuple[str, Any]] = []
        self.notifications: list[tuple[str, Any]] = []
        self.on_edit: Behaviour = self.honest
        self.on: dict[str, Behaviour] = {}
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.asked = asyncio.Event()
        """Set when a request of the server has arrived."""

    # -- what a person does ---------------------------------------------------------------------------

    async def open(
        self, name: str, text: str | None = None, *, on_disk: str | None = None, version: int = 0
    ) -> str:
        """Open a file of the folder; `on_disk` is written first, `text` is what the buffer holds."""
        path = self.folder / name
        if on_disk is not None:
            path.write_text(on_disk, encoding="utf-8", newline="")
        if text is None:
            text = path.read_bytes().decode()
        buffer = ScriptedBuffer(path.as_uri(), text, version=version)
        self.buffers[buffer.uri] = buffer
        item = {"uri": buffer.uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        await self.barrier()
        return buffer.uri

    async def type(self, uri: str, old: str, new: str) -> None:
        """Replace a text in a buffer."""
        self.replace(uri, old, new)
        await self.barrier()

    def replace(self, uri: str, old: str, new: str) -> None:
        """The same without waiting until the server knows."""
        buffer = self.buffers[uri]
        self.changed(uri, buffer.apply([{"range": buffer.range(old), "newText": new}]))

    async def close(self, uri: str) -> None:
        """Close a buffer."""
        del self.buffers[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        await self.barrier()

    # -- behaviours -----------------------------------------------------------------------------------

    async def honest(self, params: dict[str, Any]) -> Any:
        """Apply, answer, then tell of the change."""
        changes = self.apply(params)
        if changes is None:
            return {"applied": False}
        self.after(lambda: [self.changed(uri, change) for uri, change in changes.items()])
        return {"applied": True}

    async def lying(self, params: dict[str, Any]) -> Any:
        """Say that it was applied, and do nothing."""
        return {"applied": True}

    async def refusing(self, params: dict[str, Any]) -> Any:
        """Say no."""
        return {"applied": False}

    async def silent(self, params: dict[str, Any]) -> Any:
        """Say nothing, and do nothing."""
        return NO_ANSWER

    async def saving(self, params: dict[str, Any]) -> Any:
        """`magent/save`: write buffers to the disk."""
        for uri in params["uris"]:
            buffer = self.buffers[uri]
            Path(uri.removeprefix("file://")).write_text(buffer.text, encoding="utf-8", newline="")
            self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        return {"saved": params["uris"]}

    def apply(self, params: dict[str, Any]) -> dict[str, list[dict[str, Any]]] | None:
        """Apply an edit to the buffers, opening what is not open; None if a version is not the buffer's."""
        edit = params["edit"]
        changes: dict[str, list[dict[str, Any]]] = {}
        documents = edit.get("documentChanges") or [
            {"textDocument": {"uri": uri}, "edits": edits} for uri, edits in edit.get("changes", {}).items()
        ]
        for document in documents:
            if "kind" in document:
                continue
            uri, version = document["textDocument"]["uri"], document["textDocument"].get("version")
            buffer = self.buffers.get(uri)
            if buffer is None:
                path = Path(uri.removeprefix("file://"))
                buffer = self.buffers[uri] = ScriptedBuffer(
                    uri, path.read_text() if path.exists() else "", version=0
                )
                buffer.apply(document["edits"])
                continue
            if version is not None and version != buffer.version:
                return None
            changes[uri] = buffer.apply(document["edits"])
        return changes

    def changed(self, uri: str, changes: Sequence[dict[str, Any]]) -> None:
        """Tell of changes of a buffer."""
        document = {"uri": uri, "version": self.buffers[uri].version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def after(self, work: Callable[[], Any]) -> None:
        """Do something once the answer is sent."""
        asyncio.get_running_loop().call_soon(work)

    # -- the wire -------------------------------------------------------------------------------------

    @property
    def edits(self) -> list[dict[str, Any]]:
        """The edits that the server asked for."""
        return [params["edit"] for method, params in self.requests if method == "workspace/applyEdit"]

    def methods(self) -> list[str]:
        """The requests of the server by name."""
        return [method for method, _ in self.requests]

    async def request(self, method: str, params: Any = None) -> Any:
        """The result of a request, or the error object."""
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        async with asyncio.timeout(5):
            return await self._waiting[number]

    async def barrier(self) -> None:
        """Wait until the server has handled all that was sent: it takes messages in their order."""
        await self.request("test/barrier")

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def hang_up(self) -> None:
        """Die."""
        self._writer.close()

    async def listen(self) -> None:
        """Take messages until the connection ends."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await self._reader.readline():
                length = int(line.partition(b":")[2])
                while await self._reader.readline() != b"\r\n":
                    pass
                self._take(json.loads(await self._reader.readexactly(length)))
        for task in self._tasks:
            task.cancel()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            answer = self._waiting.pop(message["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(message.get("error", message.get("result")))
        elif "id" in message:
            self.requests.append((message["method"], message["params"]))
            self.asked.set()
            task = asyncio.create_task(self._serve(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self.notifications.append((message["method"], message["params"]))

    async def _serve(self, message: dict[str, Any]) -> None:
        behaviour = (
            self.on_edit if message["method"] == "workspace/applyEdit" else self.on.get(message["method"])
        )
        try:
            if behaviour is None:
                raise Refusal(f"unknown method {message['method']}", -32601)
            result = await behaviour(message["params"])
        except Refusal as refusal:
            self._send({"id": message["id"], "error": {"code": refusal.code, "message": str(refusal)}})
            return
        if result is not NO_ANSWER:
            self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if not self._writer.is_closing():
            self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


class Host(LanguageServer):
    """The server end: pygls with our wire, and nothing of the app."""

    def __init__(self) -> None:
        super().__init__("test", "1", protocol_cls=Wire, converter_factory=plain_converter)
        self.admitted, self.token, self.exit_code = True, None, 0

    def disconnect(self) -> None:
        """Nothing more to end."""


@asynccontextmanager
async def connected(
    folder: Path,
    *,
    workspace: dict[str, Any] | None = None,
    window: dict[str, Any] | None = None,
    client: Client | None = None,
    closed_files: str = "auto",
    bounds: Bounds = FAST,
) -> AsyncIterator[tuple[LspEditor, ScriptedEditor]]:
    """A connected pair; leaving it hangs up."""
    ours, theirs = socket.socketpair()
    server_reader, server_writer = await asyncio.open_connection(sock=ours)
    reader, writer = await asyncio.open_connection(sock=theirs)
    host, stop = Host(), Event()
    host.protocol.set_writer(server_writer)  # type: ignore[arg-type]

    async def serve() -> None:
        await run_async(stop, server_reader, host.protocol)
        wire = host.protocol
        assert isinstance(wire, Wire)
        wire.give_up()

    scripted = ScriptedEditor(folder, reader, writer)
    tasks = [asyncio.create_task(serve()), asyncio.create_task(scripted.listen())]
    capabilities = {"workspace": DOCUMENT_CHANGES if workspace is None else workspace, "window": window or {}}
    await scripted.request(
        "initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
    )
    settings = Settings(edits=Edits.model_validate({"closedFiles": closed_files}))
    editor = LspEditor(host, client or Client(), lambda: settings, bounds)
    try:
        yield editor, scripted
    finally:
        editor.close()
        scripted.hang_up()
        await asyncio.wait(tasks, timeout=5)
        server_writer.close()
        for end in (server_writer, writer):
            with suppress(ConnectionError):
                await end.wait_closed()


def edit_of(path: Path, before: str, old: str, new: str) -> TextEdits:
    """Replace one text by another."""
    start = before.index(old)
    replacements = (Replacement(start, start + len(old), new),)
    after = apply_replacements(before, replacements)
    return TextEdits(path=path, replacements=replacements, before=before, after=after)


def shows(item: types.MessageActionItem | None) -> Any:
    """An answer to `window/showMessageRequest`."""
    return None if item is None else {"title": item.title}
