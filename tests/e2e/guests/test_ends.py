"""Where a guest's run ends although the agent stays: what the person changed or said counts from then on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.guest import SERVED, GuestClient, asked, door, ended, guest, holds, text_of
from tests.support.lsp_client import EVENTS, NO_ANSWER, LspClient, editor

ENDED = "Nothing was done. The user ended this in the editor. Ask them before you go on."
ZERO = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
FILES = {"a.py": "x = 1\n", "b.py": "b = 1\n"}


class Waiting(NamedTuple):
    """A call that waits for the person, and what they are asked."""

    call: asyncio.Task[Any]
    request: dict[str, Any]


def edit(agent: GuestClient, number: int) -> Any:
    """Make `x = 1` a `x = 2`, and so on."""
    old, new = f"x = {number}", f"x = {number + 1}"
    return agent.use("edit_file", path="a.py", old_string=old, new_string=new)


def edit_other(agent: GuestClient) -> Any:
    """Make `b = 1` in the other file a `b = 2`."""
    return agent.use("edit_file", path="b.py", old_string="b = 1", new_string="b = 2")


async def save(client: LspClient, path: Path, text: str) -> None:
    """Save a file of the person's; the server has been told of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    await client.command("magent.pending")


def config(home: Path, permission: str) -> tuple[Path, str]:
    """The person's config with these rules."""
    return home / "config/config.yaml", f"serveMcp: true\npermission: {permission}\n"


async def test_a_rule_that_is_tightened_holds_for_the_next_call(tmp_path: Path) -> None:
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files=FILES) as client:
        buffer = client.open("a.py")
        await save(client, *config(tmp_path, "{edit_file: allow}"))
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            assert not (await edit(agent, 1)).failed
            await save(client, *config(tmp_path, "{edit_file: ask}"))
            client.always = "Allow once"
            assert not (await edit(agent, 2)).failed
            assert len(client.questions) == 1
            await save(client, *config(tmp_path, "{edit_file: deny}"))
            assert (await edit(agent, 3)).failed
            assert buffer.text == "x = 3\n"
            sessions = {each["sessionId"] for each in client.events}
            assert len(sessions) == 1, "the session goes on"


@contextlib.asynccontextmanager
async def one_waits(home: Path) -> AsyncIterator[tuple[LspClient, GuestClient, Waiting]]:
    """A guest whose edit of one file waits for the person, and may edit the other one unasked."""
    async with editor(home, settings=SERVED, client=EVENTS, files=FILES) as client:
        for name in FILES:
            client.open(name)
        client.always = lambda params: NO_ANSWER
        await save(client, *config(home, '{edit_file: {"*": ask, "b.py": allow}}'))
        await door(home)
        async with guest(home) as agent:
            waits = asyncio.create_task(edit(agent, 1))
            yield client, agent, Waiting(waits, await asked(client))


async def behind_it(agent: GuestClient) -> asyncio.Task[Any]:
    """An edit of the other file, which stands behind the one that waits."""
    second = asyncio.create_task(edit_other(agent))
    for _ in range(2):
        assert "b = 1" in (await agent.use("read_file", path="b.py")).text, "the edit came before it"
    return second


async def test_calls_that_wait_for_another_one_are_judged_by_the_rules_as_they_are_then(
    tmp_path: Path,
) -> None:
    async with one_waits(tmp_path) as (client, agent, first):
        second = await behind_it(agent)
        await save(client, *config(tmp_path, '{edit_file: {"*": ask, "b.py": deny}}'))
        await client.command("magent.respond", requestId=first.request["requestId"], reply="allow_once")
        assert not (await first.call).failed
        got = await second
        assert got.failed
        assert "Not allowed" in got.text
        assert text_of(client) == "x = 2\n"
        assert text_of(client, "b.py") == "b = 1\n"


