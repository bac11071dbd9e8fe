"""Magent: the one object an edge holds; wires registries, sessions, runs and the model."""

import asyncio
import importlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from magent_lsp.app.configuration import Configuration
from magent_lsp.app.model_access import ModelAccess
from magent_lsp.app.open_sessions import OpenSessions
from magent_lsp.app.status import RunInfo, run_info, status
from magent_lsp.app.workplace import Workplace
from magent_lsp.core.agent import Agent
from magent_lsp.core.config import Settings
from magent_lsp.core.errors import CallerError, UnknownId, UserError
from magent_lsp.core.events import RunFinished
from magent_lsp.core.ports import Editor, EventSink
from magent_lsp.core.request import PermissionReply, PermissionRequest, RunRequest
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Tool
from magent_lsp.core.ways import Ways
from magent_lsp.engine.gate import Gate
from magent_lsp.engine.guest import GUEST_AGENT
from magent_lsp.engine.history import normalise
from magent_lsp.engine.snapshot import Snapshot, Sources
from magent_lsp.store.blobs import BlobStore
from magent_lsp.store.commands import Command
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import Texts
from magent_lsp.store.grants import GrantStore
from magent_lsp.store.problems import Problem
from magent_lsp.store.sessions import SessionStore
from magent_lsp.store.skills import Skill
from magent_lsp.store.trust import Review, TrustStore

if TYPE_CHECKING:  # what only runs need is loaded with the first one
    from magent_lsp.app.runner import Runner
    from magent_lsp.engine.doctor import Report
    from magent_lsp.engine.guest import Guest
    from magent_lsp.engine.run import Run
    from magent_lsp.engine.undo import UndoReport
    from magent_lsp.permissions.decision import Decision

logger = logging.getLogger(__name__)

RUNNER: Final = "magent_lsp.app.runner"
"""Imported with the first run, in a thread."""

