"""Sessions over the protocol: named, summed up, resumed, shared by two servers, on a full disk, followed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import EVENTS, LspClient, ResponseError, editor
from tests.support.lsp_profiles import POOR
from tests.support.model_server import ModelServer, Tokens, call

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and signals as POSIX has them")

SAY = [{"text": "Blue whale.", "repeat": True}]
READ = {"tool": "read_file", "arguments": {"path": "a.py"}}


def edit(old: str, new: str) -> dict[str, Any]:
    arguments = {"path": "a.py", "edits": [{"old_string": old, "new_string": new}]}
    return {"tool": "edit_file", "arguments": arguments}


async def said(client: LspClient, prompt: str, **more: Any) -> dict[str, Any]:
    """The outcome of a prompt, with the ids of its run and session."""
    run = await client.command("magent.prompt", prompt=prompt, **more)
    return {**run, **await client.finished(run["runId"])}


def real(server: ModelServer, **more: Any) -> dict[str, Any]:
    """Settings for the model server."""
    return {"model": server.model("openai"), "apiBase": server.base("openai"), **more}


KEYS = {"OPENAI_API_KEY": "sk-test-secret-value-123456"}


# --- names and summaries ----------------------------------------------------------------------------------


async def test_a_session_is_named_and_summed_up_by_the_small_model(tmp_path: Path) -> None:
    with ModelServer() as server:
        settings = real(server, smallModel="openai/gpt-4o-mini")
        environment = {**KEYS, "MAGENT_TITLES": "true"}
        async with editor(tmp_path, settings=settings, client=EVENTS, environment=environment) as client:
            server.reply(calls=[call("list_dir")])
            server.reply("An empty folder.", usage=Tokens(1000, 10, cached=500))
            server.reply("Look around")
            outcome = await said(client, "what is here?")
            session = outcome["sessionId"]
            assert outcome["text"] == "An empty folder."
            await server.arrived(3)
            title = ""
            while title != "Look around":
                [info] = await client.command("magent.sessions")
                title = info["title"]
            assert info["usage"]["inputTokens"] == 1200
            assert info["usage"]["costUsd"] > 0
            assert info["size"] > 0
            assert info["agent"] == "build"
            server.reply("Looked around\n\nNothing was changed.")
            run = await client.command("magent.summarizeSession", sessionId=session)
            assert run["sessionId"] == session
            assert (await client.finished(run["runId"]))["text"] == "Looked around\n\nNothing was changed."
            asked = server.requests[3]
            assert asked.json["model"] == "gpt-4o-mini"
            assert "what is here?" in asked.last
            text = (await client.command("magent.exportSession", sessionId=session))["text"]
            assert "Nothing was changed." not in text
            status = await client.command("magent.status")
            assert status["usageToday"]["inputTokens"] == 1300
            assert status["sessions"][0]["usage"]["inputTokens"] == 1300


async def test_a_summary_is_opened_as_a_document_where_no_events_are_taken(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SAY) as client:
        outcome = await said(client, "Name an animal")
        run = await client.command("magent.summarizeSession", sessionId=outcome["sessionId"])
        assert (await client.finished(run["runId"]))["text"] == "Blue whale."
        await client.until(lambda: client.shown)


# --- resuming ---------------------------------------------------------------------------------------------


async def test_by_setting_the_first_prompt_goes_on_with_the_last_session(tmp_path: Path) -> None:
    script = [{"when": {"turn": 1}, **SAY[0]}, {"when": {"turn": 2}, "text": "Again.", "repeat": True}]
    settings = {"resume": "last"}
    async with editor(tmp_path, script=script, settings=settings) as client:
        first = await said(client, "Name an animal")
        fork = await client.command("magent.forkSession", sessionId=first["sessionId"])
        assert fork["sessionId"] != first["sessionId"]
        other = await said(client, "Name another")
        assert other["sessionId"] != first["sessionId"], "only the first prompt after a start is resumed"
    (tmp_path / "ws/a.py").write_text("x = 1\n")
    async with editor(tmp_path, script=script, settings=settings) as client:
        buffer = client.open("a.py")
        asked = await client.command("magent.ask", uri=buffer.uri, position={"line": 0, "character": 0})
        assert asked["sessionId"] != other["sessionId"], "a question at a place is no part of it"
        await client.finished(asked["runId"])
    async with editor(tmp_path, script=script, settings=settings) as client:
        again = await said(client, "And again", agent="build")
        assert again["sessionId"] == other["sessionId"]
        assert again["text"] == "Again."
    async with editor(tmp_path, script=script) as client:
        new = await said(client, "And a new one")
        assert new["sessionId"] != other["sessionId"]


@posix
async def test_two_servers_never_write_to_one_session(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SAY, settings={"resume": "last"}) as one:
        first = await said(one, "Name an animal")
        session = {"sessionId": first["sessionId"]}
        async with editor(tmp_path, script=SAY, settings={"resume": "last"}) as other:
            with pytest.raises(ResponseError, match=r"in use by process .* fork it"):
                await other.command("magent.prompt", prompt="Me too", **session)
            assert "Blue whale." in (await other.command("magent.exportSession", **session))["text"]
            assert [info["sessionId"] for info in await other.command("magent.sessions")] == [
                first["sessionId"]
            ]
            summary = await other.command("magent.summarizeSession", **session)
            assert summary["sessionId"] != first["sessionId"]
            assert (await other.finished(summary["runId"]))["stopReason"] == "end_turn"
            own = await said(other, "Something of my own")
            assert own["sessionId"] != first["sessionId"], "what is in use is not resumed"
            fork = await other.command("magent.forkSession", **session)
            assert (await said(other, "In my copy", **fork))["stopReason"] == "end_turn"
            for name in ("renameSession", "deleteSession"):
                title = {"title": "Mine"} if name == "renameSession" else {}
                with pytest.raises(ResponseError, match="in use"):
                    await other.command(f"magent.{name}", **session, **title)
            assert (await said(one, "Still here", **session))["stopReason"] == "end_turn"
            text = (await one.command("magent.exportSession", **session))["text"]
            assert "In my copy" not in text
            # the first server dies, and its session is free
            assert one.process is not None
            one.process.kill()
            await one.process.wait()
            assert (await said(other, "Me now", **session))["text"] == "Blue whale."
            text = (await other.command("magent.exportSession", **session))["text"]
            assert ("Still here" in text, "Me now" in text) == (True, True)


# --- a full disk ------------------------------------------------------------------------------------------

_FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
from magent_lsp.lsp import server
sys.exit(server.serve_stdio())
"""


