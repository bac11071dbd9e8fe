"""A run from its prompt to its outcome: prepare, expand, ask, loop, settle."""

import asyncio
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from magent_lsp.core.agent import Agent
from magent_lsp.core.document import Document
from magent_lsp.core.errors import CallerError, ToolError
from magent_lsp.core.events import Notice, TextDeltaEvent
from magent_lsp.core.messages import AssistantMessage, UserMessage
from magent_lsp.core.ports import EventSink, ModelSettings
from magent_lsp.core.request import RunRequest, StopReason
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Tool, ToolContext
from magent_lsp.engine.about import About, Parts
from magent_lsp.engine.announce import announce
from magent_lsp.engine.asking import ask_person
from magent_lsp.engine.crew import Crew, Steps
from magent_lsp.engine.emitter import Emitter, Sinks
from magent_lsp.engine.executor import Executor
from magent_lsp.engine.guest import GUEST_AGENT, Guest
from magent_lsp.engine.limits import budget_of, watch_tree
from magent_lsp.engine.loop import Loop
from magent_lsp.engine.offer import offered_tools
from magent_lsp.engine.outside import connect
from magent_lsp.engine.permit import Rejected, judge_for
from magent_lsp.engine.plans import mentioned, suggested
from magent_lsp.engine.prompt import system_prompt, user_turn
from magent_lsp.engine.run import Host, Run
from magent_lsp.engine.runs import Runs
from magent_lsp.engine.scopes import Target
from magent_lsp.engine.served import Served, take_words
from magent_lsp.engine.session_hooks import SessionHooks
from magent_lsp.engine.skills import load_skill
from magent_lsp.engine.slash import Builtin, Expanded, expand_prompt
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.engine.subagents import Subagents
from magent_lsp.engine.summaries import needs_model
from magent_lsp.engine.telemetry import Telemetry
from magent_lsp.engine.titles import Titles
from magent_lsp.engine.trace import Trace
from magent_lsp.engine.view import View
from magent_lsp.engine.window import Window
from magent_lsp.permissions.place import Place
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.instructions import Instruction, load_instructions
from magent_lsp.store.sessions import SessionStore
from magent_lsp.tools.ground import Ground

PLAN_AGENT: Final = "plan"


