"""Agents of other programs, through `magent-lsp mcp`: the person sees, allows, cancels and takes back."""

import asyncio
import base64
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
import pytest_asyncio

from tests.support.guest import SERVED, GuestClient, asked, door, ended, guest, holds
from tests.support.lsp_client import EVENTS, NO_ANSWER, LspClient, editor
from tests.support.lsp_profiles import POOR


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A short one: the path of a socket must be, and that of pytest's is not beside other workers."""
    with tempfile.TemporaryDirectory(prefix="guest-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


SECRET = "sk-test-secret-value-123456"
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[LspClient]:
    """An editor that lets guests in, with a file that is open and not saved."""
    async with editor(
        tmp_path,
        settings=SERVED,
        client={**EVENTS, "input": True},
        files={"a.py": "x = 1\n", "b.py": "b = 1\n", ".env": "KEY=hush\n"},
        environment={"OPENAI_API_KEY": SECRET},
    ) as client:
        client.open("a.py", "x = 1\ny = 2\n")
        client.always = "Allow once"
        await door(tmp_path)
        yield client


def text_of(client: LspClient, name: str = "a.py") -> str:
    """What a buffer holds."""
    assert client.folder is not None
    return client.buffers[(client.folder / name).as_uri()].text


def edit(agent: GuestClient, **more: Any) -> Any:
    """The usual edit."""
    return agent.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 42", **more)


async def over(client: LspClient, count: int = 1) -> list[dict[str, Any]]:
    """How the runs ended, when so many have."""
    found: list[dict[str, Any]] = await client.until(
        lambda: found if len(found := ended(client)) >= count else None
    )
    return found


# -- what it sees and does --------------------------------------------------------------------------


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


# -- asking -----------------------------------------------------------------------------------------


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


async def test_a_code_action_answers_where_there_are_no_dialogs(tmp_path: Path) -> None:
    profile = POOR.__class__(**{**POOR.__dict__, "capabilities": {"workspace": {"applyEdit": True}}})
    async with editor(tmp_path, profile=profile, settings=SERVED, files={"a.py": "x = 1\n"}) as client:
        buffer = client.open("a.py")
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            working = asyncio.create_task(edit(agent))
            await asked(client)
            actions = await client.actions(
                buffer.uri, {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
            )
            chosen = next(a for a in actions if a["title"].startswith("Magent: Allow once"))
            command = chosen["command"] if isinstance(chosen["command"], dict) else chosen
            await client.request("workspace/executeCommand", command)
            assert "applied" in (await working).text
        assert buffer.text == "x = 42\n"


async def test_a_no_changes_nothing_and_the_next_call_is_another_run(
    client: LspClient, tmp_path: Path
) -> None:
    client.always = "Reject"
    async with guest(tmp_path) as agent:
        got = await edit(agent)
        assert client.questions[0]["message"].startswith("Magent: claude-code: Edit a.py\n")
        assert got.failed
        assert got.text == "The user rejected this. Nothing was done."
        assert text_of(client) == "x = 1\ny = 2\n"
        assert (await over(client))[0]["stopReason"] == "rejected"
        assert "x = 1" in (await agent.use("read_file", path="a.py")).text
    ends = await over(client, 2)
    assert ends[1]["stopReason"] == "end_turn"
    sessions = {each["sessionId"] for each in client.events}
    assert len(sessions) == 1, "the session goes on"


async def test_words_with_a_no_reach_the_agent(client: LspClient, tmp_path: Path) -> None:
    client.always = lambda params: NO_ANSWER
    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent))
        request = await asked(client)
        reply = {"requestId": request["requestId"], "reply": "reject", "feedback": "Use y instead."}
        await client.command("magent.respond", **reply)
        got = await working
        assert "Use y instead." in got.text
        assert got.failed


async def test_what_is_allowed_for_the_session_is_not_asked_again(client: LspClient, tmp_path: Path) -> None:
    client.always = "Allow a.py in this session"
    async with guest(tmp_path) as agent:
        await edit(agent)
        got = await agent.use("edit_file", path="a.py", old_string="y = 2", new_string="y = 3")
        assert not got.failed
        assert len(client.questions) == 1
    async with guest(tmp_path) as agent:
        await agent.use("edit_file", path="a.py", old_string="y = 3", new_string="y = 4")
        assert len(client.questions) == 2, "another stay is another session"