@posix
async def test_on_a_full_disk_the_run_goes_on_and_one_is_told_once(tmp_path: Path) -> None:
    """A limit of the kernel on the size of files: the session cannot grow, the small files can."""
    words = "many words " * 60
    script = [
        {"text": words, "calls": [READ]},
        {"text": words, "calls": [edit("x = 1", "x = 2")]},
        {"text": words, "calls": [READ]},
        {"text": "Done."},
        {"text": words, "repeat": True},
    ]
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, script=script, code=_FULL, files=files, profile=POOR) as client:
        client.always = "Allow once"
        settings = {"permission": {"edit": "allow"}}
        client.notify("workspace/didChangeConfiguration", {"settings": {"magent": settings}})
        outcome = await said(client, "change it")
        assert (outcome["stopReason"], outcome["text"]) == ("end_turn", "Done.")
        assert [each["outcome"] for each in outcome["edits"]] == ["applied"]
        assert (tmp_path / "ws/a.py").read_text() == "x = 2\n"
        await said(client, "and on", sessionId=outcome["sessionId"])
        await said(client, "and in another session")
        told = [text for _, text in client.messages if "cannot be written to" in text]
        assert len(told) == 1
        assert "goes on in memory" in told[0]
        assert [text for kind, text in client.logs if kind < 3 and "cannot be written to" in text] == []
    async with editor(tmp_path, script=SAY) as client:
        back = await said(client, "are you there?", sessionId=outcome["sessionId"])
        assert (back["stopReason"], back["text"]) == ("end_turn", "Blue whale.")


