"""The main paths of an editor with the agent: edit, ask, reject, cancel, undo."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.lsp_client import LspClient, ResponseError, editor
from tests.support.lsp_profiles import EMACS, NEOVIM, POOR, PROFILES, VSCODE, Profile

EDITORS = (VSCODE, NEOVIM, EMACS)

TEXT = "def greet(name):\n    return 'hi ' + name\n\n\nprint(greet('you'))\n"
UNSAVED = TEXT + "# not on the disk 🦄\n"


def edit(old: str, new: str, path: str = "a.py") -> dict[str, Any]:
    arguments = {"path": path, "edits": [{"old_string": old, "new_string": new}]}
    return {"text": "I change it.", "calls": [{"tool": "edit_file", "arguments": arguments}]}


SHOUT = [edit("'hi ' + name", "'HI ' + name"), {"text": "It shouts now."}]


def titled(actions: list[Any], title: str) -> Any:
    found = [action for action in actions if action["title"] == title]
    assert found, [action["title"] for action in actions]
    return found[0]


@pytest.mark.parametrize("profile", EDITORS, ids=lambda profile: profile.name)
async def test_selection_action_approval_edit_and_undo(tmp_path: Path, profile: Profile) -> None:
    async with editor(tmp_path, profile=profile, script=SHOUT, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py", UNSAVED)
        client.always = "Allow once"
        actions = await client.actions(buffer.uri, buffer.range("return 'hi ' + name"))
        run = await client.act(titled(actions, "Magent: Improve"))
        finished = await client.finished(run["runId"])
        assert finished["stopReason"] == "end_turn"
        assert finished["edits"] == [{"uri": buffer.uri, "outcome": "applied"}]
        assert buffer.text == UNSAVED.replace("'hi ' + name", "'HI ' + name")
        assert (tmp_path / "ws/a.py").read_text() == TEXT
        assert len(client.questions) == 1
        titles = [action["title"] for action in client.questions[0]["actions"]]
        # Where a bare RET takes the first button, it must not allow anything.
        first, last = ("Reject", "Allow once") if profile.name == "emacs" else ("Allow once", "Reject")
        assert titles[0] == first
        assert last in titles
        undone = await client.command("magent.undo", runId=run["runId"])
        assert undone == {"restored": [buffer.uri], "conflicts": []}
        assert buffer.text == UNSAVED
        redone = await client.command("magent.redo", runId=run["runId"])
        assert redone == {"restored": [buffer.uri], "conflicts": []}
        assert "'HI '" in buffer.text


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
async def test_ask_at_point_is_answered_where_the_person_can_read_it(
    tmp_path: Path, profile: Profile
) -> None:
    script = [{"text": "It **greets**."}]
    async with editor(tmp_path, profile=profile, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        position = buffer.range("greet")["start"]
        run = await client.command("magent.ask", uri=buffer.uri, position=position, question="What is this?")
        assert (await client.finished(run["runId"]))["text"] == "It **greets**."
        if profile.capabilities.get("window", {}).get("showDocument"):
            await client.until(lambda: client.shown)
            [shown] = client.shown
            document = Path(unquote(urlsplit(shown["uri"]).path))
            assert "It **greets**." in document.read_text()
            assert document.is_relative_to(tmp_path / "state")
        else:
            await client.until(lambda: any("It **greets**." in text for _, text in client.messages))
        said = [text for _, text in client.messages if "greets" in text]
        assert len(said) + len(client.shown) == 1


async def test_clients_with_events_get_no_second_outcome(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "Fine."}], client={"events": True}) as client:
        run = await client.command("magent.prompt", prompt="hello")
        await client.until(
            lambda: any(event["type"] == "run_finished" for event in client.of_run(run["runId"]))
        )
        assert client.messages == []
        assert client.shown == []


async def test_progress_begins_says_what_goes_on_and_ends_before_the_run_does(tmp_path: Path) -> None:
    script = [
        {"text": "", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]},
        {"text": "Read.", "first_delay": 0.4},
    ]
    async with editor(tmp_path, script=script, client={"events": True}, files={"a.py": TEXT}) as client:
        run = await client.command("magent.prompt", prompt="read it")
        await client.until(
            lambda: any(event["type"] == "run_finished" for event in client.of_run(run["runId"]))
        )
        [token] = client.tokens
        values = client.progress[token]
        assert values[0]["kind"] == "begin"
        assert values[-1]["kind"] == "end"
        assert values[0]["cancellable"] is True
        assert values[0]["title"] == "Magent: read it"
        order = [
            "end"
            if message["method"] == "$/progress" and message["params"]["value"]["kind"] == "end"
            else message["params"].get("event", {}).get("type", "")
            for message in client.everything
            if message["method"] in ("$/progress", "magent/event")
        ]
        assert order.index("end") < order.index("run_finished")


async def test_clients_without_progress_are_told_at_begin_and_end(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=EMACS, script=SHOUT, files={"a.py": TEXT}) as client:
        client.always = "Allow once"
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        await client.finished(run["runId"])
        await client.until(lambda: len(client.messages) >= 2)
        texts = [text for _, text in client.messages]
        assert texts[0] == "Magent: shout …"
        assert texts[1:] == ["Magent: It shouts now. (1 edit applied)"]


async def test_reject_changes_nothing_and_ends_the_run(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SHOUT, files={"a.py": TEXT}) as client:
        client.always = "Reject"
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        finished = await client.finished(run["runId"])
        assert finished["stopReason"] == "rejected"
        assert buffer.text == TEXT
        assert client.edits == []


@pytest.mark.parametrize("answer", [None, {"title": ""}, {"title": "Allow nothing of the kind"}, 7])
async def test_an_unclear_answer_is_never_consent(tmp_path: Path, answer: Any) -> None:
    async with editor(tmp_path, script=SHOUT, files={"a.py": TEXT}) as client:
        client.always = lambda params: answer
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        assert (await client.finished(run["runId"]))["stopReason"] == "rejected"
        assert buffer.text == TEXT


async def test_reject_with_feedback_goes_on_with_it(tmp_path: Path) -> None:
    script = [
        edit("'hi ' + name", "'HI ' + name"),
        {**edit("'hi ' + name", "'Hi ' + name"), "when": {"tool": "only the first letter"}},
        {"text": "Better."},
    ]
    async with editor(tmp_path, script=script, client={"events": True}, files={"a.py": TEXT}) as client:
        client.always = _never
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        request = await _pending(client)
        answer = await client.command(
            "magent.respond", requestId=request["requestId"], reply="reject", feedback="only the first letter"
        )
        assert answer == {"ok": True}
        again = await _pending(client)
        assert again["requestId"] != request["requestId"]
        assert await client.command("magent.respond", requestId=again["requestId"], reply="allow_once") == {
            "ok": True
        }
        finished = await client.finished(run["runId"])
        assert finished["text"] == "Better."
        assert "'Hi ' + name" in buffer.text


async def test_cancel_before_the_first_token(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "never", "first_delay": 60}]) as client:
        run = await client.command("magent.prompt", prompt="wait")
        await client.until(lambda: client.tokens)
        assert await client.command("magent.cancel", runId=run["runId"]) == {"cancelled": [run["runId"]]}
        finished = await client.finished(run["runId"], seconds=20)
        assert finished["stopReason"] == "cancelled"
        [token] = client.tokens
        await client.until(lambda: client.progress[token] and client.progress[token][-1]["kind"] == "end")
        assert await client.command("magent.cancel", runId=run["runId"]) == {"cancelled": []}
        assert await client.command("magent.cancel", runId="no such run") == {"cancelled": []}


async def test_cancel_by_progress_and_of_everything(tmp_path: Path) -> None:
    script = [{"text": "never", "first_delay": 60, "repeat": True}]
    async with editor(tmp_path, script=script) as client:
        first = await client.command("magent.prompt", prompt="one")
        await client.until(lambda: client.tokens and client.progress[client.tokens[0]])
        client.notify("window/workDoneProgress/cancel", {"token": client.tokens[0]})
        assert (await client.finished(first["runId"], seconds=20))["stopReason"] == "cancelled"
        runs = [await client.command("magent.prompt", prompt=f"p{n}") for n in range(3)]
        cancelled = await client.command("magent.cancel")
        assert set(cancelled["cancelled"]) == {run["runId"] for run in runs}
        for run in runs:
            assert (await client.finished(run["runId"], seconds=20))["stopReason"] == "cancelled"


async def test_a_prompt_to_a_busy_session_waits_its_turn(tmp_path: Path) -> None:
    script = [{"text": "first", "first_delay": 0.5}, {"text": "second"}]
    async with editor(tmp_path, script=script) as client:
        first = await client.command("magent.prompt", prompt="one")
        second = await client.command("magent.prompt", prompt="two", sessionId=first["sessionId"])
        assert "queued" not in first
        assert second["queued"] is True
        assert second["sessionId"] == first["sessionId"]
        assert (await client.finished(second["runId"]))["text"] == "second"
        assert (await client.finished(first["runId"]))["text"] == "first"


async def test_steering_is_taken_in(tmp_path: Path) -> None:
    script = [
        {
            "text": "",
            "first_delay": 0.5,
            "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}],
        },
        {"when": {"user": "also say bye"}, "text": "bye"},
        {"text": "not steered"},
    ]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        run = await client.command("magent.prompt", prompt="read")
        assert await client.command("magent.steer", runId=run["runId"], message="also say bye") == {
            "ok": True
        }
        assert (await client.finished(run["runId"]))["text"] == "bye"
        assert await client.command("magent.steer", runId=run["runId"], message="too late") == {"ok": False}


async def test_the_request_ask_answers_when_the_run_ends_and_streams(tmp_path: Path) -> None:
    script = [{"text": ["It ", "is ", "a ", "function."], "delay": 0.08}]
    async with editor(tmp_path, profile=POOR, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        place = {"uri": buffer.uri, "position": {"line": 0, "character": 5}}
        params = {**place, "partialResultToken": "p1", "workDoneToken": 7}
        result = await client.request("magent/ask", params)
        assert result["text"] == "It is a function."
        assert result["type"] == "run_finished"
        assert "".join(piece["text"] for piece in client.progress["p1"]) == "It is a function."
        assert len(client.progress["p1"]) > 1
        assert client.progress[7][0]["kind"] == "begin"
        assert client.progress[7][-1]["kind"] == "end"
        assert client.messages == []


async def test_cancelling_the_request_ask_cancels_its_run(tmp_path: Path) -> None:
    script = [{"text": "never", "first_delay": 60}]
    async with editor(tmp_path, script=script, client={"events": True}, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        number, answer = client.send_request(
            "magent/ask", {"uri": buffer.uri, "range": buffer.range("greet")}
        )
        await client.until(lambda: client.events)
        client.notify("$/cancelRequest", {"id": number})
        with pytest.raises(ResponseError) as cancelled:
            async with asyncio.timeout(20):
                await answer
        assert cancelled.value.code == -32800
        await client.until(lambda: client.events[-1]["event"]["type"] == "run_finished")
        assert client.events[-1]["event"]["stopReason"] == "cancelled"


async def test_a_command_that_is_cancelled_tells_all_the_same_what_it_started(tmp_path: Path) -> None:
    """A client could not cancel a run whose id it never learns."""
    script = [{"text": "never", "first_delay": 60}]
    async with editor(tmp_path, script=script) as client:
        params = {"command": "magent.prompt", "arguments": [{"prompt": "hello"}]}
        number, answer = client.send_request("workspace/executeCommand", params)
        client.notify("$/cancelRequest", {"id": number})
        started = await answer
        await client.command("magent.cancel", runId=started["runId"])
        assert (await client.finished(started["runId"]))["stopReason"] == "cancelled"


async def test_an_error_is_shown_exactly_once(tmp_path: Path) -> None:
    script = [{"error": {"kind": "auth", "message": "the key was refused"}}]
    async with editor(tmp_path, script=script) as client:
        run = await client.command("magent.prompt", prompt="hello")
        finished = await client.finished(run["runId"])
        assert finished["stopReason"] == "error"
        assert "the key was refused" in finished["error"]
        await client.until(lambda: client.messages)
        await client.command("magent.status")
        assert [kind for kind, text in client.messages if "refused" in text] == [1]


async def test_documents_that_are_no_files_can_be_asked_about(tmp_path: Path) -> None:
    script = [{"when": {"user": "def greet"}, "text": "A greeting."}]
    async with editor(tmp_path, script=script) as client:
        buffer = client.open("", TEXT, uri="untitled:Untitled-1")
        client.type(buffer, "greet", "greet_all")
        run = await client.command("magent.ask", uri=buffer.uri, position={"line": 0, "character": 5})
        assert (await client.finished(run["runId"]))["text"] == "A greeting."
        titles = [a["title"] for a in await client.actions(buffer.uri, buffer.range("greet"))]
        assert "Magent: Explain" in titles
        assert "Magent: Improve" not in titles
        with pytest.raises(ResponseError, match="'uri'"):
            await client.command("magent.prompt", prompt="x", uri="untitled:Untitled-2")
        with pytest.raises(ResponseError, match="'uri'"):
            await client.command("magent.prompt", prompt="x", uri=buffer.uri, scope="buffer")


async def test_without_a_workspace_folder_the_file_says_where_we_are(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "a.py"
    path.write_text(TEXT)
    script = [
        {"text": "", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]},
        {"when": {"tool": "def greet"}, "text": "Read."},
    ]
    async with editor(tmp_path, folder=False, script=script) as client:
        buffer = client.open(path)
        run = await client.command("magent.ask", uri=buffer.uri, position={"line": 0, "character": 5})
        assert (await client.finished(run["runId"]))["text"] == "Read."


def _never(params: dict[str, Any]) -> Any:
    from tests.support.lsp_client import NO_ANSWER

    return NO_ANSWER


async def _pending(client: LspClient) -> dict[str, Any]:
    seen = len([e for e in client.events if e["event"]["type"] == "permission_resolved"])
    await client.until(
        lambda: len([e for e in client.events if e["event"]["type"] == "permission_requested"]) > seen
    )
    [request] = await client.command("magent.pending")
    assert isinstance(request, dict)
    return request


async def test_a_scoped_run_names_its_whole_lines_in_the_clients_units(tmp_path: Path) -> None:
    text = "x = '🦄🦄'\ny = 2\n"
    async with editor(
        tmp_path, script=[{"text": "Nothing to do."}], client={"events": True}, files={"a.py": text}
    ) as client:
        buffer = client.open("a.py", text)
        run = await client.command(
            "magent.prompt", prompt="tidy", uri=buffer.uri, range=buffer.range("🦄🦄"), scope="region"
        )
        await client.finished(run["runId"])
        started = client.of_run(run["runId"])[0]
        assert started["type"] == "run_started"
        assert started["uri"] == buffer.uri
        assert started["range"]["start"] == {"line": 0, "character": 0}
        assert started["range"]["end"] in ({"line": 1, "character": 0}, {"line": 0, "character": 10})


async def test_an_edit_that_the_editor_declines_is_told_to_the_model(tmp_path: Path) -> None:
    script = [SHOUT[0], {"when": {"tool": "(?i)declined|reject|refused"}, "text": "Then not."}]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        client.always, client.apply = "Allow once", "reject"
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        finished = await client.finished(run["runId"])
        assert finished["text"] == "Then not."
        assert finished["edits"] == [{"uri": buffer.uri, "outcome": "rejected"}]
        assert buffer.text == TEXT


async def test_undo_answers_in_time_even_if_the_editor_does_not(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SHOUT, files={"a.py": TEXT}) as client:
        client.always = "Allow once"
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        await client.finished(run["runId"])
        client.apply = "silent"
        undone = await client.request(
            "workspace/executeCommand",
            {"command": "magent.undo", "arguments": [{"runId": run["runId"]}]},
            seconds=6.5,
        )
        assert undone == {"restored": [], "conflicts": [buffer.uri]}
        # The server is not held up by what it still waits for.
        assert (await client.command("magent.status"))["runs"] == []