async def test_what_the_rules_protect(client: LspClient, tmp_path: Path) -> None:
    """As for our own agents: keys are closed, what runs later is always asked, so is all that is outside."""
    (tmp_path / "outside.txt").write_text("OUTSIDE\n")
    (tmp_path / "config/config.yaml").write_text("permission: {edit_file: allow, write_file: allow}\n")
    uri = (tmp_path / "config/config.yaml").as_uri()
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    async with guest(tmp_path) as agent:
        got = await agent.use("read_file", path=".env")
        assert got.failed
        assert "Not allowed" in got.text
        assert not client.questions
        assert not (await agent.use("write_file", path="new.txt", content="free\n")).failed
        assert not client.questions, "the person's own rules hold for it too"
        for path in (".vscode/tasks.json", str(tmp_path / "config/agents/x.md"), str(tmp_path / "state/x")):
            client.always = "Reject"
            assert (await agent.use("write_file", path=path, content="{}")).failed
        assert len(client.questions) == 3
        client.always = "Allow once"
        assert "OUTSIDE" in (await agent.use("read_file", path="../outside.txt")).text
        assert len(client.questions) == 4
        note = next((tmp_path / "state/guests").glob("*.json"))
        client.always = "Reject"
        assert (await agent.use("read_file", path=str(note))).failed


async def test_a_users_own_agent_file_says_what_guests_may_do(client: LspClient, tmp_path: Path) -> None:
    folder = tmp_path / "config/agents"
    folder.mkdir()
    path = folder / "guest.md"
    path.write_text(
        "---\ndescription: Readers only.\npermission:\n  '*': deny\n  read_file: allow\n---\nRead.\n"
    )
    client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    async with guest(tmp_path) as agent:
        assert await agent.tools() == ["read_file"]
        assert agent.session.instructions == "Read."
        assert "There is no tool 'edit_file'" in (await edit(agent)).text


async def test_reads_go_on_while_an_edit_waits_for_the_person(client: LspClient, tmp_path: Path) -> None:
    client.always = lambda params: NO_ANSWER
    said: list[str] = []

    async def progress(count: float, total: float | None, message: str | None) -> None:
        said.append(str(message))

    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent, progress=progress))
        request = await asked(client)
        assert "b = 1" in (await agent.use("read_file", path="b.py")).text
        await client.command("magent.respond", requestId=request["requestId"], reply="allow_once")
        assert not (await working).failed
        assert said[0] == "Waiting for the user's permission: Edit a.py"


async def test_what_the_person_says_to_the_run_comes_with_the_next_answer(
    client: LspClient, tmp_path: Path
) -> None:
    async with guest(tmp_path) as agent:
        await agent.use("read_file", path="a.py")
        run = (await client.until(lambda: client.events))[-1]["runId"]
        assert await client.command("magent.steer", runId=run, message="Leave b alone.") == {"ok": True}
        got = await agent.use("read_file", path="b.py")
        assert got.text.endswith("[The user says to you, in the editor:]\nLeave b alone.")


async def test_a_person_goes_on_with_what_it_did_as_with_any_session(tmp_path: Path) -> None:
    files = {"a.py": "x = 1\n"}
    async with editor(
        tmp_path, script=[{"text": "Hello."}], settings=SERVED, client=EVENTS, files=files
    ) as client:
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            await agent.use("read_file", path="a.py")
        await over(client)
        session = client.events[-1]["sessionId"]
        run = await client.command("magent.prompt", prompt="what did it do?", sessionId=session)
        assert (await client.finished(run["runId"]))["text"] == "Hello."
        started = next(e for e in client.of_run(run["runId"]) if e["type"] == "run_started")
        assert started["agent"] == "build"


