"""A permission can be answered in three ways; the first answer wins."""

import asyncio
from pathlib import Path
from typing import Any

from tests.support.lsp_client import NO_ANSWER, LspClient, editor
from tests.support.lsp_profiles import EMACS, NEOVIM, POOR

RUN = [
    {"text": "", "calls": [{"tool": "bash", "arguments": {"command": "touch made"}}]},
    {"text": "Made it."},
]


def silent(params: dict[str, Any]) -> Any:
    return NO_ANSWER


async def waiting(client: LspClient) -> dict[str, Any]:
    """The one request that waits, once the person can see it."""
    await client.until(lambda: client.questions or any("touch made" in text for _, text in client.messages))
    [request] = await client.command("magent.pending")
    assert isinstance(request, dict)
    return request


async def permission_actions(client: LspClient) -> dict[str, Any]:
    actions = await client.actions(
        f"{(client.folder or Path('/')).as_uri()}/a.py",
        {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    )
    commands = {a["title"]: a["command"] if isinstance(a["command"], dict) else a for a in actions}
    return {title: command for title, command in commands.items() if command["command"] == "magent.respond"}


async def test_the_dialog_shows_what_will_be_done(tmp_path: Path) -> None:
    async with editor(tmp_path, script=RUN) as client:
        client.always = "Allow once"
        run = await client.command("magent.prompt", prompt="make it")
        assert (await client.finished(run["runId"]))["text"] == "Made it."
        assert (tmp_path / "ws/made").exists()
        [question] = client.questions
        assert "touch made" in question["message"]
        titles = [action["title"] for action in question["actions"]]
        assert titles[0] == "Allow once"
        assert titles[-1] == "Reject"
        assert any(title.startswith("Allow ") and title.endswith(" in this session") for title in titles)
        assert any(title.startswith("Always allow ") for title in titles)


async def test_answer_by_command_while_the_dialog_is_open(tmp_path: Path) -> None:
    async with editor(tmp_path, script=RUN) as client:
        client.always = silent
        run = await client.command("magent.prompt", prompt="make it")
        request = await waiting(client)
        assert request["command"] == "touch made"
        assert request["runId"] == run["runId"]
        assert request["options"][0]["reply"] == "allow_once"
        reply = {"requestId": request["requestId"], "reply": "allow_once"}
        assert await client.command("magent.respond", **reply) == {"ok": True}
        assert await client.command("magent.respond", **reply) == {"ok": False}
        assert await client.command("magent.respond", requestId="nothing", reply="reject") == {"ok": False}
        assert (await client.finished(run["runId"]))["text"] == "Made it."
        assert await client.command("magent.pending") == []


async def test_a_late_answer_of_the_dialog_is_ignored(tmp_path: Path) -> None:
    late = asyncio.Event()

    async def answer(params: dict[str, Any]) -> Any:
        await late.wait()
        return {"title": "Allow once"}

    async with editor(tmp_path, script=RUN) as client:
        client.always = answer
        run = await client.command("magent.prompt", prompt="make it")
        request = await waiting(client)
        await client.until(lambda: client.questions)
        await client.command("magent.respond", requestId=request["requestId"], reply="reject")
        assert (await client.finished(run["runId"]))["stopReason"] == "rejected"
        late.set()
        await client.command("magent.status")
        assert not (tmp_path / "ws/made").exists()
        assert all("Error" not in text for _, text in client.messages)


async def test_answer_by_code_action(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=EMACS, script=RUN) as client:
        client.always = silent
        run = await client.command("magent.prompt", prompt="make it")
        await waiting(client)
        actions = await permission_actions(client)
        assert "Magent: Allow once: touch made" in actions
        assert "Magent: Reject: touch made" in actions
        await client.act(actions["Magent: Allow once: touch made"])
        assert (await client.finished(run["runId"]))["text"] == "Made it."
        assert await permission_actions(client) == {}


async def test_a_client_without_dialogs_can_answer_all_the_same(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=POOR, script=RUN) as client:
        run = await client.command("magent.prompt", prompt="make it")
        await waiting(client)
        actions = await permission_actions(client)
        await client.act(actions["Magent: Allow once: touch made"])
        assert (await client.finished(run["runId"]))["text"] == "Made it."


async def test_a_session_grant_is_not_asked_again(tmp_path: Path) -> None:
    script = [RUN[0], RUN[0], {"text": "Twice."}]
    async with editor(tmp_path, script=script) as client:
        client.always = lambda params: {
            "title": next(a["title"] for a in params["actions"] if a["title"].endswith("in this session"))
        }
        run = await client.command("magent.prompt", prompt="make it twice")
        assert (await client.finished(run["runId"]))["text"] == "Twice."
        assert len(client.questions) == 1


async def test_cancel_ends_an_open_question(tmp_path: Path) -> None:
    async with editor(tmp_path, script=RUN) as client:
        client.always = silent
        run = await client.command("magent.prompt", prompt="make it")
        await waiting(client)
        await client.command("magent.cancel", runId=run["runId"])
        assert (await client.finished(run["runId"], seconds=20))["stopReason"] == "cancelled"
        assert await client.command("magent.pending") == []
        assert not (tmp_path / "ws/made").exists()


async def test_the_progress_says_that_it_waits_for_the_person(tmp_path: Path) -> None:
    async with editor(tmp_path, script=RUN) as client:
        client.always = silent
        await client.command("magent.prompt", prompt="make it")
        await waiting(client)
        [token] = client.tokens
        await client.until(
            lambda: any("waiting for you" in (value.get("message") or "") for value in client.progress[token])
        )
        await client.command("magent.cancel")


async def test_a_bare_return_never_allows_anything(tmp_path: Path) -> None:
    """Eglot fills in the first answer: RET alone takes it."""
    async with editor(tmp_path, profile=EMACS, script=RUN) as client:
        client.always = lambda params: params["actions"][0]
        run = await client.command("magent.prompt", prompt="make it")
        assert (await client.finished(run["runId"]))["stopReason"] == "rejected"
        assert [action["title"] for action in client.questions[0]["actions"]][1] == "Allow once"
        assert not (tmp_path / "ws/made").exists()


EDIT = [
    {
        "text": "",
        "calls": [{"tool": "edit_file", "arguments": {"path": "ä.py", "old_string": "1", "new_string": "2"}}],
    },
    {"text": "Changed."},
]


async def test_an_edit_is_shown_beside_its_question(tmp_path: Path) -> None:
    """Which file is meant is said without doubt, and with the text that is only in the buffer."""
    client_can = {"events": True, "diff": True}
    async with editor(tmp_path, script=EDIT, client=client_can, files={"ä.py": "x = 1\n"}) as client:
        buffer = client.open("ä.py", "y = 0\nx = 1\n")
        shown: list[dict[str, Any]] = []
        client.on["magent/showDiff"] = lambda params: shown.append(params)
        client.always = silent
        run = await client.command("magent.prompt", prompt="change it")
        await client.until(lambda: shown and client.questions)
        [request] = await client.command("magent.pending")
        assert request["uris"] == [buffer.uri]
        assert request["paths"] == ["ä.py"]
        assert "comparison" not in request
        assert shown == [
            {
                "uri": buffer.uri,
                "original": "y = 0\nx = 1\n",
                "modified": "y = 0\nx = 2\n",
                "title": "Edit ä.py",
                "requestId": request["requestId"],
            }
        ]
        await client.command("magent.respond", requestId=request["requestId"], reply="allow_once")
        assert (await client.finished(run["runId"]))["text"] == "Changed."
        [asked] = [event for event in client.of_run(run["runId"]) if event["type"] == "permission_requested"]
        assert asked["uris"] == [buffer.uri]


async def test_a_client_that_cannot_show_an_edit_after_all_is_asked_all_the_same(tmp_path: Path) -> None:
    files = {"ä.py": "x = 1\n"}
    async with editor(tmp_path, script=EDIT, client={"events": True, "diff": True}, files=files) as client:
        client.always = "Allow once"
        run = await client.command("magent.prompt", prompt="change it")
        assert (await client.finished(run["runId"]))["text"] == "Changed."
        assert (tmp_path / "ws/ä.py").read_text() == "x = 2\n"


async def test_a_buffer_of_a_new_file_may_be_filled(tmp_path: Path) -> None:
    """`:e new.py` in Neovim: one empty line, and no file. Nothing can be lost."""
    write = {"tool": "write_file", "arguments": {"path": "new.py", "content": "x = 1\n"}}
    async with editor(
        tmp_path, profile=NEOVIM, script=[{"text": "", "calls": [write]}, {"text": "Made."}]
    ) as client:
        buffer = client.open("new.py", "\n")
        client.always = "Allow once"
        run = await client.command("magent.prompt", prompt="fill it", uri=buffer.uri)
        assert (await client.finished(run["runId"]))["text"] == "Made."
        assert buffer.text == "x = 1\n"