# --- limits, sizes and the log ----------------------------------------------------------------------------


async def test_cost_and_context_are_told_and_limits_end_a_run(tmp_path: Path) -> None:
    script = [
        {"text": "One.", "calls": [READ], "usage": {"input": 900, "output": 20, "cached": 800, "cost": 0.5}},
        {"text": "Two.", "calls": [READ], "usage": {"input": 950, "output": 20, "cost": 0.5}},
        {"text": "Three.", "usage": {"input": 990, "output": 20, "cost": 0.5}},
    ]
    settings = {"maxCostUsd": 1.2, "contextLimit": 20_000}
    async with editor(
        tmp_path, script=script, settings=settings, client=EVENTS, files={"a.py": "x = 1\n"}
    ) as client:
        outcome = await said(client, "go on")
        assert outcome["stopReason"] == "budget"
        assert outcome["usage"] == {
            "inputTokens": 1850,
            "outputTokens": 40,
            "cachedTokens": 800,
            "costUsd": 1.0,
            "estimated": False,
        }
        notices = [e["message"] for e in client.of_run(outcome["runId"]) if e["type"] == "notice"]
        assert any("maxCostUsd" in notice for notice in notices)
        session = {"sessionId": outcome["sessionId"]}
        cost = (await said(client, "/cost", **session))["text"]
        assert "Tokens in: 1,850 (from cache: 800), out: 40. Cost: $1.0000." in cost
        context = (await said(client, "/context", **session))["text"]
        assert "of 20,000" in context
        assert "- output of read_file: " in context
        goes_on = await said(client, "go on", **session)
        assert goes_on["text"] == "Three."


async def test_time_ends_a_run(tmp_path: Path) -> None:
    script = [{"text": "never", "first_delay": 60}, {"text": "Here."}]
    async with editor(tmp_path, script=script, settings={"maxMinutes": 0.005}, client=EVENTS) as client:
        outcome = await said(client, "wait")
        assert outcome["stopReason"] == "budget"
        again = await said(client, "and now", sessionId=outcome["sessionId"])
        assert again["text"] == "Here."


async def test_going_round_in_circles_ends_a_run(tmp_path: Path) -> None:
    script = [{"text": "Once more.", "calls": [READ], "repeat": True}]
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, script=script, client=EVENTS, files=files) as client:
        outcome = await said(client, "go on")
        assert outcome["stopReason"] == "loop"


async def test_a_long_conversation_is_compacted_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/long.py").write_text("a = 'a long line of a long file'\n" * 600)
    script: list[dict[str, Any]] = []
    for number in range(60):
        head = {"tool": "bash", "arguments": {"command": f"head -c 8000 long.py; echo {number}"}}
        script.append({"when": {"tools": True}, "text": f"Step {number}.", "calls": [head]})
    script.append({"when": {"tools": True}, "text": "All read."})
    script.append({"when": {"tools": False}, "text": "60 heads were read.", "repeat": True})
    settings = {"contextLimit": 50_000, "maxTurns": 100, "permission": {"bash": "allow"}}
    async with editor(tmp_path, script=script, settings=settings, client=EVENTS) as client:
        outcome = await said(client, "read it sixty times")
        assert (outcome["stopReason"], outcome["text"], outcome.get("error")) == (
            "end_turn",
            "All read.",
            None,
        )
        notices = [e["message"] for e in client.of_run(outcome["runId"]) if e["type"] == "notice"]
        assert any("left out to make room" in notice for notice in notices)
        session = {"sessionId": outcome["sessionId"]}
        compact = await client.command("magent.compactSession", **session)
        assert "is summarised now" in (await client.finished(compact["runId"]))["text"]
        export = json.loads((await client.command("magent.exportSession", **session, format="json"))["text"])
        assert sum(m["role"] == "tool" for m in export["messages"]) == 60


