"""From `initialize` to the end of a connection: settings, folders, watched files."""

import asyncio
import importlib
import linecache
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.errors import UserError
from magent_lsp.lsp.own_files import is_own
from magent_lsp.lsp.parent import Parent
from magent_lsp.lsp.registrations import later
from magent_lsp.lsp.settings import SECTION, merge, pushed_section, split_options

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge
    from magent_lsp.lsp.server import MagentServer

logger = logging.getLogger(__name__)

PULL_SECONDS = 3
"""How long a client may take to send its configuration before we begin without it."""

SHUTTING_DOWN = "The server is shutting down."

RELOAD_SECONDS = 0.3
"""Changes of files that come within this time are one reload."""


class Lifecycle:
    """What a connection goes through; makes the Edge, and keeps its settings and folders current."""

    def __init__(self, server: "MagentServer") -> None:
        self._server = server
        self._options: dict[str, Any] = {}
        self._client: dict[str, Any] = {}
        self._starting: asyncio.Task[Edge] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reload: asyncio.TimerHandle | None = None
        self._configuring: asyncio.Task[None] | None = None
        self._parent: Parent | None = None
        self._closed = False

    # -- beginning ----------------------------------------------------------------------------------

    def initialize(self, params: types.InitializeParams) -> None:
        """Take the options; nothing heavy happens before the answer is sent."""
        self._options, self._client = split_options(params.initialization_options)
        if self._server.beside_its_client and params.process_id is not None:
            self._parent = Parent(params.process_id, self._server.disconnect)

    def initialized(self) -> None:
        """Begin to load what is heavy, and register what the client lets us register."""
        self._begin()
        self._spawn(self._register(), "register")

    async def edge(self) -> "Edge":
        """The edge, as soon as it is there and knows what the client told before.

        UserError if the connection ends first.
        """
        if self._closed and self.started is None:
            raise UserError(SHUTTING_DOWN)
        try:
            edge = await asyncio.shield(self._begin())
        except asyncio.CancelledError:
            if self._closed:
                raise UserError(SHUTTING_DOWN) from None
            raise
        if self._configuring is not None:
            await asyncio.wait([self._configuring])
        if self._reload is not None:
            self._reload_now(edge)
        return edge

    @property
    def started(self) -> "Edge | None":
        """The edge if it is there already."""
        task = self._starting
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    def _begin(self) -> "asyncio.Task[Edge]":
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(), name="start")
            self._starting.add_done_callback(self._begun)
        return self._starting

    async def _start(self) -> "Edge":
        # The imports take longer than a client should have to wait for an answer to anything else.
        edge_module, section = await asyncio.gather(asyncio.to_thread(_import), self._pull())
        edge: Edge = edge_module.Edge(
            self._server, client=self._client, options=self._options, section=section or {}
        )
        await edge.open()
        return edge

    def _begun(self, task: "asyncio.Task[Edge]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the server could not start", exc_info=error)
            self._server.message(types.MessageType.Error, f"Magent could not start: {error}")

    # -- settings -----------------------------------------------------------------------------------

    async def _pull(self) -> dict[str, Any] | None:
        """Our section as the client has it; None if it cannot be asked or does not say."""
        workspace = self._server.client_capabilities.workspace
        if workspace is None or not workspace.configuration:
            return None
        params = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
        try:
            answer = await self._server.protocol.call(
                types.WORKSPACE_CONFIGURATION, params, seconds=PULL_SECONDS
            )
        except TimeoutError:
            logger.warning("the client did not answer workspace/configuration within %s s", PULL_SECONDS)
            return None
        except JsonRpcException as error:
            logger.warning("the client refused workspace/configuration: %s", error)
            return None
        section = answer[0] if isinstance(answer, list | tuple) and answer else None
        return merge({}, section) if isinstance(section, dict) else {}

    def configuration_changed(self, params: types.DidChangeConfigurationParams) -> None:
        """Take pushed settings, or ask for them if the message only says that they changed."""
        self._configuring = self._spawn(self._configure(params, self._configuring), "configure")

    async def _configure(
        self, params: types.DidChangeConfigurationParams, before: "asyncio.Task[None] | None"
    ) -> None:
        edge = await asyncio.shield(self._begin())
        if before is not None:
            await asyncio.wait([before])
        from magent_lsp.lsp.edge import SETTING_NAMES

        section = pushed_section(params.settings, SETTING_NAMES)
        if section is None:
            section = await self._pull()
        if section is not None:
            edge.configure(merge({}, section))

    # -- folders and files --------------------------------------------------------------------------

    def folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Workspace folders came or went; the workspace knows already."""
        self._spawn(self._reload_folders(), "folders")

    async def _reload_folders(self) -> None:
        (await asyncio.shield(self._begin())).reload()

    def files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Files that the client watches for us changed."""
        if any(self._is_ours(change.uri) for change in params.changes):
            self._reload_soon()

    def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """A document was saved; for clients that watch no files."""
        if self._is_ours(params.text_document.uri):
            self._reload_soon()

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document was opened: if it is a file of ours, it may have changed while nobody watched it."""
        if self._is_ours(params.text_document.uri):
            self._reload_soon()

    def _is_ours(self, uri: str) -> bool:
        edge = self.started
        return is_own(uri, edge.dirs.user if edge is not None else None)

    def _reload_soon(self) -> None:
        edge = self.started
        if edge is None:
            return
        if self._reload is not None:
            self._reload.cancel()
        self._reload = asyncio.get_running_loop().call_later(RELOAD_SECONDS, self._reload_now, edge)

    def _reload_now(self, edge: "Edge") -> None:
        if self._reload is not None:
            self._reload.cancel()
            self._reload = None
        edge.reload()

    async def _register(self) -> None:
        edge = await asyncio.shield(self._begin())
        registrations = later(edge, self._server.client_capabilities)
        if not registrations:
            return
        params = types.RegistrationParams(registrations=registrations)
        try:
            await self._server.protocol.call(types.CLIENT_REGISTER_CAPABILITY, params, seconds=30)
        except (JsonRpcException, TimeoutError) as error:
            logger.info("the client registered nothing: %s", error)

    # -- end ----------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all work of this connection; bounded, and safe to call twice."""
        self._closed = True
        if self._reload is not None:
            self._reload.cancel()
        if self._parent is not None:
            self._parent.close()
        for task in [*self._tasks]:
            task.cancel()
        edge = self.started
        if edge is not None:
            await edge.close()
        elif self._starting is not None:
            self._starting.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        starting = self._starting
        if (
            starting is None
            or not starting.done()
            or starting.cancelled()
            or starting.exception() is not error
        ):
            logger.error("%s failed", task.get_name(), exc_info=error)


def _import() -> Any:
    """Load what is heavy, after `initialize` was answered."""
    linecache.clearcache()  # 1.6 MB: attrs keeps the source of every method that it made for lsprotocol
    importlib.import_module("magent_lsp.lsp.commands.registry")
    return importlib.import_module("magent_lsp.lsp.edge")
