"""Commands: the shapes of arguments that clients really send, and errors that name the field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.lsp.commands.names import COMMANDS
from tests.support.lsp_client import ResponseError, editor

BAD: list[tuple[str, Any, str]] = [
    ("magent.answer", {}, "questionId"),
    ("magent.answer", {"questionId": "q", "answer": 3}, "answer"),
    ("magent.prompt", {}, "prompt"),
    ("magent.prompt", {"prompt": ""}, "prompt"),
    ("magent.prompt", {"prompt": " \n"}, "prompt"),
    ("magent.prompt", {"prompt": 5}, "prompt"),
    ("magent.prompt", {"prompt": "x", "colour": "red"}, "colour"),
    ("magent.prompt", {"prompt": "x", "agent": "nobody"}, "agent"),
    ("magent.prompt", {"prompt": "x", "sessionId": "nothing"}, "nothing"),
    ("magent.prompt", {"prompt": "x", "sessionId": "../../etc/passwd"}, "session"),
    ("magent.prompt", {"prompt": "x", "scope": "line"}, "range"),
    ("magent.prompt", {"prompt": "x", "scope": "world"}, "scope"),
    ("magent.prompt", {"prompt": "x", "scope": "buffer"}, "uri"),
    ("magent.prompt", {"prompt": "x", "range": {"start": {"line": 0, "character": 0}}}, "range.end"),
    (
        "magent.prompt",
        {"prompt": "x", "range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}}},
        "range.start.line",
    ),
    ("magent.prompt", {"prompt": "x", "diagnostics": "none"}, "diagnostics"),
    ("magent.ask", {}, "uri"),
    ("magent.ask", {"uri": "file:///x.py"}, "position"),
    ("magent.ask", {"uri": "file:///x.py", "position": {"line": "one", "character": 0}}, "position.line"),
    ("magent.steer", {"runId": "x"}, "message"),
    ("magent.cancel", {"runId": 5}, "runId"),
    ("magent.pending", {"runId": "x"}, "runId"),
    ("magent.respond", {"requestId": "x", "reply": "yes"}, "reply"),
    ("magent.respond", {"reply": "reject"}, "requestId"),
    ("magent.undo", {}, "runId"),
    ("magent.undo", {"runId": ""}, "runId"),
    ("magent.redo", {"runId": None}, "runId"),
    ("magent.redo", {"runId": [1]}, "runId"),
    ("magent.status", {"verbose": True}, "verbose"),
    ("magent.agents", {"x": 1}, "x"),
    ("magent.models", {"x": 1}, "x"),
    ("magent.slashCommands", {"x": 1}, "x"),
    ("magent.skills", {"x": 1}, "x"),
    ("magent.tools", {"agent": "nobody"}, "nobody"),
    ("magent.sessions", {"folder": 5}, "folder"),
    ("magent.sessions", {"folder": "relative"}, "folder"),
    ("magent.searchSessions", {}, "text"),
    ("magent.newSession", {"agent": "nobody"}, "nobody"),
    ("magent.forkSession", {"sessionId": "nothing"}, "nothing"),
    ("magent.renameSession", {"sessionId": "nothing"}, "title"),
    ("magent.summarizeSession", {}, "sessionId"),
    ("magent.exportSession", {"sessionId": "x", "format": "pdf"}, "format"),
    ("magent.compactSession", {"sessionId": "nothing"}, "nothing"),
    ("magent.deleteSession", {"sessionId": "nothing"}, "nothing"),
    ("magent.saveAgent", {"name": "nobody"}, "name"),
    ("magent.saveAgent", {"name": "../x", "description": "x", "prompt": "x"}, "name"),
    ("magent.explainPermission", {"tool": "no_such_tool"}, "no_such_tool"),
    ("magent.explainPermission", {"tool": "bash", "arguments": "ls"}, "arguments"),
    ("magent.grants", {"x": 1}, "x"),
    ("magent.revokeGrant", {"grantId": "99"}, "99"),
    ("magent.trust", {"folder": 5}, "folder"),
    ("magent.openChat", {"sessionId": "nothing"}, "nothing"),
    ("magent.send", {}, "uri"),
    ("magent.send", {"uri": "untitled:x"}, "uri"),
    ("magent.doctor", {"x": 1}, "x"),
]


async def test_bad_arguments_are_invalid_params_that_name_the_field(tmp_path: Path) -> None:
    assert {name for name, _, _ in BAD} == set(COMMANDS)
    async with editor(tmp_path, script=[]) as client:
        wrong = []
        for name, argument, field in BAD:
            try:
                answer = await client.command(name, **argument)
            except ResponseError as error:
                if error.code != -32602 or field not in error.message or len(error.message) > 400:
                    wrong.append((name, argument, field, str(error)))
            else:
                wrong.append((name, argument, field, answer))
        assert wrong == []
        assert client.messages == []
        assert client.process is not None
        status = await client.command("magent.status")
        assert status["runs"] == []


@pytest.mark.parametrize("arguments", ["missing", None, [], [None], [{}], ["{}"], ["null"], [[]], {}])
async def test_no_argument_comes_in_many_shapes(tmp_path: Path, arguments: Any) -> None:
    async with editor(tmp_path, script=[]) as client:
        params = {"command": "magent.pending"}
        if arguments != "missing":
            params["arguments"] = arguments
        assert await client.request("workspace/executeCommand", params) == []


async def test_one_argument_comes_in_many_shapes(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "hi", "repeat": True}]) as client:
        argument = {"prompt": "hello", "agent": None, "range": None}
        for arguments in ([argument], [json.dumps(argument)], argument, [argument, None]):
            params = {"command": "magent.prompt", "arguments": arguments}
            run = await client.request("workspace/executeCommand", params)
            assert (await client.finished(run["runId"]))["text"] == "hi"
        for arguments in (["hello"], [5], [argument, argument], [["prompt"]], [True]):
            with pytest.raises(ResponseError) as refused:
                await client.request(
                    "workspace/executeCommand", {"command": "magent.prompt", "arguments": arguments}
                )
            assert refused.value.code == -32602
            assert re.match(r"magent\.prompt: expected ", refused.value.message)


async def test_unknown_commands_are_invalid_params(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        with pytest.raises(ResponseError, match=r"magent\.nothing"):
            await client.command("magent.nothing")


async def test_lists_for_pickers(tmp_path: Path) -> None:
    agent = "---\ndescription: Reviews code\nmode: all\n---\nYou review.\n"
    command = "---\ndescription: Says hello\nargument-hint: NAME\n---\nHello $1\n"
    skill = "---\nname: tidy\ndescription: How to tidy up\n---\nTidy.\n"
    files = {
        ".magent/agent/reviewer.md": agent,
        ".magent/commands/hello.md": command,
        ".magent/skills/tidy/SKILL.md": skill,
    }
    async with editor(tmp_path, script=[], files=files) as client:
        agents = {item["name"]: item for item in await client.command("magent.agents")}
        assert {"build", "plan", "ask", "explore", "general", "reviewer"} <= agents.keys()
        assert "title" not in agents
        assert agents["build"]["default"] is True
        assert agents["reviewer"]["description"] == "Reviews code"
        commands = {item["name"]: item for item in await client.command("magent.slashCommands")}
        assert commands["hello"]["argumentHint"] == "NAME"
        assert "tidy" in [item["name"] for item in await client.command("magent.skills")]
        names = [tool["name"] for tool in await client.command("magent.tools")]
        assert names[:4] == ["read_file", "list_dir", "glob", "grep"]
        asking = [tool["name"] for tool in await client.command("magent.tools", agent="ask")]
        assert "bash" not in asking
        models = await client.command("magent.models")
        assert models[0]["model"].startswith("scripted:")


async def test_sessions_live_on(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "Blue whale.", "repeat": True}]) as client:
        run = await client.command("magent.prompt", prompt="Name an animal")
        await client.finished(run["runId"])
        session = run["sessionId"]
        [info] = await client.command("magent.sessions")
        assert info["sessionId"] == session
        [hit] = await client.command("magent.searchSessions", text="whale")
        assert hit["sessionId"] == session
        assert await client.command("magent.renameSession", sessionId=session, title="Animals") == {
            "ok": True
        }
        text = (await client.command("magent.exportSession", sessionId=session))["text"]
        assert "Blue whale." in text
        fork = await client.command("magent.forkSession", sessionId=session)
        assert fork["sessionId"] != session
        more = await client.command("magent.prompt", prompt="Another", sessionId=fork["sessionId"])
        assert more["sessionId"] == fork["sessionId"]
        await client.finished(more["runId"])
        new = await client.command("magent.newSession", agent="plan")
        assert new["sessionId"] not in (session, fork["sessionId"])
        assert await client.command("magent.deleteSession", sessionId=session) == {"ok": True}
        left = {item["sessionId"] for item in await client.command("magent.sessions")}
        assert session not in left
        with pytest.raises(ResponseError, match=session):
            await client.command("magent.exportSession", sessionId=session)


async def test_an_agent_is_saved_to_a_file_and_used(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        saved = await client.command(
            "magent.saveAgent", name="poet", description="Writes", prompt="You write."
        )
        assert saved["uri"].endswith("/.magent/agent/poet.md")
        names = [item["name"] for item in await client.command("magent.agents")]
        assert "poet" in names


async def test_explain_permission_names_rule_and_source(tmp_path: Path) -> None:
    settings = {"permission": {"bash": {"*": "ask", "rm *": "deny"}}}
    async with editor(tmp_path, script=[], settings=settings) as client:
        told = await client.command(
            "magent.explainPermission", tool="bash", arguments={"command": "ls && rm x"}
        )
        assert told["verdict"] == "deny"
        assert told["rule"]["pattern"] == "rm *"
        assert told["source"]
        assert {atom["subject"]: atom["verdict"] for atom in told["atoms"]}["rm x"] == "deny"


async def test_the_doctors_report_is_opened(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        assert await client.command("magent.doctor") == {"ok": True}
        await client.until(lambda: client.shown)
        [shown] = client.shown
        assert "doctor" in shown["uri"]


async def test_a_chat_document_holds_a_conversation(tmp_path: Path) -> None:
    script = [{"when": {"user": "Hello"}, "text": "Hello yourself."}, {"text": "Goodbye."}]
    async with editor(tmp_path, script=script) as client:
        opened = await client.command("magent.openChat")
        await client.until(lambda: client.shown)
        assert client.shown[0]["uri"] == opened["uri"]
        path = Path(opened["uri"].removeprefix("file://"))
        buffer = client.open(path, language="markdown")
        assert f"session: {opened['sessionId']}" in buffer.text
        with pytest.raises(ResponseError, match="## You"):
            await client.command("magent.send", uri=buffer.uri)
        client.type(buffer, buffer.text, f"{buffer.text}Hello there\n")
        run = await client.command("magent.send", uri=buffer.uri)
        assert run["sessionId"] == opened["sessionId"]
        await client.until(lambda: "Hello yourself." in buffer.text)
        await client.finished(run["runId"])
        assert buffer.text.endswith("## You\n\n")
        client.type(buffer, buffer.text, f"{buffer.text}Bye\n")
        await client.command("magent.send", uri=buffer.uri)
        await client.until(lambda: "Goodbye." in buffer.text)
