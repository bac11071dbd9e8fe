"""The whole agent on a real folder, with a loopback model server that speaks the real wire format."""

import asyncio
from pathlib import Path

import pytest

from magent_lsp.core.messages import ToolMessage
from magent_lsp.core.request import PermissionReply, RunRequest
from tests.engine.conftest import Desk
from tests.support.model_server import Call, ModelServer, call


async def test_an_edit_is_asked_for_applied_and_undone(desk: Desk, server: ModelServer) -> None:
    server.reply("Looking.", calls=[call("read_file", path="a.py")])
    server.reply(
        calls=[call("edit_file", path="a.py", edits=[{"old_string": "'helo'", "new_string": "'hello'"}])]
    )
    server.reply("Fixed the typo.")
    outcome = await desk.run("fix the typo")
    assert (outcome.stop_reason, outcome.text, outcome.error) == ("end_turn", "Fixed the typo.", None)
    assert "'hello'" in (desk.workspace / "a.py").read_text()
    assert [each.tool for each in desk.asked] == ["edit_file"]
    assert "-    return 'helo'" in (desk.asked[0].diff or "")
    assert [edit.outcome for edit in outcome.edits] == ["applied"]
    seqs = [envelope.seq for envelope in desk.events.envelopes]
    assert seqs == list(range(1, len(seqs) + 1))
    assert desk.events.types()[0] == "run_started"
    assert desk.events.of("run_started")[0].folder == desk.workspace.as_uri()
    assert desk.events.types()[-1] == "run_finished"
    run_id = desk.events.envelopes[0].run_id
    report = await desk.magent.undo(run_id)
    assert report.restored == (desk.workspace / "a.py",)
    assert "'helo'" in (desk.workspace / "a.py").read_text()


async def test_titles_are_lines_whatever_the_model_names(desk: Desk, server: ModelServer) -> None:
    """An editor that puts them into a list or a buffer of lines would fail, and the question with it."""
    server.reply(calls=[call("write_file", path="a\nb.txt", content="x\n")])
    server.reply(calls=[call("propose", title="A name\rof two\nlines", content="x")])
    server.reply("Done.")
    await desk.run("write")
    [asked] = desk.asked
    [question] = desk.questions
    titles = [event.title for event in desk.events.of("tool_call_finished")]
    titles += [asked.title, question.title, *(option.title for option in asked.options)]
    assert sum("a␊b.txt" in title for title in titles) >= 3
    assert "A name␊of two␊lines" in titles
    assert all(len(title.splitlines()) == 1 for title in titles)
    assert (desk.workspace / "a\nb.txt").exists()


async def test_a_reject_ends_the_run_and_changes_nothing(desk: Desk, server: ModelServer) -> None:
    desk.answers.append(PermissionReply(reply="reject"))
    server.reply(calls=[call("write_file", path="b.py", content="x\n"), call("bash", command="touch c")])
    outcome = await desk.run("make a file")
    assert outcome.stop_reason == "rejected"
    assert not (desk.workspace / "b.py").exists()
    assert not (desk.workspace / "c").exists()
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    results = [m for m in session.messages if isinstance(m, ToolMessage)]
    assert [m.status for m in results] == ["rejected", "cancelled"]


async def test_a_reject_with_feedback_goes_to_the_model(desk: Desk, server: ModelServer) -> None:
    desk.answers.append(PermissionReply(reply="reject", feedback="call it d.py"))
    server.reply(calls=[call("write_file", path="b.py", content="x\n")])
    server.reply(calls=[call("write_file", path="d.py", content="x\n")])
    server.reply("Done.")
    outcome = await desk.run("make a file")
    assert outcome.stop_reason == "end_turn"
    assert (desk.workspace / "d.py").read_text() == "x\n"
    assert "call it d.py" in str(server.requests[1].messages[-1])