class Driver:
    """Makes runs and drives them."""

    def __init__(
        self,
        *,
        host: Host,
        dirs: Dirs,
        sessions: SessionStore,
        sink: EventSink,
        load: Callable[[Path | None], Snapshot],
        folders: Callable[[], tuple[Path, ...]],
        builtins: Mapping[str, Builtin],
        settled: Callable[[Run], None],
    ) -> None:
        self._host = host
        self._dirs = dirs
        self._sessions = sessions
        self._sink = sink
        self._load = load
        self._folders = folders
        about = About(
            Parts(
                settings=self._settings,
                instructions=self._instructions,
                system=system_prompt,
                tools=lambda run: self.offered(run.agent, run.snapshot, run),
            )
        )
        self._builtins: Mapping[str, Builtin] = {**builtins, **about.commands()}
        self._session_hooks = SessionHooks(host, sessions)
        self._views: WeakKeyDictionary[Session, View] = WeakKeyDictionary()
        self._telemetry = Telemetry()
        self._titles = Titles()
        self._told = settled
        self.crew = Crew(sessions.close)
        self.runs = Runs(self.drive, self._settled)

    def make(
        self,
        request: RunRequest,
        session: Session,
        snapshot: Snapshot,
        parent: Run | None = None,
        steps: Steps | None = None,
        guest: Guest | None = None,
    ) -> Run:
        """A run that has not begun; CallerError if its agent does not exist."""
        run_id = f"run-{uuid.uuid4().hex[:12]}"
        trace = Trace(run_id, self._host.redact, parent.trace if parent else None)
        sinks = Sinks(trace, self._sink, *([steps] if steps else []))
        run = Run(
            id=run_id,
            request=request,
            session=session,
            agent=choose_agent(request, session, snapshot, child=parent is not None),
            snapshot=snapshot,
            host=self._host,
            emit=Emitter(run_id, session.id, sinks, self._host.redact, self._host.unfinished),
            place=self.place(session, guest),
            trace=trace,
            view=self._views.setdefault(session, View()),
            parent=parent,
            guest=guest,
        )
        if parent is None:
            self._aim(run, {document.path: document for document in self._host.editor.documents()})
        return run

    async def drive(self, run: Run) -> StopReason:
        """Carry a run to its end; raises what stopped it."""
        if run.guest is not None:
            run.guest.enter()
            run.place = self.place(run.session, run.guest)
        if run.parent is None:
            run.snapshot = await asyncio.to_thread(self._load, run.session.folder)
            run.agent = choose_agent(run.request, run.session, run.snapshot, child=False)
        if run.guest is not None:
            run.guest.read = run.guest.in_force(run.snapshot, self._folders())
        run.trace.spans = self._telemetry.of(run.settings)
        run.budget = budget_of(run)
        run.hooks = self._session_hooks.of(run)
        await self._aim_again(run)
        announce(run)
        subagents = Subagents(run, self._spawn, self.runs, self.crew)
        executor = Executor(run, self._context(run, subagents), subagents.delegate)
        if run.parent is not None:
            run.loops = run.root.tree.lend(run.agent.name)
        try:
            return await self._work(run, executor, subagents)
        except Rejected:
            return "rejected"
        finally:
            watch_tree(run)
            await subagents.end()
            await run.hooks.close()

    async def _work(self, run: Run, executor: Executor, subagents: Subagents) -> StopReason:
        told = ""
        if run.parent is not None or needs_model(run.request.prompt, run.snapshot.commands):
            told = await self._session_hooks.begin(run)
        if run.guest is not None:
            return await self._receive(run, executor, run.guest)
        expanded = await self._expand(run, executor)
        if expanded.answer is not None:
            if expanded.command == "clear":
                await self._session_hooks.cleared(run)
            return self._answered(run, expanded.answer)
        await connect(run)
        if expanded.subagent is not None:
            result = await subagents.delegate(expanded.subagent, expanded.prompt, False)
            run.session.append(_user_message(run, run.request.prompt))
            run.session.append(AssistantMessage(id=_message_id(), text=result.text))
            return self._answered(run, result.text)
        run.tools = tuple(self.offered(run.agent, run.snapshot, run))
        settings = await self._settings(run)
        system = self._host.redact(system_prompt(run, await self._instructions(run)))
        loop = Loop(
            run,
            executor,
            system=system,
            settings=settings,
            window=await self._window(run, system, settings),
            settle=subagents.settle,
        )
        facts = [run.request.extra, expanded.attached, await self._plan_fact(run, expanded), told]
        request = replace(run.request, extra="\n".join(fact for fact in facts if fact))
        turn = await user_turn(run, request, expanded.prompt)
        run.session.append(_user_message(run, turn))
        return await loop.drive()

    async def _receive(self, run: Run, executor: Executor, guest: Guest) -> StopReason:
        """Let a guest's calls take the place of a model's replies."""
        await connect(run)
        run.tools = tuple(self.offered(run.agent, run.snapshot, run))
        run.session.append(_user_message(run, run.request.prompt))
        return await Served(run, executor, guest).drive()

    async def close(self) -> None:
        """Cancel all runs, let the subagents go, and run what is to be run at the end of sessions."""
        await self._titles.close()
        await self.runs.close()
        await self._session_hooks.close()
        await self.crew.close()
        await asyncio.to_thread(self._telemetry.close)

    def _settled(self, run: Run) -> None:
        if run.guest is not None:  # however the run ended, also before it began
            run.guest.unheard = take_words(run)
        self._told(run)
        self._titles.after(run)

    def end_session(self, session: Session) -> None:
        """A session is closed by a person."""
        self._session_hooks.end(session)

    def _aim(self, run: Run, documents: Mapping[Path, Document]) -> None:
        """Mark the lines of a scoped run in the text as it is now, if that can be had at once."""
        scope = run.request.scope
        if (
            scope is not None
            and scope.span is not None
            and scope.path is not None
            and scope.path in documents
        ):
            run.target = Target(scope, documents[scope.path].text)

    async def _aim_again(self, run: Run) -> None:
        """The same when the run begins: it may have waited, or the file is not open."""
        scope = run.request.scope
        if run.parent is not None or scope is None or scope.span is None or scope.path is None:
            return
        try:
            document = await self._host.editor.read(scope.path)
        except ToolError:
            return
        if run.target is None:
            self._aim(run, {scope.path: document})
        else:
            run.target.follow(document.text)

    async def _plan_fact(self, run: Run, expanded: Expanded) -> str:
        """Where the plan agent writes: the file of this conversation, or a new one for a new topic."""
        if run.agent.name != PLAN_AGENT or run.parent is not None:
            return ""
        topic = expanded.arguments if expanded.command == "plan" else ""
        path = None if topic else mentioned(run.session.messages)
        if path is None:
            topic = topic or expanded.prompt
            path = await asyncio.to_thread(suggested, run.session.folder, topic, date.today())
        return f"Plan file: {path}"

    def _answered(self, run: Run, text: str) -> StopReason:
        """End with an answer that is not the model's turn."""
        run.text = text
        run.emit(TextDeltaEvent(text=text))
        return "end_turn"

    async def _expand(self, run: Run, executor: Executor) -> Expanded:
        if run.parent is not None:
            return Expanded(prompt=run.request.prompt)
        run.tools = tuple(self.offered(run.agent, run.snapshot, run))
        return await expand_prompt(run, executor, self._builtins)

    async def _settings(self, run: Run) -> ModelSettings:
        run.doing = "loading model client"
        agent_model = run.agent.model if run.agent.model not in (None, "inherit") else None
        wished = run.wished_model or agent_model
        settings = await self._host.model_settings(run.settings, wished)
        agent = run.agent
        if run.parent is None and not run.session.messages and settings.reason:
            run.emit(Notice(level="info", message=f"Model: {settings.model} ({settings.reason})."))
        return replace(
            settings,
            temperature=settings.temperature if agent.temperature is None else agent.temperature,
            top_p=settings.top_p if agent.top_p is None else agent.top_p,
            extra={**settings.extra, **agent.options},
        )

    async def _instructions(self, run: Run) -> Sequence[Instruction]:
        focus = run.request.focus
        return await asyncio.to_thread(
            load_instructions,
            run.session.folder,
            focus.path if focus else None,
            self._dirs,
            run.settings.instructions,
            run.snapshot.trusted,
        )

    async def _window(self, run: Run, system: str, settings: ModelSettings) -> Window:
        limit = await self._host.context_limit(run.settings, settings.model)
        return Window(run, system=system, settings=settings, limit=limit)

    def offered(self, agent: Agent, snapshot: Snapshot, run: Run | None = None) -> list[Tool]:
        """The tools shown to the model: those that some input of theirs may be used with."""
        policy = run.policy if run else snapshot.policy(agent)
        return offered_tools(snapshot, policy, run, self._host.editor.language)

    def _context(self, run: Run, subagents: Subagents) -> ToolContext:
        return ToolContext(
            folders=run.place.folders,
            session=run.session,
            settings=run.settings,
            editor=self._host.editor,
            judge=lambda subject: judge_for(run, (subject,)).verdict,
            delegate=lambda agent, prompt, background: subagents.delegate(agent, prompt, background),
            agents=subagents,
            ask=(lambda question: ask_person(run, question)) if self._can_ask(run) else None,
            load_skill=lambda name, arguments: load_skill(run, name, arguments),
            environment=lambda: self._host.environment(run.settings),
            scratch=self._host.scratch,
            own=run.place.own,
            closed=(self._dirs.guests,),
        )

    def _can_ask(self, run: Run) -> bool:
        """Whether the run may ask a person: only the one that a person started does."""
        return self._host.interactive and run.parent is None

    def _spawn(self, parent: Run, request: RunRequest, steps: Steps, session: Session | None = None) -> Run:
        if session is None:
            session = self._sessions.create(
                parent.session.folder, request.agent or "general", parent.session.model, parent.session.id
            )
        return self.make(request, session, parent.snapshot, parent, steps)

    def place(self, session: Session | None = None, guest: Guest | None = None) -> Place:
        """Where paths are judged: the session's folder first; of a guest only those that let it in."""
        folders = self._folders() if guest is None else guest.folders
        first = session.folder if session else next(iter(folders), Path.cwd())
        others = [folder for folder in folders if folder != first]
        return Place(
            folders=(first, *others),
            apart=() if guest is None else tuple(each for each in self._folders() if each not in folders),
            cwd=first,
            home=Path.home(),
            resolve=lambda path: Path(os.path.realpath(path)),
            disk=Ground(),
            own=(self._dirs.user, self._dirs.state),
            case_insensitive=sys.platform in ("darwin", "win32"),
        )


