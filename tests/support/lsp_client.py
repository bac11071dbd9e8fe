"""A language client for tests: a real server process, and buffers that are really edited.

    async with editor(tmp_path, profile=VSCODE, script=[{"text": "Hello"}]) as client:
        buffer = client.open("a.py", "x = 1\\n")
        run = await client.command("magent.prompt", prompt="hi", uri=buffer.uri)
        finished = await client.finished(run["runId"])

Everything that the server sent is kept: `messages`, `questions`, `events`, `progress`, `shown`, `logs`,
`diagnostics`, `edits`. `await client.until(lambda: …)` waits for something of it, bounded.
"""

import asyncio
import itertools
import json
import os
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tests.support.lsp_buffer import Buffer
from tests.support.lsp_profiles import VSCODE, Profile

__all__ = [
    "EVENTS",
    "LspClient",
    "ResponseError",
    "editor",
    "server_environment",
    "settings_of",
    "start_server",
]

EVENTS = {"events": True}

Answer = Callable[[dict[str, Any]], Any]


class ResponseError(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]


class Link(Protocol):
    """A way to the server and back."""

    async def send(self, message: dict[str, Any]) -> None: ...
    async def receive(self) -> dict[str, Any] | None: ...
    async def close(self) -> None: ...


class StreamLink:
    """Framed JSON over two streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        with suppress(ConnectionError):
            self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        length = None
        while True:
            line = await self._reader.readline()
            if not line:
                return None
            if line == b"\r\n":
                break
            name, _, value = line.partition(b":")
            assert name.lower() in (b"content-length", b"content-type"), f"not a protocol frame: {line!r}"
            if name.lower() == b"content-length":
                length = int(value)
        assert length is not None
        message: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        return message

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError, BrokenPipeError):
            await self._writer.wait_closed()


class NoAnswer:
    """What a scripted answer returns for a request that the client never answers."""


NO_ANSWER = NoAnswer()


class LspClient:
    """One connection to a server."""

    def __init__(self, link: Link, profile: Profile = VSCODE, folder: Path | None = None) -> None:
        self.link, self.profile, self.folder = link, profile, folder
        self.process: asyncio.subprocess.Process | None = None
        self.buffers: dict[str, Buffer] = {}
        self.messages: list[tuple[int, str]] = []
        self.logs: list[tuple[int, str]] = []
        self.questions: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.progress: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        self.tokens: list[Any] = []
        self.shown: list[dict[str, Any]] = []
        self.edits: list[dict[str, Any]] = []
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.registrations: list[dict[str, Any]] = []
        self.cancelled: list[Any] = []
        self.everything: list[dict[str, Any]] = []
        """Notifications and requests of the server, in the order of their arrival."""
        self.answers: deque[Any] = deque()
        """Answers to the next questions: a title, None, a callable, or NO_ANSWER; then `always`."""
        self.always: Any = None
        self.apply: str = "apply"
        """What becomes of an edit: apply | reject | lie | silent | error."""
        self.settings: dict[str, Any] = {}
        """What `workspace/configuration` gives for the section `magent`."""
        self.on: dict[str, Answer] = {}
        """Further requests of the server that this client serves."""
        self.closed = asyncio.Event()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._asleep = False
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.failure: BaseException | None = None
        self._listening = asyncio.create_task(self._listen(), name="client")

    # -- life ---------------------------------------------------------------------------------------

    async def initialize(
        self, *, magent: Mapping[str, Any] | None = None, process_id: int | None = None, **more: Any
    ) -> dict[str, Any]:
        """`initialize` and `initialized`."""
        uri = self.folder.as_uri() if self.folder else None
        parameters = {
            "processId": os.getpid() if process_id is None else process_id,
            "rootUri": uri,
            "capabilities": self.profile.capabilities,
            **({"clientInfo": {"name": self.profile.client}} if self.profile.client else {}),
            "workspaceFolders": [{"uri": uri, "name": "ws"}] if uri else None,
            **({"initializationOptions": {"magent": dict(magent)}} if magent is not None else {}),
            **more,
        }
        result: dict[str, Any] = await self.request("initialize", parameters)
        self.notify("initialized", {})
        return result

    async def shutdown(self) -> None:
        """`shutdown` and `exit`."""
        await self.request("shutdown")
        self.notify("exit")

    async def close(self) -> None:
        """Hang up."""
        self._listening.cancel()
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(self._listening, *self._tasks, return_exceptions=True)
        await self.link.close()

    # -- messages -----------------------------------------------------------------------------------

    async def request(self, method: str, params: Any = None, *, seconds: float = 60) -> Any:
        """The result of a request; ResponseError if it is an error."""
        _, answer = self.send_request(method, params)
        async with asyncio.timeout(seconds):
            return await answer

    def send_request(self, method: str, params: Any = None) -> tuple[int, "asyncio.Future[Any]"]:
        """Send a request; its id, and the future of its result."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        self._send(message if params is None else {**message, "params": params})
        return number, answer

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self._send(message if params is None else {**message, "params": params})

    async def command(self, name: str, /, **argument: Any) -> Any:
        """The result of a command with one object as its argument."""
        return await self.request("workspace/executeCommand", {"command": name, "arguments": [argument]})

    async def actions(self, uri: str, range: Any, *, only: Any = None, diagnostics: Any = ()) -> list[Any]:
        """Code actions at a place."""
        context = {"diagnostics": list(diagnostics), **({"only": only} if only else {})}
        params = {"textDocument": {"uri": uri}, "range": range, "context": context}
        result: list[Any] = await self.request("textDocument/codeAction", params) or []
        return result

    async def act(self, action: Mapping[str, Any]) -> Any:
        """Execute the command of a code action, as an editor does."""
        command = action["command"] if isinstance(action.get("command"), dict) else action
        params = {"command": command["command"], "arguments": command.get("arguments")}
        return await self.request("workspace/executeCommand", params)

    async def until(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait until something holds; returns what it gave. AssertionError tells what came instead."""
        try:
            async with asyncio.timeout(seconds), self._news:
                while not (found := what()):
                    if self.failure is not None:
                        raise self.failure
                    await self._news.wait()
                return found
        except TimeoutError:
            recent = "\n".join(json.dumps(message)[:300] for message in self.everything[-15:])
            raise AssertionError(
                f"nothing of the kind came within {seconds} s; the last:\n{recent}"
            ) from None

    def of_run(self, run_id: str) -> list[dict[str, Any]]:
        """The events of a run."""
        return [event["event"] for event in self.events if event["runId"] == run_id]

    async def finished(self, run_id: str, seconds: float = 60) -> dict[str, Any]:
        """The `run_finished` event, for clients that declared events; `magent/wait` for others."""
        found: dict[str, Any] = await self.request("magent/wait", {"runId": run_id}, seconds=seconds)
        return found

    # -- documents ----------------------------------------------------------------------------------

    def open(
        self, path: str | Path, text: str | None = None, *, uri: str | None = None, language: str = "python"
    ) -> Buffer:
        """Open a file; a `text` that the disk does not have is unsaved."""
        if uri is None:
            assert self.folder is not None or Path(path).is_absolute()
            full = Path(path) if self.folder is None else self.folder / path
            uri = full.as_uri()
            on_disk = full.read_bytes().decode() if full.exists() else None
        else:
            on_disk = None
        buffer = Buffer(uri, on_disk if text is None else text, language, self.profile.first_version, on_disk)
        buffer.first_change = self.profile.first_change
        buffer.counts_edits, buffer.counts_late = self.profile.counts_edits, self.profile.counts_late
        self.buffers[uri] = buffer
        item = {"uri": uri, "languageId": language, "version": buffer.version, "text": buffer.text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def type(self, buffer: Buffer, old: str, new: str) -> None:
        """Replace a text in a buffer, as a person does."""
        buffer.apply([{"range": buffer.range(old), "newText": new}])
        self.key()

    def key(self) -> None:
        """A key is pressed: what changed is told of, in editors that wait for one."""
        self._asleep = False
        for buffer in self.buffers.values():
            self._tell(buffer)

    def _tell(self, buffer: Buffer) -> None:
        """Send what changed, the server's own edits and the person's keys in one message, as editors do."""
        if buffer.unsent and not self._asleep:
            changes, buffer.unsent = buffer.unsent, []
            if self.profile.counts_late:
                buffer.version += len(changes)
            identifier = {"uri": buffer.uri, "version": buffer.version}
            self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})

    # -- the server's messages ----------------------------------------------------------------------

    def _send(self, message: dict[str, Any]) -> None:
        self._spawn(self.link.send(message))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self) -> None:
        try:
            while (message := await self.link.receive()) is not None:
                self._take(message)
                async with self._news:
                    self._news.notify_all()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception as error:
            self.failure = error
        finally:
            self.closed.set()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ConnectionError("the server is gone"))
                    answer.exception()
            self._waiting.clear()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            answer = self._waiting.pop(message["id"], None)
            if answer is not None and not answer.done():
                if message.get("error") is not None:
                    answer.set_exception(ResponseError(message["error"]))
                else:
                    answer.set_result(message.get("result"))
            return
        self.everything.append(message)
        params = message.get("params")
        if "id" in message:
            self._spawn(self._serve(message["id"], message["method"], params))
        else:
            self._notified(message["method"], params)

    def _notified(self, method: str, params: Any) -> None:
        match method:
            case "window/showMessage":
                self.messages.append((params["type"], params["message"]))
            case "window/logMessage":
                self.logs.append((params["type"], params["message"]))
            case "magent/event":
                self.events.append(params)
            case "$/progress":
                self.progress[params["token"]].append(params["value"])
            case "textDocument/publishDiagnostics":
                self.diagnostics[params["uri"]] = params["diagnostics"]
            case "$/cancelRequest":
                self.cancelled.append(params["id"])

    async def _serve(self, number: Any, method: str, params: Any) -> None:
        after: Callable[[], None] | None = None
        try:
            result, after = await self._result(method, params)
        except ResponseError as error:
            reply = {"error": {"code": error.code, "message": error.message}}
        else:
            if isinstance(result, NoAnswer):
                return
            reply = {"result": result}
        await self.link.send({"jsonrpc": "2.0", "id": number, **reply})
        async with self._news:
            self._news.notify_all()
        if after is not None:
            await asyncio.sleep(self.profile.debounce)
            after()

    async def _result(self, method: str, params: Any) -> tuple[Any, Callable[[], None] | None]:
        capabilities = self.profile.capabilities
        window = capabilities.get("window", {})
        if method in self.on:
            result = self.on[method](params)
            return (await result if asyncio.iscoroutine(result) else result), None
        match method:
            case "workspace/applyEdit" if capabilities.get("workspace", {}).get("applyEdit"):
                return await self._apply_edit(params)
            case "window/showMessageRequest" if self.profile.dialogs:
                return await self._question(params), None
            case "window/workDoneProgress/create" if window.get("workDoneProgress"):
                self.tokens.append(params["token"])
                return None, None
            case "window/showDocument" if window.get("showDocument", {}).get("support"):
                self.shown.append(params)
                return {"success": True}, None
            case "workspace/configuration":
                return [
                    self.settings if item.get("section") == "magent" else None for item in params["items"]
                ], None
            case "client/registerCapability":
                self.registrations += params["registrations"]
                return None, None
        if self.profile.unknown_request == "null":
            return None, None
        raise ResponseError({"code": -32601, "message": f"Method not found: {method}"})

    async def _question(self, params: dict[str, Any]) -> Any:
        self.questions.append(params)
        async with self._news:
            self._news.notify_all()
        answer = self.answers.popleft() if self.answers else self.always
        if callable(answer):
            answer = answer(params)
            if asyncio.iscoroutine(answer):
                answer = await answer
        self._asleep = self.profile.sleeps
        if isinstance(answer, str):
            titles = [action["title"] for action in params.get("actions") or []]
            title = next((title for title in titles if title == answer), None) or next(
                title for title in titles if title.startswith(answer)
            )
            return {"title": title}
        return answer

    async def _apply_edit(self, params: dict[str, Any]) -> tuple[Any, Callable[[], None] | None]:
        self.edits.append(params)
        match self.apply:
            case "reject":
                return {"applied": False}, None
            case "lie":
                return {"applied": True}, None
            case "silent":
                return NO_ANSWER, None
            case "error":
                raise ResponseError({"code": -32803, "message": "User cancelled server edit"})
        edited: list[Buffer] = []
        for uri, version, edits in _documents(params["edit"]):
            buffer = self.buffers.get(uri)
            if buffer is None:
                raise ResponseError({"code": -32803, "message": f"{uri} is not open"})
            if self.profile.drops_stale and 0 < (version or 0) < buffer.version:
                return {"applied": True}, partial(self._tell, buffer)
            if self.profile.checks_version and version not in (None, buffer.version):
                if not self.profile.names_version:
                    return {"applied": False}, None
                words = f"Edits on `{uri}' require version {version}, you have {buffer.version}"
                raise ResponseError({"code": -32603, "message": words})
            buffer.apply(edits)
            edited.append(buffer)

        def changed() -> None:
            for buffer in edited:
                self._tell(buffer)

        return {"applied": True}, changed


def _documents(edit: dict[str, Any]) -> list[tuple[str, int | None, list[dict[str, Any]]]]:
    if edit.get("documentChanges") is not None:
        return [
            (change["textDocument"]["uri"], change["textDocument"].get("version"), change["edits"])
            for change in edit["documentChanges"]
        ]
    return [(uri, None, edits) for uri, edits in (edit.get("changes") or {}).items()]


# -- the server's process ---------------------------------------------------------------------------


def server_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment in which only `home` can be written and no key of the person is seen."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "MAGENT_CONFIG": str(home / "config" / "config.yaml"),
        "MAGENT_STATE_DIR": str(home / "state"),
        "MAGENT_TITLES": "false",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONDONTWRITEBYTECODE": "",
        **more,
    }


async def start_server(
    *arguments: str, env: Mapping[str, str], cwd: Path | None = None, code: str | None = None
) -> asyncio.subprocess.Process:
    """`magent-lsp` with these arguments; `code` is Python to run in its place."""
    program = ["-m", "magent_lsp", *arguments] if code is None else ["-c", code, *arguments]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        limit=1 << 24,
        start_new_session=True,
    )


def settings_of(home: Path, script: Sequence[Mapping[str, Any]] | None, **settings: Any) -> dict[str, Any]:
    """Settings with a recorded model."""
    if script is None:
        return settings
    path = home / "script.json"
    path.write_text(json.dumps(list(script)), encoding="utf-8")
    return {"model": f"scripted:{path}", **settings}


@asynccontextmanager
async def editor(
    home: Path,
    *,
    profile: Profile = VSCODE,
    script: Sequence[Mapping[str, Any]] | None = None,
    client: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: bool = True,
    initialize: bool = True,
    code: str | None = None,
) -> AsyncIterator[LspClient]:
    """An editor with a running server on stdio and a workspace `ws` in `home`."""
    workspace = home / "ws"
    workspace.mkdir(exist_ok=True)
    (home / "config").mkdir(exist_ok=True)
    for name, text in (files or {}).items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    process = await start_server(env=server_environment(home, **(environment or {})), cwd=home, code=code)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stderr = asyncio.create_task(process.stderr.read())
    link = StreamLink(process.stdout, process.stdin)
    session = LspClient(link, profile, workspace if folder else None)
    session.process = process
    try:
        if initialize:
            options = settings_of(home, script, warmUp=False, **(settings or {}))
            await session.initialize(magent={**options, "client": dict(client or {})})
        yield session
        if session.failure is not None:
            raise session.failure
    except BaseException:
        with suppress(ProcessLookupError):
            process.kill()
        sys.stderr.write((await stderr).decode(errors="replace")[-6000:])
        raise
    finally:
        await session.close()
        try:
            async with asyncio.timeout(8):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError("the server did not end within 8 s after its stdin closed") from None
        finally:
            (home / "stderr.txt").write_bytes(await stderr)
