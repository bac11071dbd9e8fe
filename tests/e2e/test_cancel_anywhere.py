"""A run can be cancelled at every one of its steps: one outcome, nothing left behind, the session goes on.

Each flow runs once to see how many events it has; then it is cancelled after its first, its second, and so
on, by the command, by the progress line or by the client's own request, in one server.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, ResponseError, editor
from tests.support.lsp_profiles import VSCODE

TEXT = "def greet(name):\n    return 'hi ' + name\n"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


EDIT = [
    {
        "text": ["I ", "change ", "it."],
        "calls": [call("edit_file", path="a.py", old_string="'hi '", new_string="'HI '")],
    },
    {"text": "Done."},
]
COMMAND = [
    {"text": "Running.", "calls": [call("bash", command="echo one; sleep 0.1; echo two > made")]},
    {"text": ["All", " done."]},
]
READERS = [
    {
        "text": "Reading.",
        "calls": [call("read_file", path="a.py"), call("grep", pattern="greet"), call("list_dir")],
    },
    {"text": "Read.", "calls": [call("todo", items=[{"content": "x", "status": "in_progress"}])]},
    {"text": "Done."},
]
CHILD = [
    {"text": "Delegating.", "calls": [call("delegate", agent="explore", prompt="look into it")]},
    {"text": "Done."},
]
CHILDS = [
    {"when": {"user": "look into it", "turn": 1}, "text": "I look.", "calls": [call("list_dir")]},
    {"when": {"user": "look into it", "turn": 2}, "text": "There is a.py."},
]

FLOWS = {"edit": EDIT, "command": COMMAND, "readers": READERS, "child": [*CHILDS, *CHILD]}


def repeated(script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The script for any number of conversations: its replies are told apart by their turn."""
    turns = iter(range(1, 10))
    return [
        {**reply, "repeat": True, "when": reply["when"] if "when" in reply else {"turn": next(turns)}}
        for reply in script
    ]


async def run_until(client: LspClient, buffer: Any, number: int | None, way: str) -> list[dict[str, Any]]:
    """Start a run, cancel it after so many events, and give its events; None: never."""
    client.events.clear()
    run = await client.command("magent.prompt", prompt="do it", uri=buffer.uri)
    if number is not None:
        await client.until(lambda: len(client.of_run(run["runId"])) >= number)
        if way == "progress" and client.tokens:
            client.notify("window/workDoneProgress/cancel", {"token": client.tokens[-1]})
        was_running = (await client.command("magent.cancel", runId=run["runId"]))["cancelled"]
    finished = await client.finished(run["runId"], seconds=20)
    if number is not None and was_running:
        assert finished["stopReason"] == "cancelled"
    events = client.of_run(run["runId"])
    assert [event["type"] for event in events].count("run_finished") == 1
    assert events[-1]["type"] == "run_finished"
    assert finished["stopReason"] in ("cancelled", "end_turn"), finished
    started = [e["toolCallId"] for e in events if e["type"] == "tool_call_started"]
    ended = [e["toolCallId"] for e in events if e["type"] == "tool_call_finished"]
    assert sorted(started) == sorted(ended), "a call is left open"
    asked = [e["requestId"] for e in events if e["type"] == "permission_requested"]
    answered = [e["requestId"] for e in events if e["type"] == "permission_resolved"]
    assert asked == answered
    for record in finished["edits"]:
        landed = "'HI '" in buffer.text
        assert record["outcome"] in (("applied", "unknown") if landed else ("rejected", "stale", "unknown"))
    return events


async def nothing_is_left(client: LspClient) -> None:
    status = await client.command("magent.status")
    assert status["runs"] == []
    assert await client.command("magent.pending") == []
    for token, values in client.progress.items():
        kinds = [value["kind"] for value in values]
        assert kinds[0] == "begin", (token, kinds)
        assert kinds[-1] == "end", (token, kinds)
        assert kinds.count("end") == 1


def children_of(process: int) -> list[str]:
    """The command lines of a process's children."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        found += path.read_text().split()
    return found


@pytest.mark.parametrize("flow", FLOWS)
async def test_cancel_after_each_event(tmp_path: Path, flow: str) -> None:
    script = repeated(FLOWS[flow])
    settings = {"permission": {"bash": "ask"}}
    async with editor(
        tmp_path, profile=VSCODE, script=script, client={"events": True}, settings=settings
    ) as client:
        client.always = "Allow once"
        buffer = client.open("a.py", TEXT)
        whole = await run_until(client, buffer, None, "command")
        assert whole[-1]["stopReason"] == "end_turn"
        if flow == "edit":
            assert "'HI '" in buffer.text
        for number in range(len(whole)):
            if "'HI '" in buffer.text:
                client.type(buffer, "'HI '", "'hi '")
            await run_until(client, buffer, number, "progress" if number % 2 else "command")
            await nothing_is_left(client)
            assert client.process is not None
            for _ in range(200):
                if not (left := children_of(client.process.pid)):
                    break
                await asyncio.sleep(0.01)
            assert not left
        # An edit that was on its way when the cancel came may have landed, which is said.
        assert all("after all" in text for _, text in client.messages)
        sessions = await client.command("magent.sessions")
        assert sessions
        for session in sessions:
            if session["agent"] == "explore":
                with pytest.raises(ResponseError, match="'explore' is a subagent"):
                    await client.command("magent.prompt", prompt="on", sessionId=session["sessionId"])
        # Each of the sessions, whenever it was cut, can be gone on with; those of subagents by naming one.
        for session in sessions[:8]:
            run = await client.command(
                "magent.prompt", prompt="go on", sessionId=session["sessionId"], agent="build"
            )
            assert (await client.finished(run["runId"]))["stopReason"] in ("end_turn", "error")
    assert "Traceback" not in (tmp_path / "stderr.txt").read_text()


async def test_cancel_while_the_person_is_asked_closes_the_question(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def silent(_: Any) -> Any:
        await never.wait()

    async with editor(tmp_path, script=repeated(EDIT), client={"events": True}) as client:
        client.always = silent
        buffer = client.open("a.py", TEXT)
        for number in range(1, 4):
            run = await client.command("magent.prompt", prompt="do it", uri=buffer.uri)
            await client.until(lambda number=number: len(client.questions) == number)
            [request] = await client.command("magent.pending")
            await client.command("magent.cancel", runId=run["runId"])
            assert (await client.finished(run["runId"], seconds=20))["stopReason"] == "cancelled"
            late = await client.command("magent.respond", requestId=request["requestId"], reply="allow_once")
            assert late == {"ok": False}
            await client.until(lambda number=number: len(client.cancelled) == number)
            await nothing_is_left(client)
        never.set()  # late answers of the dialogs
        await client.command("magent.status")
        assert buffer.text == TEXT
        assert client.edits == []
        assert json.dumps(client.messages) == "[]"