async def test_the_session_goes_on_after_a_restart(desk: Desk, server: ModelServer, tmp_path: Path) -> None:
    server.reply("The answer is 42.")
    await desk.run("what is the answer?")
    session_id = desk.events.envelopes[0].session_id
    desk.magent.close_session(session_id)
    server.reply("As I said, 42.")
    outcome = await desk.run("again?", session_id=session_id)
    assert outcome.text == "As I said, 42."
    assert "The answer is 42." in str(server.requests[1].messages)


async def test_a_second_prompt_waits_for_the_first(desk: Desk, server: ModelServer) -> None:
    server.reply("one", hold=True)
    server.reply("two")
    first = desk.magent.start(RunRequest(prompt="first"))
    second = desk.magent.start(RunRequest(prompt="second", session_id=first.session_id))
    assert (first.queued, second.queued) == (False, True)
    await server.arrived()
    server.release()
    assert (await desk.magent.wait(second.run_id)).text == "two"


async def test_cancel_before_the_first_token(desk: Desk, server: ModelServer) -> None:
    server.fault("stall", after=0)
    started = desk.magent.start(RunRequest(prompt="hello"))
    await server.arrived()
    assert desk.magent.cancel(started.run_id) == [started.run_id]
    async with asyncio.timeout(20):
        outcome = await desk.magent.wait(started.run_id)
    assert outcome.stop_reason == "cancelled"
    assert await server.requests[0].wait_closed(20)
    assert desk.magent.cancel(started.run_id) == []
    server.reply("still here")
    assert (await desk.run("again", session_id=started.session_id)).text == "still here"


async def test_a_rate_limit_is_waited_for_and_seen(desk: Desk, server: ModelServer) -> None:
    server.fault("status", 429, retry_after=0)
    server.reply("ok")
    outcome = await desk.run("hello")
    assert outcome.text == "ok"
    assert any("asking again" in notice.message for notice in desk.events.of("notice"))


async def test_a_bad_key_is_an_error_that_says_so_and_hides_the_key(desk: Desk, server: ModelServer) -> None:
    server.fault("status", 401)
    outcome = await desk.run("hello")
    assert outcome.stop_reason == "error"
    assert outcome.error
    assert "sk-test-secret-value-123456" not in outcome.error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no_such_tool", "{}"),
        ("read_file", '{"path": '),
        ("read_file", '{"pfad": "a.py"}'),
        ("read_file", "[]"),
    ],
)
async def test_a_malformed_call_gets_an_error_and_the_loop_goes_on(
    desk: Desk, server: ModelServer, name: str, arguments: str
) -> None:
    server.reply(calls=[Call(name=name, arguments=arguments)])
    server.reply("I see.")
    outcome = await desk.run("go")
    assert outcome.text == "I see."
    finished = desk.events.of("tool_call_finished")
    assert [event.status for event in finished] == ["failed"]


async def test_a_subagent_has_no_more_rights_than_its_parent(desk: Desk, server: ModelServer) -> None:
    """The plan agent may not edit, not even through a subagent that may."""
    server.reply(calls=[call("delegate", agent="general", prompt="write x.py")])
    server.reply(calls=[call("write_file", path="x.py", content="x\n")])
    server.reply("could not")
    server.reply("The subagent could not.")
    outcome = await desk.run("plan it", agent="plan")
    assert outcome.text == "The subagent could not."
    assert not (desk.workspace / "x.py").exists()
    assert desk.asked == []


async def test_the_prompt_prefix_is_stable_over_the_requests_of_a_session(
    desk: Desk, server: ModelServer
) -> None:
    """A provider's cache only serves while the beginning stays the same, byte by byte."""
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("one")
    server.reply("two")
    first = desk.magent.start(RunRequest(prompt="first"))
    await desk.magent.wait(first.run_id)
    await desk.run("second", session_id=first.session_id)
    a, b, c = (request.json for request in server.requests)
    assert a["tools"] == b["tools"] == c["tools"]
    assert b["messages"][: len(a["messages"])] == a["messages"]
    assert c["messages"][: len(b["messages"])] == b["messages"]
