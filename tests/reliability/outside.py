"""Plays a schedule with the real server on stdio, which its client leaves or which is killed."""

import asyncio
import json
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.reliability.schedule import Model, Schedule, script
from tests.reliability.world import Played, World
from tests.support.lsp_client import LspClient, StreamLink, server_environment, start_server
from tests.support.lsp_profiles import VSCODE
from tests.support.model_server import ModelServer

SECONDS = 120
GONE_SECONDS = 30
"""How long a server may live without its client."""


async def play_outside(schedule: Schedule, folder: Path) -> Played:
    """Play it; raises AssertionError where something does not hold."""
    began = time.monotonic()
    played = Played(seed=schedule.seed, kind=schedule.kind)
    model = Model(schedule.seed, schedule.faulty)
    with ModelServer() as server:
        server.respond = model
        world = World(folder, schedule, server, model)
        client = await _start(world)
        try:
            await _until(client, schedule, played)
            await _end(client, schedule)
        finally:
            await client.close()
            assert client.process is not None
            with suppress(ProcessLookupError):
                client.process.kill()
            await client.process.wait()
        _check(client, world, played)
        await world.resume_all(played)
    assert model.violations == [], "requests that a provider refuses"
    played.requests, played.faults = model.requests, model.faults
    played.seconds = time.monotonic() - began
    return played


async def _start(world: World) -> LspClient:
    schedule = world.schedule
    dirs = world.dirs
    environment = server_environment(world.home, **{k: v for k, v in world.environ.items() if k != "PATH"})
    environment |= {"MAGENT_STATE_DIR": str(dirs.state), "MAGENT_CONFIG": str(dirs.config_file)}
    process = await start_server(env=environment, cwd=world.home)
    assert process.stdin is not None
    assert process.stdout is not None
    client = LspClient(StreamLink(process.stdout, process.stdin), VSCODE, world.workspace)
    client.process = process
    client.always = "Allow once"
    settings: dict[str, Any] = world.settings(warmUp=False)
    if schedule.scripted:
        path = world.home / "script.json"
        path.write_text(json.dumps(script(schedule.seed)))
        settings |= {"model": f"scripted:{path}", "apiBase": None}
        settings = {name: value for name, value in settings.items() if value is not None}
    await client.initialize(magent={**settings, "client": {"events": True}})
    return client


async def _until(client: LspClient, schedule: Schedule, played: Played) -> None:
    """Prompt until so many events have come, or all runs are over."""
    chance = random.Random(f"moment {schedule.seed}")
    session: dict[str, Any] = {}
    async with asyncio.timeout(SECONDS):
        for number in range(schedule.prompts):
            run = await client.command("magent.prompt", prompt=f"Change lines ({number}).", **session)
            session = {"sessionId": run["sessionId"]}
            run_id = run["runId"]
            await client.until(
                lambda run_id=run_id: (  # type: ignore[misc]
                    len(client.events) >= schedule.stop_at
                    or any(event["type"] == "run_finished" for event in client.of_run(run_id))
                ),
                SECONDS,
            )
            if len(client.events) >= schedule.stop_at:
                break
    # Not only at the moment of an event: anywhere in the milliseconds after it.
    await asyncio.sleep(chance.choice([0, 0, 0.001, 0.003, 0.01, 0.03]))
    played.acts[schedule.kind] += 1


async def _end(client: LspClient, schedule: Schedule) -> None:
    process = client.process
    assert process is not None
    if schedule.kind == "kill":
        process.kill()
    else:
        await client.link.close()
    async with asyncio.timeout(GONE_SECONDS):
        await process.wait()


def _check(client: LspClient, world: World, played: Played) -> None:
    if client.failure is not None:
        raise client.failure
    runs: dict[str, list[dict[str, Any]]] = {}
    for envelope in client.events:
        runs.setdefault(envelope["runId"], []).append(envelope)
    for run_id, envelopes in runs.items():
        seqs = [envelope["seq"] for envelope in envelopes]
        assert seqs == list(range(1, len(seqs) + 1)), f"{run_id}: {seqs}"
        ends = [at for at, e in enumerate(envelopes) if e["event"]["type"] == "run_finished"]
        assert ends in ([], [len(envelopes) - 1]), f"{run_id} has outcomes at {ends}"
        played.outcomes[envelopes[-1]["event"]["stopReason"] if ends else schedule_end(world)] += 1
    played.events = len(client.events)
    played.edits = world.new_lines()
    uri = world.file.as_uri()
    told = sum(
        e["event"]["type"] == "edit_applied"
        and e["event"]["uri"] == uri
        and e["event"]["outcome"] == "applied"
        for e in client.events
    )
    # The one that was on its way may be there; what the client was told of is there in any case.
    assert told <= played.edits <= told + 1 or world.schedule.kind == "leave", (told, played.edits)


def schedule_end(world: World) -> str:
    """How a run ended of which no outcome could reach the client."""
    return "killed" if world.schedule.kind == "kill" else "left"
