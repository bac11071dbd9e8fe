"""Plays a schedule with the real engine in this process, over real HTTP."""

import asyncio
import random
import time
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.errors import MagentError
from magent_lsp.core.request import RunRequest
from tests.reliability.schedule import Act, Model, Schedule
from tests.reliability.world import SECONDS, Disk, Played, Watch, World, disk, person
from tests.support.model_server import ModelServer

PATIENCE = 3.0
"""Seconds after which a person gives a run up; a dialog that nobody answers ends so."""


async def play_inside(schedule: Schedule, folder: Path) -> Played:
    """Play it; raises AssertionError where something does not hold."""
    began = time.monotonic()
    played = Played(seed=schedule.seed, kind="inside")
    model = Model(schedule.seed, schedule.faulty)
    with ModelServer() as server, disk() as full:
        server.respond = model
        world = World(folder, schedule, server, model)
        play = _Play(world, played, full)
        try:
            await play.run()
        finally:
            full.free()
        await world.resume_all(played)
    assert model.violations == [], "requests that a provider refuses"
    played.requests, played.faults = model.requests, model.faults
    played.seconds = time.monotonic() - began
    return played


class _Play:
    def __init__(self, world: World, played: Played, full: Disk) -> None:
        self._world, self._played, self._full = world, played, full
        self._watch = Watch()
        self._watch.hook = self._happened
        self._left = list(world.schedule.interventions)
        self._chance = random.Random(f"play {world.schedule.seed}")
        self._magent = self._start()
        self._session: str | None = None
        self._run = ""
        self._extra: list[str] = []
        self._die = asyncio.Event()

    async def run(self) -> None:
        """All prompts, each to its end."""
        await self._magent.warm_up()
        for number in range(self._world.schedule.prompts):
            try:
                started = self._magent.start(
                    RunRequest(prompt=f"Change some lines ({number}).", session_id=self._session)
                )
            except MagentError as error:
                raise AssertionError(f"the session cannot go on: {error}") from error
            self._session, self._run = started.session_id, started.run_id
            await self._until_over([started.run_id])
            await self._until_over(self._extra)
            if self._die.is_set():
                await self._restart()
        await self._magent.close()
        self._check()

    async def _until_over(self, run_ids: list[str]) -> None:
        async with asyncio.timeout(SECONDS):
            for run_id in list(run_ids):
                waiting = asyncio.ensure_future(self._magent.wait(run_id))
                dying = asyncio.ensure_future(self._die.wait())
                await asyncio.wait({waiting, dying}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
                if self._die.is_set() and not waiting.done():
                    await self._magent.close()
                elif not waiting.done():
                    self._played.acts["given up"] += 1
                    self._magent.cancel(run_id)
                await waiting
                dying.cancel()
        run_ids.clear()

    async def _restart(self) -> None:
        """The editor ends in the middle of it all, and is started again."""
        await self._magent.close()
        self._die.clear()
        self._magent = self._start()
        if self._session is not None:
            await self._magent.open_session(self._session)

    def _start(self) -> Magent:
        return self._world.magent(self._watch, permission=person(self._chance))

    def _happened(self, count: int) -> None:
        while self._left and self._left[0].at <= count:
            self._intervene(self._left.pop(0).act)

    def _intervene(self, act: Act) -> None:
        """Called from within an event, so everything else waits its turn."""
        self._played.acts[act] += 1
        loop = asyncio.get_running_loop()
        match act:
            case "cancel":
                loop.call_soon(self._magent.cancel, None)
            case "steer":
                loop.call_soon(self._magent.steer, self._run, "Be quick.")
            case "queue" if self._session is not None:
                loop.call_soon(self._queue)
            case "die":
                self._die.set()
            case "disk full":
                self._full.fill(self._room())
            case "disk free":
                self._full.free()

    def _queue(self) -> None:
        if not self._die.is_set():
            started = self._magent.start(RunRequest(prompt="And then this.", session_id=self._session))
            self._extra.append(started.run_id)

    def _room(self) -> int:
        """So little that sessions cannot grow, and files of the workspace can."""
        sessions = self._world.dirs.state.glob("sessions/*/*.jsonl")
        return max([2_000, *(path.stat().st_size + 50 for path in sessions)])

    def _check(self) -> None:
        watch, played = self._watch, self._played
        watch.check()
        played.outcomes, played.events = watch.outcomes(), watch.count
        played.edits = self._world.new_lines()
        uri = self._world.file.as_uri()
        applied, unknown = watch.edits(uri, "applied"), watch.edits(uri, "unknown")
        told = f"{applied} edits were said to be applied, {unknown} to be unknown, {played.edits} are there"
        assert applied <= played.edits <= applied + unknown, told
        notices = watch.notices("cannot be written to")
        assert len(notices) <= 1 + played.acts["die"], f"a full disk was told {len(notices)} times"
