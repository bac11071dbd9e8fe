"""Delegation: a subagent works in a session of its own, with no more rights than whoever gave it the work."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from magent_lsp.core.errors import CallerError, ToolError
from magent_lsp.core.events import RunFinished
from magent_lsp.core.messages import UserMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.core.session import Session
from magent_lsp.core.tool import ToolResult
from magent_lsp.engine.crew import Crew, Member, Steps
from magent_lsp.engine.run import Run

MAX_DEPTH: Final = 3
MAX_CHILDREN: Final = 8
WAIT_SECONDS: Final = 600.0
"""How long `wait_agent` waits if it is not told; the agent works on."""

Report = Callable[[str], None]


class Spawn(Protocol):
    """Makes a child run that has not begun, in a new session or in the one of a member."""

    def __call__(self, parent: Run, request: RunRequest, steps: Steps, session: Session | None = None) -> Run:
        """The run."""
        ...


class Workers(Protocol):
    """What carries runs out."""

    async def run_child(self, child: Run) -> RunFinished:
        """Run a subagent to its end; cancelled with the caller."""
        ...

    def cancel(self, run_id: str | None) -> list[str]:
        """Cancel a run."""
        ...

    def unfinished(self) -> list[Run]:
        """Runs that work or wait."""
        ...


class Subagents:
    """The subagents of one run: those it waits for, and those it has at work in the background."""

    def __init__(self, parent: Run, spawn: Spawn, workers: Workers, crew: Crew) -> None:
        self._parent = parent
        self._spawn = spawn
        self._workers = workers
        self._crew = crew
        self._background: dict[asyncio.Task[None], Member] = {}
        self._awaited: list[Member] = []
        """Members whose result a `wait_agent` takes, so that it need not come as a message too."""

    async def delegate(
        self, agent: str, prompt: str, background: bool, report: Report | None = None
    ) -> ToolResult:
        """Run a subagent; its last message is the result. In the background: its name at once."""
        self._check_agent(agent)
        self._check_depth()
        self._check_number()
        request = RunRequest(prompt=prompt, agent=agent, folder=self._folder)
        if not background:
            child = self._spawn(self._parent, request, Steps(report))
            self._parent.root.children += 1
            return _result(agent, await self._workers.run_child(child))
        self._crew.check_room(self._folder)
        steps = Steps()
        child = self._spawn(self._parent, request, steps)
        self._parent.root.children += 1
        member = self._crew.add(self._folder, agent, child.session, prompt)
        member.steps = steps
        self._begin(member, child)
        return ToolResult(
            text=f"{member.name} works in the background (session {child.session.id}). Its result will reach "
            "you as a message; wait_agent waits for it."
        )

    # -- members: the tools message_agent, wait_agent, list_agents and close_agent ---------------------

    def kind(self, name: str) -> str:
        """Which agent a member is; ToolError if there is none of that name."""
        return self._crew.find(self._folder, name).agent

    def overview(self) -> str:
        """The members of the workspace, a line each."""
        lines = [
            f"- {member.name} ({member.state}): {member.task} [session {member.session.id}]"
            for member in self._crew.of(self._folder)
        ]
        return "\n".join(lines) or "No agent is open. `delegate` with background: true opens one."

    async def message(self, name: str, text: str) -> ToolResult:
        """Say something to a member.

        A run of it that works for ours takes it in. Any other may do more than ours may, so it is left alone:
        the message begins a run of its own, with no more rights than ours.
        """
        member = self._crew.find(self._folder, name)
        if member.session is self._parent.session:
            raise ToolError(f"{name!r} is you.")
        words = f"Message from {self._own_name}:\n{text}"
        if member.run is not None and _above(self._parent, member.run):
            member.run.hear(words, synthetic=True)
            return ToolResult(text=f"{member.name} is at work and takes it in before its next step.")
        self._check_circle(member)
        self._check_depth()
        self._check_agent(member.agent)
        if any(run.session.id == member.session.id and run is not member.run for run in self._others()):
            raise ToolError(f"The user is talking with {member.name} at the moment. Try again later.")
        self._begin(member, self._next_run(member, words))
        queued = "will begin with it when it is free" if member.pending > 1 else "works on it"
        return ToolResult(text=f"{member.name} {queued}. Its result will reach you as a message.")

    async def wait(self, name: str, seconds: float | None, report: Report) -> ToolResult:
        """The latest result of a member, when it has done all that it was told."""
        member = self._crew.find(self._folder, name)
        self._check_circle(member)
        self._awaited.append(member)
        member.steps.to(report)
        try:
            with self._crew.waiting(self._chain, member):
                async with asyncio.timeout(seconds or WAIT_SECONDS):
                    await member.idle.wait()
        except TimeoutError:
            return ToolResult(text=f"{member.name} is not done yet ({member.state}). It works on.")
        finally:
            self._awaited.remove(member)
            member.steps.to(None)
        if member.report in self._parent.incoming:
            self._parent.incoming.remove(member.report)
        return member.result or ToolResult(text=f"{member.name} has no result: it was given nothing to do.")

    async def close(self, name: str) -> ToolResult:
        """End a member that is idle, or that works for this run."""
        member = self._crew.find(self._folder, name)
        tasks = [task for task, each in self._background.items() if each is member]
        below = member.run is not None and _above(self._parent, member.run)
        if member.session is self._parent.session or (len(tasks) < member.pending and not below):
            raise ToolError(f"{name!r} works for another agent at the moment; only that one may close it.")
        member.closed = True
        for task in tasks:
            task.cancel()
        if member.run is not None and not tasks:
            self._workers.cancel(member.run.id)
        await member.idle.wait()
        await self._crew.remove(member)
        return ToolResult(text=f"{member.name} is closed. Its session {member.session.id} can still be read.")

    # -- the life of the run they belong to --------------------------------------------------------------

    async def settle(self) -> bool:
        """Wait for a background subagent to report; False if nothing comes any more."""
        while self._background and not self._parent.incoming:
            await asyncio.wait(list(self._background), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)  # what ended is taken off the list by its callback
        return bool(self._parent.incoming)

    async def end(self) -> None:
        """Cancel the subagents that still work, and wait for their end."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _begin(self, member: Member, child: Run) -> None:
        child.durable = True
        member.pending += 1
        member.idle.clear()
        task = asyncio.create_task(self._work(member, child), name=f"background {child.id}")
        self._background[task] = member
        waiting = self._crew.waiting(self._chain, member)
        waiting.__enter__()
        task.add_done_callback(lambda task: self._ended(task, member, waiting))

    def _ended(self, task: asyncio.Task[None], member: Member, waiting: AbstractContextManager[None]) -> None:
        # Here, as a task that is cancelled before its first step never enters its `try`.
        waiting.__exit__(None, None, None)
        del self._background[task]
        member.pending -= 1
        if not member.pending:
            member.idle.set()

    async def _work(self, member: Member, child: Run) -> None:
        """Carry out a run of a member, and report."""
        async with member.turn:
            result = await self._carry_out(member, child)
        if member.closed:
            return
        member.result = result
        if member not in self._awaited:
            words = f"{member.name} has finished:\n{result.text}"
            member.report = UserMessage(
                id=f"msg-{child.id}", text=self._parent.host.redact(words), synthetic=True
            )
            self._parent.incoming.append(member.report)

    async def _carry_out(self, member: Member, child: Run) -> ToolResult:
        while True:
            member.run = child
            try:
                outcome = await self._workers.run_child(child)
            except asyncio.CancelledError:
                member.result = ToolResult(text=f"{member.name} was cancelled.", failed=True)
                raise
            finally:
                member.run = None
            unheard = "\n".join(message.text for message in child.incoming)
            if not unheard or outcome.stop_reason != "end_turn":
                return _result(member.name, outcome)
            # They came when it had taken its last step.
            child = self._next_run(member, unheard)
            child.durable = True

    def _next_run(self, member: Member, prompt: str) -> Run:
        request = RunRequest(prompt=prompt, agent=member.agent, folder=self._folder)
        try:
            return self._spawn(self._parent, request, member.steps, member.session)
        except CallerError as error:
            raise ToolError(f"{member.name} cannot go on: {error}") from error

    # -- limits --------------------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        return self._parent.session.folder

    @property
    def _own_name(self) -> str:
        member = self._crew.by_session(self._parent.session.id)
        return member.name if member is not None else f"the {self._parent.agent.name} agent"

    @property
    def _chain(self) -> list[str]:
        """Our run and those that it works for, which wait for whatever it waits for."""
        run: Run | None = self._parent
        chain = []
        while run is not None:
            chain.append(run.id)
            run = run.parent
        return chain

    def _others(self) -> list[Run]:
        return [run for run in self._workers.unfinished() if run.parent is None]

    def _check_agent(self, agent: str) -> None:
        known = self._parent.snapshot.agents
        chosen = known.get(agent)
        if chosen is None or chosen.hidden or chosen.mode == "primary":
            names = [a.name for a in known.values() if not a.hidden and a.mode != "primary"]
            raise ToolError(f"There is no subagent {agent!r}. Available: {', '.join(sorted(names))}.")

    def _check_circle(self, member: Member) -> None:
        if self._crew.depends(member, self._chain):
            raise ToolError(
                f"{member.name} waits for you, so you cannot wait for it. What you have to say to it belongs "
                "into your final answer."
            )

    def _check_depth(self) -> None:
        if self._parent.depth + 1 > MAX_DEPTH:
            raise ToolError(f"Subagents may be nested {MAX_DEPTH} deep at most; do this step yourself.")

    def _check_number(self) -> None:
        if self._parent.root.children >= MAX_CHILDREN:
            raise ToolError(f"One run may start {MAX_CHILDREN} subagents at most; do this step yourself.")


def _above(one: Run, other: Run) -> bool:
    """Whether a run is another one or one of those that it works for."""
    at: Run | None = other
    while at is not None:
        if at is one:
            return True
        at = at.parent
    return False


def _result(name: str, outcome: RunFinished) -> ToolResult:
    if outcome.stop_reason == "end_turn":
        return ToolResult(text=outcome.text or f"{name} finished without a word.")
    why = outcome.error or f"it stopped: {outcome.stop_reason}"
    said = f"\nIts last words: {outcome.text}" if outcome.text else ""
    return ToolResult(text=f"{name} did not finish: {why}.{said}", failed=True)
