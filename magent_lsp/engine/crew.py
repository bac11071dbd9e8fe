"""The subagents of one client that keep their session, and can be spoken to by name."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from magent_lsp.core.errors import ToolError
from magent_lsp.core.events import Envelope, PermissionRequested, ToolCallEvent
from magent_lsp.core.messages import UserMessage
from magent_lsp.core.session import Session
from magent_lsp.core.tool import ToolResult
from magent_lsp.engine.run import Run

MAX_MEMBERS: Final = 8
"""Agents of one workspace that are open at a time."""
STEPS: Final = 5
"""Lines of a subagent's work that are shown in the call that waits for it."""

_MARKS: Final = {"completed": "✓", "failed": "✗", "rejected": "✗", "cancelled": "✗"}


class Steps:
    """The last steps of a subagent, in a few lines for whoever waits for it."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report = report
        self._lines: dict[str, str] = {}
        """By call; the newest last."""

    def emit(self, envelope: Envelope) -> None:
        """Take an event of the subagent's run."""
        match envelope.event:
            case ToolCallEvent(phase="started") as call:
                self._lines[call.tool_call_id] = f"… {call.title}"
            case ToolCallEvent(phase="finished") as call:
                self._lines[call.tool_call_id] = f"{_MARKS.get(call.status, '·')} {call.title}"
            case PermissionRequested(request=request):
                self._lines[request.tool_call_id] = f"? waiting for you: {request.title}"
            case _:
                return
        while len(self._lines) > STEPS:
            del self._lines[next(iter(self._lines))]
        self.show()

    def to(self, report: Callable[[str], None] | None) -> None:
        """Show the steps somewhere from now on."""
        self._report = report
        self.show()

    def show(self) -> None:
        """Say where it stands."""
        if self._report is not None and self._lines:
            self._report("\n".join(self._lines.values()))


@dataclass(kw_only=True, eq=False)
class Member:
    """A subagent that keeps its session."""

    name: str
    """Such as `explore-1`."""
    agent: str
    session: Session
    task: str
    """What it was first told, in a line."""
    run: Run | None = None
    """What it works on now."""
    result: ToolResult | None = None
    """Of its latest run that ended."""
    report: UserMessage | None = None
    """The message with that result, for the agent that asked for it."""
    pending: int = 0
    """Runs that work or wait."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one run that works."""
    steps: Steps = field(default_factory=Steps)
    closed: bool = False

    @property
    def state(self) -> str:
        """What it is doing, in words."""
        if self.run is not None:
            return f"working: {self.run.doing}" if self.run.doing else "working"
        if self.pending:
            return "queued"
        if self.result is None:
            return "idle"
        return "idle, did not finish" if self.result.failed else "idle, has a result"


class Crew:
    """All members, by workspace folder and name; they outlive the run that began them, not the client."""

    def __init__(self, close_session: Callable[[Session], None]) -> None:
        self._close_session = close_session
        """Lets go of a session; reads and writes files, so it is called in a thread."""
        self._members: dict[Path, dict[str, Member]] = {}
        self._numbers: Counter[tuple[Path, str]] = Counter()
        self._waits: dict[str, list[Member]] = {}
        """By id of a run: the members it waits for."""

    def check_room(self, folder: Path) -> None:
        """ToolError if no further agent may be opened."""
        if len(self._members.get(folder, {})) >= MAX_MEMBERS:
            raise ToolError(
                f"{MAX_MEMBERS} background agents are open, which is the most. Give one of them the task "
                "with message_agent, or close one with close_agent."
            )

    def add(self, folder: Path, agent: str, session: Session, prompt: str) -> Member:
        """A new member."""
        self._numbers[folder, agent] += 1
        line = prompt.strip().partition("\n")[0]
        member = Member(
            name=f"{agent}-{self._numbers[folder, agent]}",
            agent=agent,
            session=session,
            task=line if len(line) <= 60 else f"{line[:59]}…",
        )
        member.idle.set()
        self._members.setdefault(folder, {})[member.name] = member
        return member

    def of(self, folder: Path) -> list[Member]:
        """The members of a workspace, oldest first."""
        return list(self._members.get(folder, {}).values())

    def find(self, folder: Path, name: str) -> Member:
        """A member by its name or the id of its session; ToolError if there is none."""
        for member in self.of(folder):
            if name in (member.name, member.session.id):
                return member
        known = ", ".join(member.name for member in self.of(folder)) or "none; delegate with background: true"
        raise ToolError(f"There is no open agent {name!r}. Open: {known}.")

    def by_session(self, session_id: str) -> Member | None:
        """The member whose session this is."""
        every = (member for members in self._members.values() for member in members.values())
        return next((member for member in every if member.session.id == session_id), None)

    @contextlib.contextmanager
    def waiting(self, run_ids: Sequence[str], member: Member) -> Iterator[None]:
        """While runs wait for a member."""
        for run_id in run_ids:
            self._waits.setdefault(run_id, []).append(member)
        try:
            yield
        finally:
            for run_id in run_ids:
                self._waits[run_id].remove(member)
                if not self._waits[run_id]:
                    del self._waits[run_id]

    def depends(self, member: Member, run_ids: Sequence[str]) -> bool:
        """Whether a member's work cannot end before one of these runs goes on."""
        ahead, seen = [member], set()
        while ahead:
            run = (each := ahead.pop()).run
            if run is None or each.name in seen:
                continue
            if run.id in run_ids:
                return True
            seen.add(each.name)
            ahead += self._waits.get(run.id, ())
        return False

    async def remove(self, member: Member) -> None:
        """Let a member go; its session stays on disk."""
        member.closed = True
        self._members.get(member.session.folder, {}).pop(member.name, None)
        await asyncio.to_thread(self._close_session, member.session)

    async def close(self) -> None:
        """Let all go."""
        for members in list(self._members.values()):
            for member in list(members.values()):
                await self.remove(member)