async def test_the_last_session_that_is_resumed_is_never_a_guests(tmp_path: Path) -> None:
    settings = {**SERVED, "resume": "last"}
    files = {"a.py": "x = 1\n"}
    async with editor(
        tmp_path, script=[{"text": "Hello."}], settings=settings, client=EVENTS, files=files
    ) as client:
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            await agent.use("read_file", path="a.py")
        await over(client)
        session = client.events[-1]["sessionId"]
        run = await client.command("magent.prompt", prompt="hello")
        assert run["sessionId"] != session


async def test_own_runs_go_on_meanwhile(tmp_path: Path) -> None:
    files = {"a.py": "x = 1\n"}
    async with editor(
        tmp_path, script=[{"text": "Hello."}], settings=SERVED, client=EVENTS, files=files
    ) as client:
        client.always = lambda params: NO_ANSWER
        client.open("a.py")
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            working = asyncio.create_task(edit(agent))
            request = await asked(client)
            run = await client.command("magent.prompt", prompt="hello")
            assert (await client.finished(run["runId"]))["text"] == "Hello."
            await client.command("magent.respond", requestId=request["requestId"], reply="allow_once")
            assert not (await working).failed


# -- cancelling -------------------------------------------------------------------------------------


async def test_the_person_cancels(client: LspClient, tmp_path: Path) -> None:
    client.always = lambda params: NO_ANSWER
    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent))
        request = await asked(client)
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
    client.always = lambda params: NO_ANSWER
    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent))
        await asked(client)
        working.cancel()
        await asyncio.wait([working])
        await client.until(lambda: client.cancelled)
        assert await client.command("magent.pending") == []
        assert "b = 1" in (await agent.use("read_file", path="b.py")).text
        assert not ended(client), "the run goes on"
        assert text_of(client) == "x = 1\ny = 2\n"


async def test_an_agent_that_leaves_leaves_nothing_behind(client: LspClient, tmp_path: Path) -> None:
    client.always = lambda params: NO_ANSWER
    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent))
        await asked(client)
        working.cancel()
    await over(client)
    await client.until(lambda: client.cancelled)
    assert await client.command("magent.pending") == []
    status = await client.command("magent.status")
    assert (status["runs"], status["sessions"]) == ([], [])


# -- finding ----------------------------------------------------------------------------------------


async def test_without_an_editor_it_says_what_to_do_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    async with guest(tmp_path) as agent:
        assert "edit_file" in await agent.tools()
        got = await agent.use("read_file", path="a.py")
        assert got.failed
        assert "serveMcp: true" in got.text
        assert str(tmp_path / "ws") in got.text
        assert not agent.heard
        for text in ("one", "two"):  # the second after a restart of the editor
            files = {"a.py": f"{text}\n"}
            can = {**EVENTS, "eval": "lua"}
            async with editor(tmp_path, settings=SERVED, client=can, files=files):
                await door(tmp_path)
                assert text in (await agent.use("read_file", path="a.py")).text
                assert "notifications/tools/list_changed" in agent.heard
                assert (await agent.tools())[-2:] == ["editor_eval", "open_buffers"]
            assert not list((tmp_path / "state/guests").iterdir())
        assert "serveMcp" in (await agent.use("read_file", path="a.py")).text


async def test_the_doctor_says_who_lets_other_agents_in(client: LspClient, tmp_path: Path) -> None:
    found = await door(tmp_path)
    await client.command("magent.doctor")
    (shown,) = await client.until(lambda: client.shown)
    text = Path(url2pathname(urlsplit(shown["uri"]).path)).read_text()
    assert (
        f"## Other agents\n\n- ✓ **let in**: an editor, process {found.owner.pid}: {tmp_path / 'ws'}" in text
    )


