"""A workspace and a home for one play, and what must hold of them whatever happened."""

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from magent_lsp.app import Magent
from magent_lsp.core.events import Envelope, RunFinished
from magent_lsp.core.request import PermissionReply, PermissionRequest, RunRequest
from magent_lsp.headless.editor import AskPermission, DiskEditor
from magent_lsp.store.dirs import Dirs
from tests.reliability.schedule import LINES, Model, Schedule
from tests.support.model_server import ModelServer

SECONDS: Final = 120
"""Longer than any run of a schedule may take."""
STOPS: Final = {"end_turn", "max_tokens", "max_turns", "budget", "loop", "rejected", "cancelled", "error"}


@dataclass(kw_only=True)
class Played:
    """The figures of one play."""

    seed: int
    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    events: int = 0
    edits: int = 0
    sessions: int = 0
    """Sessions that were resumed afterwards."""
    seconds: float = 0.0


class World:
    """One person's machine."""

    def __init__(self, folder: Path, schedule: Schedule, server: ModelServer, model: Model) -> None:
        self.schedule, self.server, self.model = schedule, server, model
        self.home = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir(parents=True)
        self.file = self.workspace / "a.txt"
        self.file.write_text("".join(f"line {n}: old\n" for n in range(LINES)))
        (self.workspace / "long.txt").write_text("a long line of text, again and again\n" * 400)
        self.dirs = Dirs.under(folder / "home")
        self.environ = {
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": "sk-test-secret-value-123456",
            "ANTHROPIC_API_KEY": "sk-ant-test-secret-123456",
        }

    def settings(self, **more: Any) -> dict[str, Any]:
        """The settings of the play."""
        wire = self.schedule.wire
        where = {"model": self.server.model(wire), "apiBase": self.server.base(wire)}
        return {**where, **self.schedule.settings, **more}

    def magent(self, sink: "Watch", *, permission: AskPermission | None = None, **settings: Any) -> Magent:
        """A server in this process, as after a start of the editor."""
        return Magent(
            folders=[self.workspace],
            editor=DiskEditor(permission=permission),
            sink=sink,
            dirs=self.dirs,
            environ=self.environ,
            overrides=self.settings(**settings),
        )

    def new_lines(self) -> int:
        """Lines that were edited; fails if the file holds anything but whole lines, old or new."""
        lines = self.file.read_text().splitlines()
        assert len(lines) == LINES, f"the file has {len(lines)} lines"
        states = [line.removeprefix(f"line {n}: ") for n, line in enumerate(lines)]
        assert set(states) <= {"old", "new"}, f"a line was torn: {lines}"
        return states.count("new")

    async def resume_all(self, played: Played) -> None:
        """Every session goes on with a healthy model, as after a restart; and so does a new one."""
        self.server.respond = self.model.healthy
        healthy = {"contextLimit": None, "maxCostUsd": None, "maxMinutes": None, "titles": False}
        usual = {"connect": 10, "firstChunk": 60, "chunk": 60}
        watch = Watch()
        magent = self.magent(watch, timeouts=usual, **healthy)
        try:
            infos = await asyncio.to_thread(magent.sessions.list)
            for info in infos:
                await magent.open_session(info.id)
                of_agent = info.parent is not None and not info.forked
                agent = info.agent if of_agent else None  # a person must name a subagent to talk with it
                run = magent.start(RunRequest(prompt="Are you there?", session_id=info.id, agent=agent))
                async with asyncio.timeout(SECONDS):
                    outcome = await magent.wait(run.run_id)
                told = (outcome.stop_reason, outcome.text, outcome.error)
                assert told == ("end_turn", "I am here.", None), f"session {info.id} does not go on: {told}"
                text = await asyncio.to_thread(magent.sessions.export, info.id)
                assert "I am here." in text
                assert "secret-value" not in text
                played.sessions += 1
        finally:
            await magent.close()
        watch.check()


class Watch:
    """A sink that checks what every client relies on."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Envelope]] = {}
        self.count = 0
        self.hook: Any = None

    def emit(self, event: Envelope) -> None:
        """Take an event."""
        self.seen.setdefault(event.run_id, []).append(event)
        self.count += 1
        if self.hook is not None:
            self.hook(self.count)

    def check(self) -> None:
        """Every run has one outcome, at its end; numbers without a gap; every call has an end."""
        for run_id, envelopes in self.seen.items():
            events = [envelope.event for envelope in envelopes]
            ends = [at for at, event in enumerate(events) if isinstance(event, RunFinished)]
            assert ends == [len(events) - 1], f"{run_id} has outcomes at {ends} of {len(events)} events"
            assert [envelope.seq for envelope in envelopes] == list(range(1, len(events) + 1))
            outcome = events[-1]
            assert isinstance(outcome, RunFinished)
            assert outcome.stop_reason in STOPS
            assert (outcome.error is not None) == (outcome.stop_reason == "error"), outcome
            begun = Counter(e.tool_call_id for e in events if e.type == "tool_call_started")  # type: ignore[union-attr]
            ended = Counter(e.tool_call_id for e in events if e.type == "tool_call_finished")  # type: ignore[union-attr]
            assert begun == ended, f"{run_id}: calls began {begun} and ended {ended}"

    def outcomes(self) -> Counter[str]:
        """How runs ended."""
        return Counter(e[-1].event.stop_reason for e in self.seen.values())  # type: ignore[union-attr]

    def edits(self, uri: str, outcome: str) -> int:
        """Edits of a file with an outcome."""
        events = [envelope.event for envelopes in self.seen.values() for envelope in envelopes]
        return sum(e.type == "edit_applied" and e.uri == uri and e.outcome == outcome for e in events)  # type: ignore[union-attr]

    def notices(self, text: str) -> list[str]:
        """Notices that hold a text, each as often as it was told."""
        events = [envelope.event for envelopes in self.seen.values() for envelope in envelopes]
        return [e.message for e in events if e.type == "notice" and text in e.message]  # type: ignore[union-attr]


class Disk:
    """A disk that can be full: a limit of the kernel on the size of files, in this process."""

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = None

    def fill(self, room: int) -> None:
        """From now on no file grows beyond `room` bytes."""
        import resource

        if self._before is None:
            self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, self._before[1]))

    def free(self) -> None:
        """There is room again."""
        import resource

        if self._before is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
            self._before = None


@contextlib.contextmanager
def disk() -> Iterator[Disk]:
    """A disk that has room again afterwards."""
    made = Disk()
    try:
        yield made
    finally:
        made.free()


def person(choose: Any) -> Any:
    """Someone who answers questions by a random choice; now and then they do not answer at all."""

    async def answer(request: PermissionRequest) -> PermissionReply:
        dice = choose.random()
        if dice < 0.03:
            await asyncio.sleep(3600)
        if dice < 0.09:
            return PermissionReply(reply="reject")
        if dice < 0.15:
            return PermissionReply(reply="reject", feedback="not this one")
        offered: Mapping[str, Any] = {option.reply: option for option in request.options}
        wish = choose.choice(["allow_once", "allow_once", "allow_session"])
        return PermissionReply(reply=wish if wish in offered else "allow_once")

    return answer
