"""One initialized client: the app that serves it, and what stands between the two."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pydantic import ValidationError

from magent_lsp.app import Magent, Started
from magent_lsp.core.config import Client, Settings
from magent_lsp.core.edits import EditOutcome
from magent_lsp.core.errors import CallerError, MagentError
from magent_lsp.core.request import RunRequest
from magent_lsp.lsp.actions import CodeActions
from magent_lsp.lsp.asking import AskingEditor
from magent_lsp.lsp.chat.desk import Chats
from magent_lsp.lsp.checking import Checking
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.documents import Documents
from magent_lsp.lsp.guests import Guests
from magent_lsp.lsp.log import EditorLog, follow_settings, redactor
from magent_lsp.lsp.problems import Problems
from magent_lsp.lsp.questions import Questions
from magent_lsp.lsp.settings import merge
from magent_lsp.lsp.watch import Watch, Watched
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.problems import Problem

if TYPE_CHECKING:
    from magent_lsp.lsp.server import MagentServer
    from magent_lsp.store.trust import Review

logger = logging.getLogger(__name__)

T = TypeVar("T")

CLOSE_SECONDS = 3
"""How long the end of a connection may wait for its runs to end."""

SETTING_NAMES = frozenset(field.alias or name for name, field in Settings.model_fields.items())


class Edge:
    """Everything of one client that exists once it is initialized."""

    def __init__(
        self,
        server: "MagentServer",
        *,
        client: Mapping[str, Any],
        options: Mapping[str, Any],
        section: Mapping[str, Any],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self.server = server
        self.client, self._odd_client = read_client(client)
        self.environ = environ
        self.dirs = Dirs.from_environment(environ)
        self.answers = self.dirs.state / "answers"
        self.chat_folder = self.dirs.state / "chats"
        self._options = dict(options)
        self._section = dict(section)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.editor = AskingEditor(server, self.client, lambda: self.settings)
        self.editor.on_late(self._late)
        self.editor.on_held_back(self._held_back)
        self.watch = Watch(self)
        self.questions = self.editor.questions = Questions(self)
        self.chats = Chats(self)
        self.editor.selected = lambda: self.chats.selections.last(self)
        self.actions = CodeActions(self)
        self.problems = Problems(server)
        self.guests = Guests(self)
        self._checking = Checking(self)
        self.reviewing: Review | None = None
        """What the person is asked to trust at the moment."""
        self.app = Magent(
            folders=self.folders(),
            editor=self.editor,
            sink=self.watch,
            dirs=self.dirs,
            environ=environ,
            client_settings=merge(self._options, self._section),
        )
        self.redact = redactor(environ)
        """Takes what must not be shown out of a text."""
        self._log = EditorLog(server.window_log_message, self.redact, server.is_current)

    async def open(self) -> None:
        """Begin to work: log to the editor, show problems, load the model client in the background."""
        logging.getLogger("magent_lsp").addHandler(self._log)
        await self._load()
        if self.settings.warm_up:
            self.spawn(self.app.warm_up(), name="warm-up")

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.app.settings

    @property
    def model_ready(self) -> bool:
        """Whether the model client is loaded."""
        return bool(self.app.status()["modelClientReady"])

    @property
    def shows_progress(self) -> bool:
        """Whether the client declared work-done progress."""
        window = self.server.client_capabilities.window
        return bool(window is not None and window.work_done_progress)

    @property
    def can_show_documents(self) -> bool:
        """Whether the client declared `window/showDocument`."""
        window = self.server.client_capabilities.window
        return bool(window is not None and window.show_document is not None and window.show_document.support)

    def folders(self) -> list[Path]:
        """The workspace folders that are files; without any, none."""
        workspace = self.server.workspace
        uris = [folder.uri for folder in workspace.folders.values()]
        if not uris and workspace.root_uri:
            uris = [workspace.root_uri]
        paths = [to_path(uri) for uri in uris]
        return list(dict.fromkeys(path for path in paths if path is not None))

    def spell(self, uri: str) -> str:
        """The client's own spelling of the URI of an open document."""
        document = self.documents.open_document(uri)
        return document.uri if document is not None else uri

    def open_text(self, uri: str) -> str | None:
        """The text of an open document."""
        document = self.documents.open_document(uri)
        return document.source if document is not None else None

    def open_line(self, uri: str, line: int) -> str:
        """One line of an open document; empty if there is none."""
        document = self.documents.open_document(uri)
        if document is None or not 0 <= line < len(document.lines):
            return ""
        return document.lines[line]

    @property
    def documents(self) -> Documents:
        """The open documents."""
        workspace = self.server.workspace
        assert isinstance(workspace, Documents)
        return workspace

    async def begin(self, request: RunRequest, watched: Watched) -> Started:
        """Start a run and show it, in its session, which may have to be read from disk first."""
        if self._closed:
            raise CallerError("The server is shutting down.")
        return self.start(await self.app.prepare(request), watched)

    def start(self, request: RunRequest, watched: Watched) -> Started:
        """Start a run and show it."""
        if self._closed:
            raise CallerError("The server is shutting down.")
        started = self.app.start(request)
        self.watch.follow(started.run_id, watched)
        if started.queued:
            self.watch.progress.report(started.run_id, "queued")
        return started

    def cancel(self, run_id: str | None = None) -> list[str]:
        """Cancel a run, or all of this client."""
        return self.app.cancel(run_id)

    def configure(self, section: Mapping[str, Any]) -> None:
        """Take a new LSP section of settings; nothing happens if it is the same."""
        if dict(section) == self._section:
            return
        self._section = dict(section)
        self.reload()

    def reload(self) -> None:
        """Read all files of the user again, and the folders."""
        if self._closed:
            return
        self.app.reload(client_settings=merge(self._options, self._section), folders=self.folders())
        self.guests.renew()
        self.spawn(self._load(), name="reload")

    async def _load(self) -> None:
        # Reading the files is the slow part; in a thread it does not hold up the editor.
        problems = await self.in_thread(lambda: self.app.problems)
        follow_settings(self._log, self.settings.log)
        self.problems.announce([*self._odd_client, *problems])
        await self._checking.look()
        await self.guests.follow()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show these, and no others, as diagnostics."""
        self.problems.publish([*self._odd_client, *problems])

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> "asyncio.Task[Any]":
        """Run something in the background; its failure is logged, and it ends with the connection."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Do blocking file work beside the loop."""
        return await asyncio.to_thread(function, *arguments)

    async def close(self) -> None:
        """End all runs, bounded, and everything else of this connection."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(self.guests.close(), self.app.close())
        except TimeoutError:
            logger.warning("some runs did not end within %s s", CLOSE_SECONDS)
        finally:
            self._checking.close()
            self.watch.close()
            self.editor.close()
            logging.getLogger("magent_lsp").removeHandler(self._log)
            for task in list(self._tasks):
                task.cancel()
        if self._tasks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.gather(*self._tasks, return_exceptions=True)

    def _late(self, outcome: EditOutcome) -> None:
        """An edit that could not be confirmed was found to have landed, or not, after all."""
        name = outcome.path.name
        if outcome.outcome == "diverged":
            words = f"Magent: {name} is not as the editor said it was after the edit; please look at it."
            self.server.message(types.MessageType.Warning, words)
        else:
            words = f"Magent: the edit of {name} was {outcome.outcome} after all."
            self.server.message(types.MessageType.Info, words)

    def _held_back(self) -> None:
        """The editor tells of an edit with the person's next key, and the agent waits for it."""
        words = "Magent: press a key, C-g say: Emacs tells what it changed with the next key only."
        self.server.message(types.MessageType.Info, words)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, MagentError):
            logger.info("%s: %s", task.get_name(), error)
        else:
            logger.error("%s failed", task.get_name(), exc_info=error)


def read_client(value: Mapping[str, Any]) -> tuple[Client, list[Problem]]:
    """What the shim can do; fields that are wrong count as false, and are named."""
    good = dict(value)
    problems: list[Problem] = []
    while True:
        try:
            return Client.model_validate(good), problems
        except ValidationError as error:
            for item in error.errors(include_url=False):
                key = str(item["loc"][0]) if item["loc"] else ""
                if key not in good:
                    return Client(), problems
                del good[key]
                message = f"initializationOptions.magent.client.{key}: {item['msg']}; it is ignored."
                problems.append(Problem(message=message))