async def test_two_editors_and_the_innermost_folder(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two", "three")]
    for home in homes:
        home.mkdir()
    shared = {"MAGENT_STATE_DIR": str(tmp_path / "state")}
    inner = homes[0] / "ws/inner"
    async with (
        editor(homes[0], settings=SERVED, files={"who": "one\n", "inner/who": "x\n"}, environment=shared),
        editor(homes[1], settings=SERVED, files={"who": "two\n"}, environment=shared, initialize=False) as b,
        editor(homes[2], settings=SERVED, environment=shared, initialize=False) as c,
    ):
        await door(tmp_path)
        settings = {**SERVED, "warmUp": False}
        same = [{"uri": (homes[0] / "ws").as_uri(), "name": "ws"}]
        await b.initialize(magent=settings, workspaceFolders=same)
        newest = await door(tmp_path, count=2)
        b.open(homes[0] / "ws/who", "two\n")
        async with guest(homes[0], environment=shared) as agent:
            assert "two" in (await agent.use("read_file", path="who")).text, "the newest"
            assert f"process {newest.owner.pid}" in agent.log.read_text()
        deeper = [{"uri": inner.as_uri(), "name": "inner"}]
        await c.initialize(magent=settings, workspaceFolders=deeper)
        await door(tmp_path, count=3)
        async with guest(homes[0], cwd=inner, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], "--folder", str(inner), cwd=tmp_path, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], cwd=tmp_path, roots=inner, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], cwd=tmp_path, environment=shared) as agent:
            text = (await agent.use("open_buffers")).text
            assert "There is no editor that has" in text
            assert str(inner) in text


async def test_the_editor_dies_in_the_middle_of_a_call(tmp_path: Path) -> None:
    served = editor(tmp_path, settings=SERVED, client=EVENTS, files={"a.py": "x = 1\n"})
    async with served as client, guest(tmp_path) as agent:
        client.always = lambda params: NO_ANSWER
        working = asyncio.create_task(edit(agent))
        await asked(client)
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
    client.always = lambda params: NO_ANSWER
    async with guest(tmp_path) as agent:
        working = asyncio.create_task(edit(agent))
        await asked(client)
        assert client.process is not None
        client.process.terminate()
        assert (await working).text.startswith("Cancelled before it was done.")
        assert "serveMcp" in (await agent.use("read_file", path="a.py")).text


async def test_the_agent_dies_in_the_middle_of_a_call(client: LspClient, tmp_path: Path) -> None:
    client.always = lambda params: NO_ANSWER
    with pytest.raises(BaseExceptionGroup):  # noqa: PT012 - what the library says of a server that died
        async with guest(tmp_path) as agent:
            working = asyncio.create_task(edit(agent))
            await asked(client)
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


async def test_several_agents_at_once_each_with_its_own_session(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path, name="codex") as one, guest(tmp_path, name="cursor") as two:
        await asyncio.gather(
            one.use("read_file", path="a.py"),
            two.use("read_file", path="a.py"),
        )
        runs = (await client.command("magent.status"))["runs"]
        assert sorted(run["title"] for run in runs) == ["codex: Read a.py", "cursor: Read a.py"]
        await one.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 9")
        got = await two.use("edit_file", path="a.py", old_string="y = 2", new_string="y = 8")
        assert not got.failed
        assert text_of(client) == "x = 9\ny = 8\n"
        got = await two.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 7")
        assert got.failed


# -- the setting ------------------------------------------------------------------------------------


async def test_nothing_listens_by_default(tmp_path: Path) -> None:
    async with editor(tmp_path, client=EVENTS) as client:
        await client.command("magent.status")
        assert not (tmp_path / "state/guests").exists()
        section = {"settings": {"magent": SERVED}}
        client.notify("workspace/didChangeConfiguration", section)
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            assert not (await agent.use("list_dir")).failed
            client.notify("workspace/didChangeConfiguration", {"settings": {"magent": {"serveMcp": False}}})
            await holds(lambda: not list((tmp_path / "state/guests").iterdir()))
            words = (await agent.use("list_dir")).text
            assert "serveMcp: true" in words or "lets no other agents in any more" in words
            assert "serveMcp: true" in (await agent.use("list_dir")).text


async def test_a_door_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/guests").write_text("in the way")
    async with editor(tmp_path, settings=SERVED, client=EVENTS) as client:
        await client.until(lambda: client.messages)
        ((_, text),) = client.messages
        assert text.startswith("Magent: agents of other programs cannot be let in: ")
        assert (await client.command("magent.status"))["runs"] == []


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_project_cannot_open_the_door(tmp_path: Path, trusted: bool) -> None:
    files = {".magent/config.yaml": "serveMcp: true\nmaxTurns: 3\n"}
    async with editor(tmp_path, client=EVENTS, files=files) as client:
        if trusted:
            shown = await client.command("magent.trust")
            await client.command("magent.trust", digest=shown["digest"])
        problems = (await client.command("magent.status"))["problems"]
        assert any("'serveMcp': only your own config" in each["message"] for each in problems), problems
        assert not (tmp_path / "state/guests").exists()