ASK_AGENT: Final = "ask"
"""The read-only agent that answers questions at a place."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """The acknowledgement of a prompt."""

    run_id: str
    session_id: str
    queued: bool


class Magent:
    """Everything one client can do; needs a running event loop from `start` on."""

    def __init__(
        self,
        *,
        folders: Sequence[Path],
        editor: Editor,
        sink: EventSink,
        dirs: Dirs,
        environ: Mapping[str, str],
        client_settings: Mapping[str, Any] | None = None,
        allow: Sequence[str] = (),
        overrides: Mapping[str, Any] | None = None,
        interactive: bool = True,
        assume_yes: bool = False,
        terminal: bool = False,
    ) -> None:
        self.dirs = dirs
        self.ways = Ways(config=_short(dirs.config_file), terminal=terminal)
        """The next steps that messages name."""
        self._access = ModelAccess(environ, dirs.user, self.ways)
        self.sessions = SessionStore(
            dirs.state, normalise=normalise, redact=self._access.redact, tell=self._tell
        )
        self.grants = GrantStore(dirs)
        self.trust_store = TrustStore(dirs)
        sources = Sources(
            dirs=dirs, environ=environ, client=client_settings or {}, allow=allow, overrides=overrides
        )
        self.configuration = Configuration(sources, folders)
        self._open = OpenSessions(self.sessions)
        self._resumed: set[Path] = set()
        """Folders whose first prompt has come."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._place = Workplace(
            dirs=dirs,
            environ=environ,
            editor=editor,
            gate=Gate(editor),
            access=self._access,
            sessions=self.sessions,
            blobs=BlobStore(dirs.state),
            sink=sink,
            load=self._load,
            folders=lambda: self.folders,
            remember=self._remember,
            settled=self._settled,
            interactive=interactive,
            assume_yes=assume_yes,
            ways=self.ways,
        )
        self._made: Runner | None = None

    # -- configuration ------------------------------------------------------------------------------

    @property
    def folders(self) -> tuple[Path, ...]:
        """The workspace folders; the first is the default."""
        return self.configuration.folders

    def holder(self, path: Path) -> Path | None:
        """The innermost workspace folder in which a path lies."""
        return self.configuration.holder(path)

    def snapshot(self, folder: Path | None = None) -> Snapshot:
        """Config and registries of a folder; None: of the first."""
        snapshot = self.configuration.snapshot(folder)
        if self._made is None:
            return snapshot
        return replace(snapshot, extra_tools=self._made.servers.known(snapshot.folder))

    @property
    def settings(self) -> Settings:
        """The settings of the first folder."""
        return self.configuration.settings

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong in the files that people wrote, in all folders."""
        return self.configuration.problems

    def problems_with(self, texts: Texts) -> tuple[Problem, ...]:
        """The problems as they would be if these buffers were saved; reads files, so call it in a thread."""
        return self.configuration.problems_with(texts)

    @property
    def trusted(self) -> bool:
        """Whether the config of every folder is trusted."""
        return self.configuration.trusted

    def reload(
        self, *, client_settings: Mapping[str, Any] | None = None, folders: Sequence[Path] | None = None
    ) -> None:
        """Forget what was read; runs that have begun keep their snapshot."""
        self.configuration.forget(client_settings=client_settings, folders=folders)
        if folders is not None and self._made is not None:
            self._made.servers.keep(folders)
        self._access.forget()

    def agents(self) -> Mapping[str, Agent]:
        """All agents of the first folder, hidden ones too."""
        return self.snapshot().agents

    def commands(self) -> Mapping[str, Command]:
        """Slash commands that come from files."""
        return self.snapshot().commands

    def skills(self) -> Mapping[str, Skill]:
        """The skills of the first folder."""
        return self.snapshot().skills

    def tools(self, agent: str | None = None) -> list[Tool]:
        """The tools an agent is offered; None: the default agent."""
        snapshot = self.snapshot()
        return self._runner.driver.offered(self._runner.agent(agent, snapshot), snapshot)

    def guest_tools(self, folder: Path) -> list[Tool]:
        """The tools that an agent of another program is offered; CallerError if our agent for it is gone."""
        return self._runner.guest_tools(self.snapshot(folder), GUEST_AGENT)

    def hide(self, secrets: Mapping[str, str]) -> None:
        """Take the values whose names say that they are secret out of everything that is shown or sent."""
        self._access.learn(secrets)

    async def models(self) -> list[dict[str, Any]]:
        """Models to choose from: the configured ones, and those a local server or a key makes possible."""
        return await self._access.listed(self.settings)

    # -- runs ---------------------------------------------------------------------------------------

    async def warm_up(self) -> None:
        """Load the model client in the background, so that the first prompt need not wait for it."""
        await asyncio.gather(
            self._access.models.warm_up(),
            asyncio.to_thread(self._place.blobs.prune),
            self.load(),
        )

    async def load(self) -> None:
        """Import what runs need, in a thread: it takes longer than the loop may be held up."""
        await asyncio.to_thread(importlib.import_module, RUNNER)

    async def prepare(self, request: RunRequest) -> RunRequest:
        """The request with its session read from disk, so that `start` need not; for edges that hold a
        conversation. Where the settings say so, the first prompt gets the workspace's last session.
        """
        await self.load()
        session_id = request.session_id or await self._last_session(request)
        if session_id is None:
            return request
        await self.open_session(session_id)
        return replace(request, session_id=session_id)

    def start(self, request: RunRequest, guest: "Guest | None" = None) -> Started:
        """Start a run, or queue it behind its session's; returns at once. CallerError for bad ids.

        `guest` is an agent of another program whose calls take the place of a model's replies.
        """
        if not request.prompt.strip():
            raise CallerError("prompt: must not be empty.")
        self._loop = asyncio.get_running_loop()
        if request.session_id is not None:
            session = self.session(request.session_id)
            snapshot = self.snapshot(session.folder)
        else:
            folder = self.configuration.folder_of(request)
            snapshot = self.snapshot(folder)
            session = self.new_session(folder=folder, agent=request.agent)
            if request.passing:
                session.begin_with_question()
        run = self._runner.driver.make(request, session, snapshot, guest=guest)
        queued = self._runner.runs.start(run)
        return Started(run_id=run.id, session_id=session.id, queued=queued)

    async def wait(self, run_id: str) -> RunFinished:
        """The outcome of a run, when it has ended; UnknownId if there is none."""
        return await self._runner.runs.wait(run_id)

    def cancel(self, run_id: str | None = None) -> list[str]:
        """Cancel one run, or all; returns the ids of those that had not ended."""
        return self._runner.runs.cancel(run_id)

    def steer(self, run_id: str, message: str) -> bool:
        """Say something to a running run; False if it has ended."""
        try:
            self._runner.runs.find(run_id).hear(message)
        except UnknownId:
            return False
        return True

    def pending(self) -> list[PermissionRequest]:
        """Permission requests that wait for an answer."""
        return self._place.gate.pending()

    def respond(self, request_id: str, reply: PermissionReply) -> bool:
        """Answer a permission request; False if it is unknown or answered."""
        return self._place.gate.respond(request_id, reply)

    def running(self) -> list[RunInfo]:
        """Runs that have not ended."""
        return [run_info(run) for run in self._unfinished()]

    async def undo(self, run_id: str) -> "UndoReport":
        """Take a run's edits back; text changed since by the person stays."""
        return await self._runner.undo.undo(run_id, self._place.editor)

    async def redo(self, run_id: str) -> "UndoReport":
        """Bring back what `undo` took."""
        return await self._runner.undo.redo(run_id, self._place.editor)

    # -- sessions -----------------------------------------------------------------------------------

    async def open_session(self, session_id: str) -> Session:
        """As `session`, read in a thread: a long one takes a while."""
        return await self._open.read(session_id)

    def session(self, session_id: str) -> Session:
        """An open session, or one from disk; UnknownId if there is none."""
        return self._open.get(session_id)

    def new_session(
        self, *, folder: Path | None = None, agent: str | None = None, model: str | None = None
    ) -> Session:
        """A new, empty session."""
        folder = folder or (self.folders[0] if self.folders else Path.cwd())
        chosen = self._runner.agent(agent, self.snapshot(folder))
        return self._open.create(folder, chosen.name, model)

    def open_session_ids(self) -> set[str]:
        """The sessions that are open."""
        return {session.id for session in self._open}

    def close_session(self, session_id: str) -> None:
        """Forget an open session; UserError while it is at work."""
        if any(run.session.id == session_id for run in self._unfinished()):
            raise CallerError(f"sessionId: session {session_id!r} is at work; cancel its run first.")
        session = self._open.pop(session_id)
        if session is not None:
            if self._made is not None:
                self._made.driver.end_session(session)
            self.sessions.close(session)

    # -- permissions and trust ----------------------------------------------------------------------

    def explain(self, tool: str, arguments: Mapping[str, Any], agent: str | None = None) -> "Decision":
        """The verdict on a call and why; CallerError for an unknown tool or bad arguments."""
        return self._runner.explain(tool, arguments, agent, self.snapshot())

    def review_trust(self, folder: Path | None = None) -> Review:
        """What trusting a folder's own config would allow or run."""
        chosen = folder or (self.folders[0] if self.folders else None)
        if chosen is None:
            raise CallerError("There is no workspace folder whose config could be trusted.")
        return self.trust_store.review(chosen)

    def trust(self, review: Review) -> None:
        """Trust exactly what was reviewed; a later change asks again."""
        self.trust_store.trust(review.folder, review.digest)
        self.reload()

    # -- reports ------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Runs, sessions, model, agent, usage, trust and problems, as plain JSON."""
        return status(
            self.configuration,
            self._access,
            self.running(),
            self._open,
            self.pending(),
            self.sessions.ledger.today(),
            self._outside_problems(),
        )

    def _outside_problems(self) -> tuple[Problem, ...]:
        if self._made is None:
            return ()
        from magent_lsp.app.outside import problems

        return tuple(each for folder in self.folders for each in problems(self._made.servers, folder))

    async def doctor(self) -> "Report":
        """What is configured, what is missing and how to mend it."""
        from magent_lsp.app.guests.standing import sections
        from magent_lsp.app.outside import examine
        from magent_lsp.engine.doctor import report

        snapshot = self.configuration.snapshot()
        environment = self._access.child_environment(snapshot.settings)
        folder = snapshot.folder or Path.cwd()
        return await report(
            snapshot=snapshot,
            folders=self.folders,
            dirs=self.dirs,
            environ=self._place.environ,
            choose=lambda: self._access.choose(self.settings),
            check=lambda: self._access.check(self.settings),
            secret_names=self._access.secret_names,
            ways=self.ways,
            servers=lambda: examine(self._runner.servers, snapshot, folder, environment),
            more=await asyncio.to_thread(sections, self.dirs.guests, wanted=snapshot.settings.serve_mcp),
        )

    async def close(self) -> None:
        """Cancel all runs and let go of the sessions."""
        if self._made is not None:
            await self._made.close()
        await self._open.close()
        await self._access.models.close()

    # -- wiring -------------------------------------------------------------------------------------

    @property
    def _runner(self) -> "Runner":
        if self._made is None:
            from magent_lsp.app.runner import Runner

            self._made = Runner(self._place, self)
        return self._made

    def _unfinished(self) -> "list[Run]":
        return list(self._made.runs.unfinished()) if self._made is not None else []

    def _load(self, folder: Path | None) -> Snapshot:
        snapshot = self.configuration.load(folder)
        self.sessions.save_reasoning = snapshot.settings.save_reasoning
        return snapshot

    async def _last_session(self, request: RunRequest) -> str | None:
        folder = self.configuration.folder_of(request)
        if self.snapshot(folder).settings.resume != "last" or folder in self._resumed or request.scope:
            return None
        default = self.snapshot(folder).settings.agent
        if request.agent == ASK_AGENT != default:
            return None  # a question at a place is no part of a conversation
        self._resumed.add(folder)

        def fits(agent: str) -> bool:
            if request.agent:
                return agent == request.agent
            return agent == default or agent not in (ASK_AGENT, GUEST_AGENT)

        last = await asyncio.to_thread(self.sessions.last, folder, fits)
        try:
            return (await self.open_session(last)).id if last is not None else None
        except UserError as error:  # it is in use elsewhere, or cannot be read
            logger.warning("the last session is not resumed: %s", error)
            return None

    def _tell(self, text: str) -> None:
        """Say what is wrong with a session's file: in the runs if there are any, else in the log.

        Called from whatever thread.
        """
        loop = self._loop
        heard = loop is not None and not loop.is_closed() and bool(self._unfinished())
        logger.log(logging.INFO if heard else logging.WARNING, "%s", text)
        if heard and loop is not None:
            loop.call_soon_threadsafe(self._runner.runs.notify, text)

    def _remember(self, rules: Sequence[Any], reason: str) -> None:
        self.grants.add(rules, reason)
        self.configuration.forget()

    def _settled(self, run: "Run") -> None:
        self._open.settle(run.session, goes_on=run.parent is None or run.durable)


def _short(path: Path) -> str:
    """A path as people write it, with `~` for their home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
