"""How a run goes on, is steered and ends; over the real wire."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.messages import UserMessage
from magent_lsp.core.request import RunRequest
from tests.engine.conftest import Desk
from tests.support.model_server import Call, ModelServer, call


async def test_a_message_reaches_a_run_between_two_steps(desk: Desk, server: ModelServer) -> None:
    """Steering: the person need not cancel to correct the agent."""
    server.reply("Reading", calls=[call("read_file", path="a.py")], hold=True)
    server.reply("Yes, b.")
    started = desk.magent.start(RunRequest(prompt="look"))
    await server.arrived()
    assert desk.magent.steer(started.run_id, "look at b instead")
    server.release()
    assert (await desk.magent.wait(started.run_id)).text == "Yes, b."
    assert "look at b instead" in str(server.requests[1].messages[-1])
    assert not desk.magent.steer(started.run_id, "too late")


async def test_a_message_that_comes_with_the_last_words_is_still_heard(
    desk: Desk, server: ModelServer
) -> None:
    server.reply("Done.", hold=True)
    server.reply("And the tests too.")
    started = desk.magent.start(RunRequest(prompt="do it"))
    await server.arrived()
    desk.magent.steer(started.run_id, "and the tests")
    server.release()
    assert (await desk.magent.wait(started.run_id)).text == "And the tests too."


async def test_the_run_ends_at_the_limit_of_turns(desk: Desk, server: ModelServer) -> None:
    desk.set(maxTurns=2)
    for number in range(3):
        server.reply(calls=[call("read_file", path="a.py", offset=number + 1)])
    outcome = await desk.run("go on for ever")
    assert outcome.stop_reason == "max_turns"
    assert len(server.requests) == 2
    assert any("maxTurns" in notice.message for notice in desk.events.of("notice"))


async def test_going_round_in_circles_is_nudged_and_then_stopped(desk: Desk, server: ModelServer) -> None:
    for _ in range(6):
        server.reply(calls=[call("read_file", path="a.py")])
    outcome = await desk.run("go")
    assert outcome.stop_reason == "loop"
    assert len(server.requests) == 5
    assert "repeated the same steps" in str(server.requests[3].messages)


async def test_subagents_that_go_round_in_circles_end_the_whole_tree(desk: Desk, server: ModelServer) -> None:
    """Each has a prompt of its own and makes one call only, so neither it nor its parent repeats itself."""
    for number in range(8):
        server.reply(calls=[call("delegate", agent="explore", prompt=f"look, try {number}")])
        server.reply(calls=[call("read_file", path="a.py")])
        server.reply("Nothing there.")
    outcome = await desk.run("look")
    assert outcome.stop_reason == "loop"
    assert len(server.requests) == 15
    assert "'explore' has done the same steps" in str(server.requests[9].messages)
    assert any("keeps doing the same" in notice.message for notice in desk.events.of("notice"))
    server.reply("Sorry.")
    session_id = desk.events.envelopes[0].session_id
    assert (await desk.run("stop that", session_id=session_id)).text == "Sorry."


@pytest.mark.parametrize("where", ["text", "reasoning"])
async def test_a_reply_that_would_go_on_for_ever_is_cut(desk: Desk, server: ModelServer, where: str) -> None:
    words = "Again and again. " * 4000
    server.reply(**{where: words}, piece=51, delay=0.001)
    started = desk.magent.start(RunRequest(prompt="go"))
    outcome = await desk.magent.wait(started.run_id)
    assert outcome.stop_reason == "loop"
    assert await server.requests[0].wait_closed(20)
    assert len(server.requests) == 1
    assert len(outcome.text) <= 1_000
    assert any("repeated itself" in notice.message for notice in desk.events.of("notice"))
    server.reply("Sorry.")
    assert (await desk.run("stop that", session_id=started.session_id)).text == "Sorry."


async def test_an_empty_reply_is_nudged_once(desk: Desk, server: ModelServer) -> None:
    server.reply("")
    server.reply("")
    outcome = await desk.run("hello")
    assert outcome.stop_reason == "end_turn"
    assert len(server.requests) == 2


async def test_a_cut_off_call_is_never_executed(desk: Desk, server: ModelServer) -> None:
    """Half a file must not be written because the model ran out of tokens."""
    whole = '{"path": "b.py", "content": "first half"}'
    for _ in range(3):
        server.reply(calls=[Call(name="write_file", arguments=whole)], finish="length")
    outcome = await desk.run("write b")
    assert outcome.stop_reason == "max_tokens"
    assert not (desk.workspace / "b.py").exists()
    assert desk.asked == []
    assert "cut off" in str(server.requests[1].messages[-1])


async def test_text_that_is_cut_off_goes_on(desk: Desk, server: ModelServer) -> None:
    server.reply("The first", finish="length")
    server.reply("and the rest")
    outcome = await desk.run("tell me")
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "and the rest")


async def test_readers_run_together_and_writers_in_order(desk: Desk, server: ModelServer) -> None:
    server.reply(
        calls=[
            call("write_file", path="n.txt", content="1"),
            call("bash", command="cat n.txt"),
            call("read_file", path="n.txt"),
        ]
    )
    server.reply("ok")
    await desk.run("go")
    outputs = [event.output for event in desk.events.of("tool_call_finished")]
    assert "1" in outputs[1]
    assert "1" in outputs[2]


async def test_subagents_of_one_reply_work_side_by_side(desk: Desk, server: ModelServer) -> None:
    server.reply(
        calls=[
            call("delegate", agent="explore", prompt="find one"),
            call("delegate", agent="explore", prompt="find two"),
        ]
    )

    def respond(request: Any) -> Any:
        from tests.support.model_server import Reply

        text = str(request.messages)
        if "find one" in text and "find two" not in text:
            return Reply(text="found one")
        if "find two" in text and "find one" not in text:
            return Reply(text="found two")
        return Reply(text="both found")

    server.respond = respond
    outcome = await desk.run("find")
    assert outcome.text == "both found"
    results = [event.output for event in desk.events.of("tool_call_finished")]
    assert sorted(results) == ["found one", "found two"]


async def test_a_subagent_in_the_background_reports_before_the_run_ends(
    desk: Desk, server: ModelServer
) -> None:
    server.reply(calls=[call("delegate", agent="explore", prompt="slow search", background=True)])

    def respond(request: Any) -> Any:
        from tests.support.model_server import Reply

        text = str(request.messages)
        if "has finished" in text:
            return Reply(text="It found the thing.")
        if "works in the background" in text:
            return Reply(text="Meanwhile I wait.")
        return Reply(text="the thing")

    server.respond = respond
    outcome = await desk.run("search")
    assert outcome.text == "It found the thing."


async def test_cancel_ends_subagents_too(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("delegate", agent="explore", prompt="never ends")])
    server.fault("stall", after=0)
    started = desk.magent.start(RunRequest(prompt="go"))
    await server.arrived(2)
    desk.magent.cancel(started.run_id)
    async with asyncio.timeout(20):
        assert (await desk.magent.wait(started.run_id)).stop_reason == "cancelled"
    assert await server.requests[1].wait_closed(20)
    assert desk.magent.running() == []


async def test_cancel_during_a_command_leaves_a_session_that_goes_on(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("bash", command="sleep 60 && touch late"), call("bash", command="touch later")])
    started = desk.magent.start(RunRequest(prompt="go"))
    await desk.until("tool_call_updated")
    desk.magent.cancel(started.run_id)
    async with asyncio.timeout(20):
        await desk.magent.wait(started.run_id)
    server.reply("fine")
    outcome = await desk.run("still there?", session_id=started.session_id)
    assert outcome.text == "fine"
    assert not (desk.workspace / "later").exists()


async def test_secrets_do_not_reach_the_model_events_or_the_session(desk: Desk, server: ModelServer) -> None:
    secret = "sk-test-secret-value-123456"
    (desk.workspace / "notes.txt").write_text(f"the key is {secret}\n")
    server.reply(calls=[call("read_file", path="notes.txt")])
    server.reply("I saw it.")
    started = desk.magent.start(RunRequest(prompt=f"what is {secret}?"))
    await desk.magent.wait(started.run_id)
    assert secret not in server.requests[1].content.decode()
    assert secret not in str(desk.events.envelopes)
    desk.magent.close_session(started.session_id)
    assert secret not in desk.magent.sessions.path(started.session_id).read_text()


@pytest.mark.parametrize(
    "prompt", ["/cost", "/todos", "/help", "/agents", "/sessions", "/context", "/permissions"]
)
async def test_commands_of_ours_need_no_model(desk: Desk, server: ModelServer, prompt: str) -> None:
    outcome = await desk.run(prompt)
    assert (outcome.stop_reason, outcome.error) == ("end_turn", None)
    assert outcome.text
    assert server.requests == []


async def test_a_command_from_a_file_is_expanded(desk: Desk, server: ModelServer) -> None:
    folder = desk.workspace / ".magent" / "commands"
    folder.mkdir(parents=True)
    (folder / "shout.md").write_text("---\ndescription: Shouts\n---\nShout $1! Now: !`echo loud` and @a.py\n")
    server.reply("OK")
    await desk.run("/shout hello")
    said = str(server.requests[0].messages[-1])
    assert "Shout hello!" in said
    assert "loud" in said
    assert "def hello" in said


async def test_an_unknown_command_is_an_error_with_a_hint(desk: Desk, server: ModelServer) -> None:
    outcome = await desk.run("/hlp")
    assert outcome.stop_reason == "error"
    assert "/help" in (outcome.error or "")
    server.reply("It is a path.")
    assert (await desk.run("/usr/bin/env is what?")).text == "It is a path."


async def test_clear_forgets_the_conversation_also_after_a_restart(desk: Desk, server: ModelServer) -> None:
    server.reply("The word is banana.")
    started = desk.magent.start(RunRequest(prompt="give me a word"))
    await desk.magent.wait(started.run_id)
    await desk.run("/clear", session_id=started.session_id)
    desk.magent.close_session(started.session_id)
    server.reply("I do not know.")
    await desk.run("which word?", session_id=started.session_id)
    assert "banana" not in str(server.requests[1].messages)
    assert [m for m in desk.magent.session(started.session_id).messages if isinstance(m, UserMessage)]


async def test_no_model_says_what_to_set(desk: Desk, tmp_path: Path) -> None:
    desk.set(model="auto", apiBase=None)
    desk.forget_keys()
    outcome = await desk.run("hello")
    assert outcome.stop_reason == "error"
    assert "model" in (outcome.error or "")
    assert "\n" not in (outcome.error or "")


async def test_a_long_turn_is_compacted_in_the_middle_and_goes_on(desk: Desk, server: ModelServer) -> None:
    """Sixty tool results in one turn must not be the end of the session."""
    desk.set(contextLimit=20_000, maxTurns=80)
    (desk.workspace / "big.txt").write_text("".join(f"line {n} {'x' * 60}\n" for n in range(4000)))

    def respond(request: Any) -> Any:
        from tests.support.model_server import Reply

        assert len(request.content) < 4 * 20_000 * 1.5, "the request would not have fitted"
        if "<conversation>" in str(request.messages):
            return Reply(text="## Request\nRead the file. SUMMARY-OF-READING")
        if respond.number >= 60:  # type: ignore[attr-defined]
            return Reply(text="I have read it.")
        respond.number += 1  # type: ignore[attr-defined]
        page = respond.number  # type: ignore[attr-defined]
        return Reply(calls=[call("read_file", path="big.txt", offset=1 + page * 40, limit=40)])

    respond.number = 0  # type: ignore[attr-defined]
    server.respond = respond
    outcome = await desk.run("read the big file, all of it; the password for the demo is banana")
    assert (outcome.stop_reason, outcome.text, outcome.error) == ("end_turn", "I have read it.", None)
    assert any(
        "left out to make room" in n.message or "summarised" in n.message for n in desk.events.of("notice")
    )
    assert "banana" in str(server.requests[-1].messages), "the request of the person is kept"


async def test_an_overflow_told_by_the_provider_is_answered_by_compaction(
    desk: Desk, server: ModelServer
) -> None:
    server.reply("The first answer is long. " * 200)
    started = desk.magent.start(RunRequest(prompt="one"))
    await desk.magent.wait(started.run_id)
    server.reply("The second answer is long. " * 200)
    await desk.run("two", session_id=started.session_id)
    server.fault("overflow")
    server.reply("SUMMARY")
    server.reply("Here I am.")
    outcome = await desk.run("three", session_id=started.session_id)
    assert (outcome.text, outcome.error) == ("Here I am.", None)
    assert "SUMMARY" in str(server.requests[-1].messages)


async def test_a_window_that_nothing_fits_into_ends_with_a_sentence(desk: Desk, server: ModelServer) -> None:
    for _ in range(12):
        server.fault("overflow")
    outcome = await desk.run("hello")
    assert outcome.stop_reason == "error"
    assert "does not fit" in (outcome.error or "")
    assert len(server.requests) < 8


async def test_compact_by_hand_keeps_the_summary_after_a_restart(desk: Desk, server: ModelServer) -> None:
    server.reply("A very long explanation of bananas. " * 100)
    server.reply("Apples are newer. " * 100)
    started = desk.magent.start(RunRequest(prompt="explain bananas"))
    await desk.magent.wait(started.run_id)
    await desk.run("explain apples", session_id=started.session_id)
    server.reply("SUMMARY of fruit")
    await desk.run("/compact the fruit", session_id=started.session_id)
    assert "the fruit" in str(server.requests[2].messages)
    desk.magent.close_session(started.session_id)
    server.reply("fine")
    await desk.run("go on", session_id=started.session_id)
    said = str(server.requests[3].messages)
    assert "SUMMARY of fruit" in said
    assert "explanation of bananas" not in said


async def test_what_was_read_is_known_after_a_restart(desk: Desk, server: ModelServer) -> None:
    """A resumed session may go on writing a file it has read, and nothing else."""
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("read")
    started = desk.magent.start(RunRequest(prompt="read"))
    await desk.magent.wait(started.run_id)
    desk.magent.close_session(started.session_id)
    server.reply(calls=[call("write_file", path="a.py", content="new\n")])
    server.reply("written")
    await desk.run("write", session_id=started.session_id)
    assert (desk.workspace / "a.py").read_text() == "new\n"
