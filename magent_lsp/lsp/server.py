"""The language server: its features, and the ways to serve it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcParseError
from pygls.lsp.server import LanguageServer

from magent_lsp import __version__
from magent_lsp.core.errors import CallerError
from magent_lsp.lsp import log
from magent_lsp.lsp.commands.names import COMMANDS
from magent_lsp.lsp.habits import habits_of
from magent_lsp.lsp.lifecycle import Lifecycle
from magent_lsp.lsp.wire import Wire, plain_converter

logger = logging.getLogger(__name__)

CONNECTION: ContextVar["MagentServer | None"] = ContextVar("connection", default=None)
"""The connection on whose behalf code runs; a process may serve several."""

CODE_ACTIONS = types.CodeActionOptions(
    code_action_kinds=[
        types.CodeActionKind.QuickFix,
        types.CodeActionKind.RefactorRewrite,
        types.CodeActionKind.Source,
    ]
)


class MagentServer(LanguageServer):
    """The server's end of one connection."""

    protocol: Wire

    def __init__(self, *, token: str | None = None, converter: Converter | None = None) -> None:
        super().__init__(
            "magent-lsp",
            __version__,
            protocol_cls=Wire,
            converter_factory=plain_converter if converter is None else lambda: converter,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        )
        self.token = token
        """What `initializationOptions.magent.token` must be; None: whoever connects is welcome."""
        self.admitted = token is None
        self.exit_code = 1
        """0 once the client asked for a shutdown before it left."""
        self.beside_its_client = False
        """Whether the client is a process of this machine, so that its id means something."""
        self.lifecycle = Lifecycle(self)
        self._ended = asyncio.Event()

    def message(self, kind: types.MessageType, text: str) -> None:
        """Show a text to the person."""
        habits = habits_of(self.protocol.client, self.client_capabilities)
        for part in filter(str.strip, text.split("\n")) if habits.one_line else (text,):
            self.window_show_message(types.ShowMessageParams(type=kind, message=part))

    def is_current(self) -> bool:
        """Whether the code that asks runs on behalf of this connection."""
        return CONNECTION.get() is self

    def plain(self, value: Any) -> Any:
        """An LSP value as plain JSON."""
        return self.protocol.plain(value)

    def disconnect(self) -> None:
        """End this connection; `converse` does the rest."""
        self._ended.set()

    async def converse(self, messages: AsyncIterator[bytes | str]) -> None:
        """Take messages until the client leaves, then end all work."""
        CONNECTION.set(self)
        listening = asyncio.create_task(self._listen(messages), name="listen")
        ended = asyncio.create_task(self._ended.wait(), name="ended")
        try:
            await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, ended):
                task.cancel()
            await self.lifecycle.close()
            self.protocol.give_up()
            self.protocol.flush()

    async def _listen(self, messages: AsyncIterator[bytes | str]) -> None:
        async for body in messages:
            self.receive(body)
            if self._ended.is_set():
                return
            # A burst of messages must not keep the handlers it started from running.
            await asyncio.sleep(0)

    def receive(self, body: bytes | str) -> None:
        """Handle one message; what is wrong with it never ends the connection."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self.protocol.refuse(None, JsonRpcParseError("The message is not JSON."))
            return
        self.protocol.heard(body)
        try:
            self.protocol.handle_message(message)
        except Exception:
            logger.exception("a message could not be handled")

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong outside of any request; a pop-up would say nothing that a person can use."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def make_server(*, token: str | None = None, converter: Converter | None = None) -> MagentServer:
    """A server for one connection, with all its features; a `converter`, slow to make, may serve many."""
    server = MagentServer(token=token, converter=converter)
    _add_lifecycle(server)
    _add_features(server)
    for name in COMMANDS:
        server.command(name)(_command(server, name))
    return server


def _add_lifecycle(server: MagentServer) -> None:
    life = server.lifecycle

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        life.initialize(params)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        life.initialized()

    @server.feature(types.SHUTDOWN)
    async def shutdown(*_: Any) -> None:
        await life.close()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration(params: types.DidChangeConfigurationParams) -> None:
        life.configuration_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        life.folders_changed(params)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        life.files_changed(params)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        life.opened(params)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        life.saved(params)


def _add_features(server: MagentServer) -> None:
    life = server.lifecycle

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, CODE_ACTIONS)
    async def code_action(params: types.CodeActionParams) -> Any:
        edge = await life.edge()
        return edge.actions.answer(params)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    async def completion(params: types.CompletionParams) -> Any:
        edge = await life.edge()
        from magent_lsp.lsp.completion import complete

        return await complete(edge, params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> Any:
        edge = await life.edge()
        from magent_lsp.lsp.hover import hover

        return hover(edge, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> Any:
        edge = await life.edge()
        from magent_lsp.lsp.chat.lens import lenses

        return await lenses(edge, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folds(params: types.FoldingRangeParams) -> Any:
        edge = await life.edge()
        from magent_lsp.lsp.chat.lens import folds

        return await folds(edge, params.text_document.uri)

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def cancelled(params: types.WorkDoneProgressCancelParams) -> None:
        if (edge := life.started) is not None:
            edge.watch.progress.cancelled(params.token)

    @server.feature("magent/ask")
    async def ask(params: Any) -> Any:
        from magent_lsp.lsp.requests import ask as answer

        return await answer(await life.edge(), params)

    @server.feature("magent/wait")
    async def wait(params: Any) -> Any:
        from magent_lsp.lsp.requests import wait as answer

        return await answer(await life.edge(), params)


def _command(server: MagentServer, name: str) -> Callable[..., Any]:
    async def run(*arguments: Any) -> Any:
        edge = await server.lifecycle.edge()
        from magent_lsp.lsp.commands.registry import execute

        return await execute(edge, name, arguments)

    return run


def serve(arguments: Any) -> int:
    """Serve as the command line says: `tcp`, `ws`, `token_file`, `log_file`, `verbose`; the exit code."""
    if arguments.tcp is not None:
        serving = partial(serve_tcp, *host_and_port(arguments.tcp), token_file=arguments.token_file)
    elif arguments.ws is not None:
        serving = partial(serve_ws, *host_and_port(arguments.ws), token_file=arguments.token_file)
    else:
        serving = partial(serve_stdio)
    return serving(log_file=arguments.log_file, verbosity=arguments.verbose)


def host_and_port(value: str) -> tuple[str, int]:
    """`127.0.0.1:7000`, `[::1]:7000`, or a port alone, which means this machine."""
    host, _, port = value.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise CallerError(f"{value!r} is no HOST:PORT, such as 127.0.0.1:7000.")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def serve_stdio(*, log_file: Path | None = None, verbosity: int = 0) -> int:
    """Serve one client on stdin and stdout; returns the exit code when it has left."""
    from magent_lsp.lsp.stdio import run_stdio

    log.configure(log_file=log_file, verbosity=verbosity)
    return run_stdio(make_server)


def serve_tcp(
    host: str, port: int, *, token_file: Path | None = None, log_file: Path | None = None, verbosity: int = 0
) -> int:
    """Serve any number of clients on a TCP port, each with a server of its own, until a signal comes."""
    from magent_lsp.lsp.network import run_tcp

    log.configure(log_file=log_file, verbosity=verbosity)
    return run_tcp(host, port, token_file, make_server)


def serve_ws(
    host: str, port: int, *, token_file: Path | None = None, log_file: Path | None = None, verbosity: int = 0
) -> int:
    """Serve any number of clients on a WebSocket port, each with its own server, until a signal comes."""
    from magent_lsp.lsp.network import run_ws

    log.configure(log_file=log_file, verbosity=verbosity)
    return run_ws(host, port, token_file, make_server)