async def test_a_run_can_be_followed_in_the_editors_log_and_in_a_file(tmp_path: Path) -> None:
    script = [{"text": "I look.", "calls": [READ]}, {"text": "Done."}]
    files = {"a.py": "x = 1\n"}
    log = tmp_path / "log.txt"
    code = (
        "import sys; from pathlib import Path; from magent_lsp.lsp import log, server; "
        f"log.configure(log_file=Path({str(log)!r}), verbosity=2); sys.exit(server.serve_stdio())"
    )
    secret = {"MY_API_KEY": "a-secret-of-the-person-1234"}
    async with editor(
        tmp_path, script=script, settings={"log": "debug"}, files=files, code=code, environment=secret
    ) as client:
        outcome = await said(client, "what of a-secret-of-the-person-1234?")
        lines = [text for _, text in client.logs if text.startswith("magent_lsp.run: ")]
        happened = [" ".join(w for w in line.split()[1:3] if "=" not in w) for line in lines]
        assert [each for each in happened if not each.startswith("notice")] == [
            "run started",
            "turn done",
            "verdict allow",
            "tool completed",
            "turn done",
            "run end_turn",
        ]
        assert all(f"run={outcome['runId']}" in line for line in lines)
        assert "secret-of-the-person" not in str(client.logs)
    written = log.read_text()
    assert "magent_lsp.run: run end_turn" in written
    assert 'rule="read_file * allow"' in written
    assert "secret-of-the-person" not in written


async def test_a_cancel_while_an_edit_is_on_its_way_leaves_no_wrong_word(tmp_path: Path) -> None:
    """The editor has the edit and has not answered: it may be there, and the model is told just that."""
    script = [{"text": "", "calls": [edit("x = 1", "x = 2")]}, {"text": "I look first.", "repeat": True}]
    settings = {"permission": {"edit": "allow"}}
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, script=script, settings=settings, client=EVENTS, files=files) as client:
        client.open("a.py")
        client.apply = "silent"
        run = await client.command("magent.prompt", prompt="change it")
        await client.until(lambda: client.edits)
        await client.command("magent.cancel", runId=run["runId"])
        outcome = await client.finished(run["runId"], seconds=20)
        assert (outcome["stopReason"], outcome["edits"][0]["outcome"]) == ("cancelled", "unknown")
        client.apply = "apply"
        again = await said(client, "go on", sessionId=run["sessionId"])
        assert again["text"] == "I look first."
        text = (await client.command("magent.exportSession", sessionId=run["sessionId"]))["text"]
        assert "it may or may not be there" in text


async def test_after_a_kill_9_in_the_middle_the_session_goes_on(tmp_path: Path) -> None:
    script = [{"text": "I sleep.", "calls": [{"tool": "bash", "arguments": {"command": "sleep 60"}}]}]
    settings = {"permission": {"bash": "allow"}}
    async with editor(tmp_path, script=script, settings=settings, client=EVENTS) as client:
        run = await client.command("magent.prompt", prompt="sleep")
        await client.until(lambda: any(e["type"] == "tool_call_updated" for e in client.of_run(run["runId"])))
        assert client.process is not None
        os.kill(client.process.pid, 9)
        await client.process.wait()
    async with editor(tmp_path, script=SAY) as client:
        back = await said(client, "are you there?", sessionId=run["sessionId"])
        assert (back["stopReason"], back["text"]) == ("end_turn", "Blue whale.")
        text = (await client.command("magent.exportSession", sessionId=run["sessionId"]))["text"]
        assert "I sleep." in text