async def test_a_folder_that_stays_closed_is_outside_for_guests(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / ".magent").mkdir(parents=True)
    (closed / ".magent/config.yaml").write_text("serveMcp: false\n")
    (closed / "c.py").write_text("c = 1\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, files=files, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", closed)]
        magent = {"warmUp": False, "client": EVENTS}
        await client.initialize(magent=magent, workspaceFolders=folders)
        client.always = "Reject"
        assert (await door(tmp_path)).folders == (tmp_path / "ws",)
        async with guest(tmp_path) as agent:
            assert not (await agent.use("read_file", path="a.py")).failed
            assert (await agent.use("read_file", path=str(closed / "c.py"))).failed
            assert len(client.questions) == 1
        async with guest(tmp_path, cwd=closed) as agent:
            assert "There is no editor that has" in (await agent.use("list_dir")).text


@pytest.mark.parametrize("link", [False, True])
async def test_a_folder_that_stays_closed_is_outside_although_it_lies_in_an_open_one(
    tmp_path: Path, link: bool
) -> None:
    closed = tmp_path / "ws/closed"
    (closed / ".magent").mkdir(parents=True)
    (closed / ".magent/config.yaml").write_text("serveMcp: false\n")
    (closed / "c.py").write_text("hush = 1\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
    opened = closed
    if link:
        (opened := tmp_path / "link").symlink_to(closed)
    async with editor(tmp_path, files={"a.py": "x = 1\n"}, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", opened)]
        await client.initialize(magent={"warmUp": False, "client": EVENTS}, workspaceFolders=folders)
        client.open(closed / "c.py", "hush = 2\n")
        client.always = "Reject"
        assert (await door(tmp_path)).folders == (tmp_path / "ws",)
        async with guest(tmp_path) as agent:
            assert "x = 1" in (await agent.use("read_file", path="a.py")).text
            assert "hush" not in (await agent.use("grep", pattern="hush|x")).text
            assert "c.py" not in (await agent.use("open_buffers")).text
            assert not client.questions
            for path in ("closed/c.py", "closed/../closed/c.py", str(opened / "c.py")):
                assert (await agent.use("read_file", path=path)).failed
            assert len(client.questions) == 3
        async with guest(tmp_path, cwd=closed) as agent:
            assert "does not let this in" in (await agent.use("list_dir")).text


async def test_who_stands_in_a_folder_that_is_closed_is_sent_out(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
    async with editor(tmp_path, files={"a.py": "x = 1\n"}, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", other)]
        await client.initialize(magent={"warmUp": False, "client": EVENTS}, workspaceFolders=folders)
        await door(tmp_path)
        async with guest(tmp_path) as agent, guest(tmp_path, cwd=other, name="codex") as stays:
            assert not (await agent.use("read_file", path="a.py")).failed
            assert not (await stays.use("list_dir")).failed
            path = tmp_path / "ws/.magent/config.yaml"
            path.parent.mkdir()
            path.write_text("serveMcp: false\n")
            client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
            note = next((tmp_path / "state/guests").glob("*.json"))
            await holds(lambda: json.loads(note.read_text())["folders"] == [str(other)])
            async with asyncio.timeout(20):
                while "There is no editor that has" not in (said := await agent.use("list_dir")).text:
                    assert said.failed, "the door was on its way to be closed"
            assert not (await stays.use("list_dir")).failed


async def test_a_project_can_keep_it_closed(tmp_path: Path) -> None:
    files = {".magent/config.yaml": "serveMcp: false\n"}
    async with editor(tmp_path, client=EVENTS, files=files, environment={"MAGENT_TITLES": "false"}) as client:
        (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
        uri = (tmp_path / "config/config.yaml").as_uri()
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        await client.command("magent.status")
        assert not (tmp_path / "state/guests").exists()
