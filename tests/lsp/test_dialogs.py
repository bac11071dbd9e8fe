"""Only an exact yes is a yes; everything else is a no, and a client without dialogs is said to be one."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.config import Client
from magent_lsp.core.request import Answer, PermissionOption, PermissionReply, PermissionRequest, Question
from tests.support.scripted_editor import NO_ANSWER, Refusal, connected

DIALOG = "window/showMessageRequest"
REQUEST = PermissionRequest(
    request_id="1",
    run_id="r",
    session_id="s",
    tool_call_id="c",
    tool="bash",
    title="Run git push",
    command="git push\u202e origin",
    reason="Rule `bash: ask` of the built-in defaults.",
    options=(
        PermissionOption(reply="allow_once", title="Allow once"),
        PermissionOption(reply="allow_session", title="Allow git push * in this session"),
        PermissionOption(reply="reject", title="Reject"),
    ),
)


async def permission(tmp_path: Path, answer: Any) -> tuple[PermissionReply | None, dict[str, Any]]:
    """The reply, and what the person saw."""
    async with connected(tmp_path) as (editor, client):

        async def dialog(params: dict[str, Any]) -> Any:
            if isinstance(answer, Exception):
                raise answer
            if answer is NO_ANSWER:
                client.hang_up()
            return answer

        client.on[DIALOG] = dialog
        async with asyncio.timeout(20):
            reply = await editor.request_permission(REQUEST)
        return reply, client.requests[0][1]


@pytest.mark.parametrize(
    ("title", "reply"),
    [
        ("Allow once", "allow_once"),
        ("Allow git push * in this session", "allow_session"),
        ("Reject", "reject"),
    ],
)
async def test_an_offered_title_is_an_answer(tmp_path: Path, title: str, reply: str) -> None:
    got, shown = await permission(tmp_path, {"title": title})
    assert got == PermissionReply(reply=reply)  # type: ignore[arg-type]
    assert [action["title"] for action in shown["actions"]] == [option.title for option in REQUEST.options]
    assert "git push⟨U+202E⟩ origin" in shown["message"]
    assert "built-in defaults" in shown["message"]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"title": ""},
        {"title": "allow once"},
        {"title": "Allow once "},
        {"title": "Yes"},
        {},
        "Allow once",
        True,
        [],
        Refusal("no"),
        NO_ANSWER,
    ],
    ids=lambda answer: "silence" if answer is NO_ANSWER else str(answer),
)
async def test_everything_else_is_a_no(tmp_path: Path, answer: Any) -> None:
    """lsp-mode answers a plain RET with an empty title; a dying client answers nothing."""
    reply, _ = await permission(tmp_path, answer)
    assert reply == PermissionReply(reply="reject")


async def test_a_client_without_dialogs_is_told_from_one_that_says_no(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, _):
        assert await editor.request_permission(REQUEST) is None


async def test_a_dialog_that_is_given_up_may_be_answered_late(tmp_path: Path) -> None:
    """The question was answered another way; the toast is still there and is clicked."""
    async with connected(tmp_path) as (editor, client):
        click = asyncio.Event()

        async def dialog(params: dict[str, Any]) -> Any:
            await click.wait()
            return {"title": "Allow once"}

        client.on[DIALOG] = dialog
        asking = asyncio.create_task(editor.request_permission(REQUEST))
        await client.asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        click.set()
        await client.barrier()
        assert [method for method, _ in client.notifications if method == "window/showMessage"] == []


async def test_a_long_preview_leaves_room_for_the_buttons(tmp_path: Path) -> None:
    long = PermissionRequest(**{**vars(REQUEST), "command": None, "diff": "+line\n" * 1000})
    async with connected(tmp_path) as (editor, client):

        async def dialog(params: dict[str, Any]) -> Any:
            return None

        client.on[DIALOG] = dialog
        await editor.request_permission(long)
        message = client.requests[0][1]["message"]
        assert message.count("\n") < 50
        assert "more lines" in message


QUESTION = Question(title="Which?", message="Choose", options=("a", "b"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"value": "a"}, ("a",)),
        ({"value": ["a", "b"]}, ("a", "b")),
        ({"value": "free"}, ("free",)),
        (None, None),
    ],
)
async def test_questions_go_through_the_shim(tmp_path: Path, given: Any, expected: Any) -> None:
    async with connected(tmp_path, client=Client(input=True)) as (editor, client):

        async def answer(params: dict[str, Any]) -> Any:
            return given

        client.on["magent/input"] = answer
        answered = await editor.ask(replace(QUESTION, run_id="run-1", tool_call_id="call-1"))
        assert answered == (Answer(values=expected) if expected else None)
        assert client.requests[0][1] == {
            "title": "Which?",
            "message": "Choose",
            "options": ["a", "b"],
            "multiple": False,
            "runId": "run-1",
            "toolCallId": "call-1",
        }


async def test_without_a_shim_options_are_buttons_and_free_text_cannot_be_asked(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):

        async def answer(params: dict[str, Any]) -> Any:
            return {"title": "b"}

        client.on[DIALOG] = answer
        assert await editor.ask(QUESTION) == Answer(values=("b",))
        assert await editor.ask(Question(title="Name?", message="")) is None
        assert len(client.requests) == 1
