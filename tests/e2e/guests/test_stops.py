"""A call of another program's agent that is cut short: by the person, the agent, or a process that dies."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.guest import (
    SERVED,
    GuestClient,
    asked,
    door,
    edit,
    ended,
    guest,
    over,
    text_of,
)
from tests.support.lsp_client import EVENTS, NO_ANSWER, LspClient, editor


async def waiting(client: LspClient, agent: GuestClient) -> tuple[asyncio.Task[Any], dict[str, Any]]:
    """An edit that waits for the person, who does not answer, and the request."""
    client.always = lambda params: NO_ANSWER
    working = asyncio.create_task(edit(agent))
    return working, await asked(client)


async def test_the_person_cancels(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        working, request = await waiting(client, agent)
        assert await client.command("magent.cancel") == {"cancelled": [request["runId"]]}
        got = await working
        assert got.failed
        assert got.text == (
            "Cancelled before it was done. The user ended this in the editor. Ask them before you go on."
        )
        assert await client.command("magent.pending") == []
        assert (await over(client))[0]["stopReason"] == "cancelled"
        assert text_of(client) == "x = 1\ny = 2\n"


async def test_the_agent_cancels_a_call(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        working, _ = await waiting(client, agent)
        working.cancel()
        await asyncio.wait([working])
        await client.until(lambda: client.cancelled)
        assert await client.command("magent.pending") == []
        assert "b = 1" in (await agent.use("read_file", path="b.py")).text
        assert not ended(client), "the run goes on"
        assert text_of(client) == "x = 1\ny = 2\n"


async def test_an_agent_that_leaves_leaves_nothing_behind(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        working, _ = await waiting(client, agent)
        working.cancel()
    await over(client)
    await client.until(lambda: client.cancelled)
    assert await client.command("magent.pending") == []
    status = await client.command("magent.status")
    assert (status["runs"], status["sessions"]) == ([], [])


async def test_the_editor_dies_in_the_middle_of_a_call(tmp_path: Path) -> None:
    served = editor(tmp_path, settings=SERVED, client=EVENTS, files={"a.py": "x = 1\n"})
    async with served as client, guest(tmp_path) as agent:
        working, _ = await waiting(client, agent)
        assert client.process is not None
        client.process.kill()
        got = await working
        assert got.failed
        assert "look at the file first" in got.text
        await client.closed.wait()
        assert list((tmp_path / "state/guests").iterdir()), "it could not tidy up"
    async with editor(tmp_path, settings=SERVED, files={"a.py": "x = 1\n"}):
        found = await door(tmp_path)
        kept = {path.stem for path in (tmp_path / "state/guests").iterdir()}
        assert kept == {found.path.stem if found.path else ""}, "the next one does"


async def test_an_editor_that_closes_tells_what_became_of_calls(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        working, _ = await waiting(client, agent)
        assert client.process is not None
        client.process.terminate()
        assert (await working).text.startswith("Cancelled before it was done.")
        assert "serveMcp" in (await agent.use("read_file", path="a.py")).text


async def test_the_agent_dies_in_the_middle_of_a_call(client: LspClient, tmp_path: Path) -> None:
    with pytest.raises(BaseExceptionGroup):  # noqa: PT012 - what the library says of a server that died
        async with guest(tmp_path) as agent:
            working, _ = await waiting(client, agent)
            for pid in children_of("magent_lsp", "mcp", tmp_path):
                os.kill(pid, signal.SIGKILL)
            await asyncio.wait([working])
            raise RuntimeError("left")
    await over(client)
    assert await client.command("magent.pending") == []
    assert text_of(client) == "x = 1\ny = 2\n"


def children_of(module: str, command: str, home: Path) -> list[int]:
    """Processes of a test's `magent-lsp` command, by its environment, which no other test has."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            ours = os.fsencode(f"HOME={home}") in (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and module.encode() in words and command.encode() in words:
            found.append(int(path.name))
    assert found
    return found