def choose_agent(request: RunRequest, session: Session, snapshot: Snapshot, *, child: bool) -> Agent:
    """The agent of a run: the request's, else the session's; CallerError if there is none of that name.

    A session that has not begun stays with the agent that is asked for; later prompts ask for themselves. One
    that began with a question at a place takes the agent of its first prompt. In the session of another
    program's agent people speak with an agent of ours.
    """
    own = session.agent if session.agent != GUEST_AGENT and not session.passing else ""
    name = request.agent or own or snapshot.settings.agent
    agent = snapshot.agents.get(name)
    if agent is not None and agent.mode == "subagent" and not child and request.agent is None:
        raise CallerError(
            f"agent: {name!r} is a subagent, which takes prompts from people only where they name it: "
            "give 'agent' as well."
        )
    if agent is None:
        names = sorted(a.name for a in snapshot.agents.values() if not a.hidden)
        raise CallerError(f"agent: there is no agent {name!r}. Available: {', '.join(names)}.")
    passing = request.passing or (session.passing and agent.mode == "subagent")
    if not passing and (session.passing or (request.agent and not session.messages)):
        session.use_agent(agent.name)
    return agent


def _message_id() -> str:
    return f"msg-{uuid.uuid4().hex[:12]}"


def _user_message(run: Run, text: str) -> UserMessage:
    said = run.request.prompt if run.request.prompt != text else ""
    redact = run.host.redact
    return UserMessage(id=_message_id(), text=redact(text), images=run.request.images, said=redact(said))
