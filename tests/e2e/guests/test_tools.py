"""Agents of other programs, through `magent-lsp mcp`: what they are offered, see and do."""

import base64
from pathlib import Path

from tests.support.guest import SECRET, door, edit, guest, over, text_of
from tests.support.lsp_client import LspClient

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(40)


async def test_the_person_sees_a_run_with_the_agents_name(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        await agent.use("read_file", path="a.py")
        await agent.use("read_file", path="b.py")
        status = await client.command("magent.status")
        (run,) = status["runs"]
        assert (run["agent"], run["title"]) == ("guest", "claude-code: Read a.py")
        assert run["doing"] == "waiting for claude-code"
    (end,) = await over(client)
    assert (end["stopReason"], end.get("error")) == ("end_turn", None)
    (started,) = [e["event"] for e in client.events if e["event"]["type"] == "run_started"]
    assert (started["model"], started["agent"]) == ("claude-code", "guest")
    (line,) = client.progress.values()
    assert line[0]["title"] == "Magent: claude-code"
    assert line[-1]["kind"] == "end"
    assert "thinking" not in [part.get("message") for part in line]
    (session,) = await client.command("magent.sessions")
    assert session["title"] == "claude-code: Read a.py"


async def test_what_is_listed_and_what_it_is_said_to_do(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        tools = {tool.name: tool for tool in (await agent.session.list_tools()).tools}
        assert list(tools) == [
            *("read_file", "list_dir", "glob", "grep", "edit_file", "write_file", "diagnostics"),
            *("ask_user", "propose", "open_buffers"),
        ]
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert [name for name, hint in hints.items() if hint and hint.read_only_hint] == [
            *("read_file", "list_dir", "glob", "grep", "diagnostics", "open_buffers"),
        ]
        assert [name for name, hint in hints.items() if hint and hint.destructive_hint] == [
            *("edit_file", "write_file"),
        ]
        assert tools["read_file"].input_schema["required"] == ["path"]
        assert "unsaved" in (agent.session.instructions or "")


async def test_open_buffers_and_the_selection(client: LspClient, tmp_path: Path) -> None:
    buffer = client.open(tmp_path / "ws/b.py", "b = 1\nc = 2\n")
    client.open(tmp_path / "ws/.env", "KEY=hush\n")
    await client.actions(
        buffer.uri, {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 5}}
    )
    async with guest(tmp_path) as agent:
        text = (await agent.use("open_buffers")).text
    assert f"Workspace folder: {tmp_path / 'ws'}" in text
    assert "a.py (python, not saved)\nb.py (python, not saved)\n(1 that you may not read" in text
    assert "Selected last: b.py:2-2\nc = 2" in text
    assert ".env" not in text


async def test_pictures_searches_and_diagnostics(client: LspClient, tmp_path: Path) -> None:
    (tmp_path / "ws/p.png").write_bytes(PIXEL)
    async with guest(tmp_path) as agent:
        got = await agent.use("read_file", path="p.png")
        image = got.result.content[1].model_dump(by_alias=True)
        assert (image["mimeType"], base64.b64decode(image["data"])) == ("image/png", PIXEL)
        assert "a.py:2:y = 2" in (await agent.use("grep", pattern="^y")).text
        problem = {
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
            "message": "x is odd",
            "severity": 2,
        }
        uri = (tmp_path / "ws/a.py").as_uri()
        await client.request(
            "textDocument/codeAction",
            {"textDocument": {"uri": uri}, "range": problem["range"], "context": {"diagnostics": [problem]}},
        )
        assert "a.py:1:1: warning: x is odd" in (await agent.use("diagnostics", path="a.py")).text
        read = (await agent.use("read_file", path="a.py")).text
        assert read.endswith("[Problems that the editor knows here:]\na.py:1:1: warning: x is odd")
        assert "Problems" not in (await agent.use("read_file", path="b.py")).text


async def test_questions_and_proposals_reach_the_person(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        asked_for: list[str] = []
        client.on["magent/input"] = lambda params: asked_for.append(params["title"]) or {"value": "green"}
        got = await agent.use("ask_user", question="Which colour?", options=["red", "green"])
        assert got.text == "The user chose: green"
        assert asked_for == ["claude-code: Which colour?"], "the person knows who asks"
        client.on["magent/input"] = lambda params: {"value": "another text"}
        got = await agent.use("propose", title="Commit message", content="fix: it")
        assert "The user's text, which counts from now on:\nanother text" in got.text


async def test_secrets_that_we_know_never_reach_it(client: LspClient, tmp_path: Path) -> None:
    (tmp_path / "ws/notes.txt").write_text(f"the key is {SECRET}\n")
    async with guest(tmp_path) as agent:
        text = (await agent.use("read_file", path="notes.txt")).text
        assert "the key is" in text
        assert SECRET not in text
        found = await door(tmp_path)
        (tmp_path / "ws/token.txt").write_text(f"token {found.token}\n")
        assert found.token not in (await agent.use("read_file", path="token.txt")).text


async def test_bad_calls_are_answered_in_words(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        for tool, arguments, words in (
            ("bash", {"command": "true"}, "There is no tool 'bash'"),
            ("read_file", {}, "Bad arguments for 'read_file'"),
            ("read_file", {"path": ""}, "The path is empty"),
            ("read_file", {"path": "none.py"}, "There is no file 'none.py'"),
            ("write_file", {"path": "b.py", "content": "z"}, "read"),
        ):
            got = await agent.use(tool, **arguments)
            assert got.failed, tool
            assert words in got.text, got.text


async def test_an_edit_is_undone_by_the_runs_id(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path) as agent:
        assert not (await edit(agent)).failed
        assert text_of(client) == "x = 42\ny = 2\n"
    await over(client)
    run = client.events[-1]["runId"]
    undone = await client.command("magent.undo", runId=run)
    assert undone["restored"] == [(tmp_path / "ws/a.py").as_uri()]
    assert text_of(client) == "x = 1\ny = 2\n"
    redone = await client.command("magent.redo", runId=run)
    assert redone["restored"]
    assert text_of(client) == "x = 42\ny = 2\n"
