"""What goes wrong at the model, seen from the editor: a real server, a model server that speaks the wire.

A process with a real model client takes seconds to start, so each test sends many runs to one of them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, editor
from tests.support.lsp_profiles import VSCODE
from tests.support.model_server import Call, ModelServer, call
from tests.support.model_wire import Reply, Wire

KEY = "key-of-the-user-0123456789"
WIRES: tuple[Wire, ...] = ("openai", "anthropic")
TEXT = "x = 1\n"


@asynccontextmanager
async def at_work(home: Path, wire: Wire, server: ModelServer, **settings: Any) -> AsyncIterator[LspClient]:
    """An editor whose agent asks the model server."""
    options = {
        "model": server.model(wire),
        "apiBase": server.base(wire),
        "retry": {"tries": 3, "baseSeconds": 0.01, "maxSeconds": 5},
        "timeouts": {"connect": 2, "firstChunk": 1, "chunk": 0.5},
        **settings,
    }
    environment = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    files = {"a.py": TEXT}
    async with editor(
        home, settings=options, client={"events": True}, environment=environment, files=files
    ) as client:
        yield client


class Told:
    """What a person was told of one run."""

    def __init__(self, client: LspClient, run: dict[str, Any], finished: dict[str, Any]) -> None:
        self.run, self.finished = run, finished
        self.events = client.of_run(run["runId"])
        self.stop, self.text, self.error = finished["stopReason"], finished["text"], finished.get("error")
        self.notices = [event["message"] for event in self.events if event["type"] == "notice"]
        self.calls = [event for event in self.events if event["type"] == "tool_call_finished"]


async def ask(client: LspClient, prompt: str = "do it", **more: Any) -> Told:
    """Run a prompt; its one outcome is checked, whatever it is."""
    run = await client.command("magent.prompt", prompt=prompt, **more)
    finished = await client.finished(run["runId"], seconds=60)
    events = client.of_run(run["runId"])
    assert [event["type"] for event in events].count("run_finished") == 1
    assert events[-1]["type"] == "run_finished"
    assert [e["seq"] for e in client.events if e["runId"] == run["runId"]] == list(range(1, len(events) + 1))
    for token, values in client.progress.items():
        assert [value["kind"] for value in values].count("end") == 1, (token, values)
    assert KEY not in repr(client.everything)
    return Told(client, run, finished)


@pytest.mark.parametrize("wire", WIRES)
async def test_every_fault_is_one_visible_outcome_and_the_session_goes_on(tmp_path: Path, wire: Wire) -> None:
    async with ModelServer() as server, at_work(tmp_path, wire, server) as client:
        client.open("a.py")
        session = (await client.command("magent.newSession"))["sessionId"]

        async def told(**more: Any) -> Told:
            return await ask(client, sessionId=session, **more)

        server.fault("status", 401, message="bad key", error_type="authentication_error")
        refused = await told()
        assert refused.stop == "error"
        assert "key" in refused.error
        assert len(server.requests) == 1, "a refused key is not tried again"

        server.fault("status", 429, retry_after=1).reply("After a while.")
        limited = await told()
        assert limited.text == "After a while."
        assert any("1 s" in notice for notice in limited.notices), limited.notices

        server.fault("status", 429, retry_after=500)
        away = await told()
        assert away.stop == "error"
        assert "500 s" in away.error

        for fault, first in (("status", {"status": 500}), ("close", {}), ("empty", {}), ("error", {})):
            server.fault(fault, **first).reply("Here.")
            assert (await told()).text == "Here.", fault

        before = len(server.requests)
        for _ in range(3):
            server.fault("status", 503)
        down = await told()
        assert down.stop == "error"
        assert len(down.notices) == 2
        assert len(server.requests) == before + 3

        # A stream that was cut is asked for once more; what came stays if it is cut again.
        server.fault("cut", text="half of an", after=1).reply("A whole answer.")
        assert (await told()).text == "A whole answer."
        server.fault("cut", text="half of an answer", after=1).fault("cut", text="half of it", after=1)
        cut = await told()
        assert cut.stop == "error"
        assert cut.text == "half of "

        server.fault("stall", text="half of it", after=1).reply("Not stalled.")
        assert (await told()).text == "Not stalled."
        server.fault("keepalive", after=0).reply("Not only alive.")
        assert (await told()).text == "Not only alive."
        server.fault("garbage", text="half").reply("No garbage.")
        assert (await told()).text == "No garbage."

        server.fault("policy")
        assert (await told()).stop == "error"
        server.reply("Still here.")
        assert (await told()).text == "Still here."
        assert client.messages == []
        assert server.requests[-1].messages[-1]["role"] == "user"


@pytest.mark.parametrize("wire", WIRES)
async def test_calls_that_do_not_fit_are_told_to_the_model_and_nothing_is_done(
    tmp_path: Path, wire: Wire
) -> None:
    odd = [
        Call(name="write_file", arguments='{"path": "made.txt", "cont'),
        Call(name="write_file", arguments='{"path": 5}'),
        Call(name="write_file", arguments="[1, 2]"),
        Call(name="write_file", arguments=""),
        Call(name="write_files", arguments='{"path": "made.txt", "content": "x"}'),
        Call(name="", arguments="{}"),
        Call(name="bash", arguments='{"command": "\\u0000"}'),
        Call(name="read_file", arguments='{"path": ""}'),
    ]
    permission = {"write_file": "allow", "bash": "allow"}
    async with ModelServer() as server, at_work(tmp_path, wire, server, permission=permission) as client:
        for one in odd:
            server.reply("I do it.", calls=[one]).reply("I could not.")
            told = await ask(client)
            assert told.stop == "end_turn", one
            assert told.text == "I could not."
            assert [call["status"] for call in told.calls] == ["failed"], one
            assert not (tmp_path / "ws/made.txt").exists(), one
        # Good and bad in one reply: the good ones are done, each has its result.
        server.reply(
            "Both.", calls=[call("read_file", path="a.py"), odd[4], call("read_file", path="a.py")]
        ).reply("Read.")
        told = await ask(client)
        assert sorted(call["status"] for call in told.calls) == ["completed", "completed", "failed"]
        # Cut off at the length limit, though it can be read: never executed.
        for finish in ("length", "tool_calls"):
            cut = Call(name="write_file", arguments='{"path": "made.txt", "content": "ha')
            server.reply("Long.", calls=[cut], finish=finish).reply("Shorter.")
            assert (await ask(client)).text == "Shorter."
        whole = call("write_file", path="made.txt", content="half")
        server.reply("Long.", calls=[whole], finish="length").reply("Shorter.")
        assert (await ask(client)).text == "Shorter."
        assert not (tmp_path / "ws/made.txt").exists()


@pytest.mark.parametrize("wire", WIRES)
async def test_cancel_before_the_first_token_closes_the_request(tmp_path: Path, wire: Wire) -> None:
    settings = {"timeouts": {"firstChunk": 60, "chunk": 60}}
    async with ModelServer() as server, at_work(tmp_path, wire, server, **settings) as client:
        for after in (0, 1):  # before the first token, and in the middle
            server.fault("stall", text="half of it", after=after)
            run = await client.command("magent.prompt", prompt="wait")
            await server.arrived(after + 1, seconds=60)
            if after:
                await client.until(lambda: any(e["event"]["type"] == "text_delta" for e in client.events))
            await client.command("magent.cancel", runId=run["runId"])
            assert (await client.finished(run["runId"], seconds=20))["stopReason"] == "cancelled"
            assert await server.requests[-1].wait_closed(20)
        server.respond = lambda request: Reply(fault="stall", after=0)
        for _ in range(5):  # while the request is still being made
            early = await client.command("magent.prompt", prompt="wait")
            await client.command("magent.cancel", runId=early["runId"])
            assert (await client.finished(early["runId"], seconds=20))["stopReason"] == "cancelled"
        server.reply("Going on.")
        assert (await ask(client, sessionId=run["sessionId"])).text == "Going on."
    assert "never awaited" not in (tmp_path / "stderr.txt").read_text()


async def test_what_a_run_ended_with_is_shown_once_without_events_too(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": KEY}
    async with ModelServer() as server:
        options = {"model": server.model(), "apiBase": server.base(), "retry": {"tries": 1}}
        async with editor(tmp_path, profile=VSCODE, settings=options, environment=environment) as client:
            for number, (kind, status) in enumerate([("status", 401), ("status", 500), ("policy", 400)], 1):
                server.fault(kind, status)
                run = await client.command("magent.prompt", prompt="hello")
                finished = await client.finished(run["runId"], seconds=60)
                assert finished["stopReason"] == "error"
                await client.until(lambda number=number: len(client.messages) >= number)
                assert finished["error"] in client.messages[-1][1]
            await client.command("magent.status")
            assert len(client.messages) == 3
            assert client.shown == []
