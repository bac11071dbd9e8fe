"""The person allows, refuses and steers what an agent of another program does."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tests.support.guest import (
    SERVED,
    asked,
    door,
    edit,
    guest,
    over,
    text_of,
)
from tests.support.lsp_client import EVENTS, NO_ANSWER, LspClient, editor
from tests.support.lsp_profiles import POOR


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


def talking(home: Path, **settings: Any) -> AbstractAsyncContextManager[LspClient]:
    """An editor that lets guests in, with a model for the person, too."""
    script, files = [{"text": "Hello."}], {"a.py": "x = 1\n"}
    return editor(home, script=script, settings={**SERVED, **settings}, client=EVENTS, files=files)


async def test_a_person_goes_on_with_what_it_did_as_with_any_session(tmp_path: Path) -> None:
    async with talking(tmp_path) as client:
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
    async with talking(tmp_path, resume="last") as client:
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            await agent.use("read_file", path="a.py")
        await over(client)
        session = client.events[-1]["sessionId"]
        run = await client.command("magent.prompt", prompt="hello")
        assert run["sessionId"] != session


async def test_own_runs_go_on_meanwhile(tmp_path: Path) -> None:
    async with talking(tmp_path) as client:
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