async def test_a_second_folder_that_is_closed_is_outside_from_then_on(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.py").write_text("private = 1\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
    async with editor(tmp_path, files=FILES, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", other)]
        await client.initialize(magent={"warmUp": False, "client": EVENTS}, workspaceFolders=folders)
        client.always = "Reject"
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            assert "private" in (await agent.use("read_file", path=str(other / "c.py"))).text
            await save(client, other / ".magent/config.yaml", "serveMcp: false\n")
            note = next((tmp_path / "state/guests").glob("*.json"))
            await holds(lambda: str(other) not in note.read_text())
            got = await agent.use("read_file", path=str(other / "c.py"))
            assert got.failed
            assert "private" not in got.text
            assert len(client.questions) == 1


async def test_a_cancel_between_two_calls_is_told_to_the_next_one(tmp_path: Path) -> None:
    settings = {**SERVED, "permission": {"edit_file": "allow"}}
    async with editor(tmp_path, settings=settings, client=EVENTS, files=FILES) as client:
        buffer = client.open("a.py")
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            await edit(agent, 1)
            run = (await client.until(lambda: client.events))[-1]["runId"]
            assert await client.command("magent.steer", runId=run, message="Leave b alone.") == {"ok": True}
            assert await client.command("magent.cancel") == {"cancelled": [run]}
            await client.until(lambda: ended(client))
            got = await edit(agent, 2)
            assert got.failed
            assert got.text == f"{ENDED}\n\n[The user says to you, in the editor:]\nLeave b alone."
            assert buffer.text == "x = 2\n"
            assert len(ended(client)) == len({each["runId"] for each in client.events}), "no run was begun"
            async with asyncio.timeout(20):
                while (got := await edit(agent, 2)).failed:
                    assert got.text == ENDED, "it is of the turn that was ended"
            assert "The user" not in got.text, "it asked them, and goes on"
            assert buffer.text == "x = 3\n"


async def test_a_cancel_holds_for_all_calls_of_a_turn(tmp_path: Path) -> None:
    """One after the other, as some agents make those that change something: it has read no answer yet."""
    async with one_waits(tmp_path) as (client, agent, first):
        await client.command("magent.cancel", runId=first.request["runId"])
        assert (await first.call).failed
        assert (await edit_other(agent)).text == ENDED
        assert text_of(client, "b.py") == "b = 1\n"


async def test_a_cancel_reaches_what_waits_for_the_next_run(tmp_path: Path) -> None:
    async with one_waits(tmp_path) as (client, agent, first):
        second = await behind_it(agent)
        await save(client, *config(tmp_path, '{edit_file: {"*": ask, "b.py": allow, "c.py": deny}}'))
        await client.command("magent.cancel", runId=first.request["runId"])
        assert (await first.call).failed
        assert (await second).text == ENDED
        assert text_of(client, "b.py") == "b = 1\n"


async def test_a_file_that_changes_no_rule_holds_up_no_read(tmp_path: Path) -> None:
    """Claude Code keeps its own settings in the project."""
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files=FILES) as client:
        client.open("a.py")
        client.always = lambda params: NO_ANSWER
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            first = asyncio.create_task(edit(agent, 1))
            request = await asked(client)
            await save(client, tmp_path / "ws/.claude/settings.local.json", "{}")
            async with asyncio.timeout(20):
                assert "b = 1" in (await agent.use("read_file", path="b.py")).text
            # And whatever is read meanwhile, it is the person who is waited for.
            (run,) = (await client.command("magent.status"))["runs"]
            assert (run["state"], run["doing"]) == ("waiting", "waiting for you")
            (line,) = client.progress.values()
            words = "waiting for you: claude-code: Edit a.py"
            await client.until(lambda: line[-1].get("message") == words)
            said = [each.get("message") for each in line]
            assert "waiting for claude-code" not in said[said.index(words) :]
            await client.command("magent.respond", requestId=request["requestId"], reply="allow_once")
            assert not (await first).failed
            (run,) = (await client.command("magent.status"))["runs"]
            assert run["doing"] == "waiting for claude-code"
            assert len({each["runId"] for each in client.events}) == 1, "one run, to be undone as one"


async def test_what_the_person_says_is_not_lost_with_the_end_of_the_run(tmp_path: Path) -> None:
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files=FILES) as client:
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            await agent.use("read_file", path="a.py")
            run = (await client.until(lambda: client.events))[-1]["runId"]
            assert await client.command("magent.steer", runId=run, message="Leave b alone.") == {"ok": True}
            await save(client, *config(tmp_path, "{edit_file: ask}"))
            await client.until(lambda: ended(client))
            got = await agent.use("read_file", path="b.py")
            assert got.text.endswith("b = 1\n\n[The user says to you, in the editor:]\nLeave b alone.")
            got = await agent.use("read_file", path="a.py")
            assert got.text.endswith("x = 1")
        session = client.events[-1]["sessionId"]
        await client.until(lambda: len(ended(client)) == 2)
    (kept,) = (tmp_path / "state").rglob(f"{session}.jsonl")
    assert kept.read_text().count("Leave b alone.") == 1


async def test_what_the_person_says_to_a_run_that_is_never_begun_is_not_lost(tmp_path: Path) -> None:
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files=FILES) as client:
        client.always = lambda params: NO_ANSWER
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            first = asyncio.create_task(edit(agent, 1))
            await asked(client)
            await save(client, *config(tmp_path, "{edit_file: ask}"))
            second = asyncio.create_task(agent.use("read_file", path="b.py"))
            queued = await client.until(
                lambda: [each["runId"] for each in client.events if each["event"]["type"] == "run_queued"]
            )
            words = {"runId": queued[0], "message": "Leave b alone."}
            assert await client.command("magent.steer", **words) == {"ok": True}
            assert await client.command("magent.cancel", runId=queued[0]) == {"cancelled": queued}
            assert (await second).text == f"{ENDED}\n\n[The user says to you, in the editor:]\nLeave b alone."
            await client.command("magent.cancel")
            assert (await first).failed


async def test_undo_means_the_last_edit_also_while_the_agent_is_there(tmp_path: Path) -> None:
    arguments = {"path": "b.py", "old_string": "b = 1", "new_string": "b = 2"}
    script = [{"calls": [{"tool": "edit_file", "arguments": arguments}]}, {"text": "done"}]
    settings = {**SERVED, "permission": {"edit_file": "allow"}}
    async with editor(tmp_path, settings=settings, script=script, client=EVENTS, files=FILES) as client:
        buffer, other = client.open("a.py"), client.open("b.py")
        await door(tmp_path)

        async def undo() -> Any:
            actions = await client.actions(buffer.uri, ZERO)
            (found,) = (each for each in actions if each["title"].startswith("Magent: Undo"))
            return found

        async with guest(tmp_path) as agent:
            assert not (await edit(agent, 1)).failed
            own = await client.command("magent.prompt", prompt="own work")
            await client.finished(own["runId"])
            assert "own work" in (await undo())["title"]
            assert not (await edit(agent, 2)).failed
            action = await undo()
            assert action["title"] == "Magent: Undo: claude-code"
            command = action["command"] if isinstance(action["command"], dict) else action
            await client.request("workspace/executeCommand", command)
            assert (buffer.text, other.text) == ("x = 1\n", "b = 2\n")
            assert not ended(client)[1:], "it is there still"
