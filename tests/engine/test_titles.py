"""Titles and summaries: written by the small model, beside the conversation and never in its way."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.core.request import RunRequest
from magent_lsp.engine.titles import cleaned
from tests.engine.conftest import Desk
from tests.support.model_server import ModelServer, call


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what is done in the background, of which no event tells."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def titled(desk: Desk, session_id: str, title: str) -> None:
    """Wait for the title of a session."""
    session = desk.magent.session(session_id)
    await until(lambda: session.title == title)


async def test_a_session_gets_a_title_after_its_first_turn_and_keeps_it(
    desk: Desk, server: ModelServer
) -> None:
    desk.set(titles=True, smallModel=server.model("openai", "gpt-4o-mini"))
    server.reply("The bug is in a.py.")
    server.reply('**Title:** "Fix the greeting in a.py".')
    first = desk.magent.start(RunRequest(prompt="please find the bug in the greeting"))
    await desk.magent.wait(first.run_id)
    await titled(desk, first.session_id, "Fix the greeting in a.py")
    asked = server.requests[1]
    assert asked.json["model"] == "gpt-4o-mini"
    assert asked.tools == []
    assert "find the bug in the greeting" in asked.last
    server.reply("Done.")
    await desk.run("now mend it", session_id=first.session_id)
    assert len(server.requests) == 3
    desk.magent.close_session(first.session_id)
    assert (await desk.magent.open_session(first.session_id)).title == "Fix the greeting in a.py"


async def test_no_secret_that_was_said_is_told_to_the_model_that_names_sessions(
    desk: Desk, server: ModelServer
) -> None:
    secret = desk.environ["OPENAI_API_KEY"]
    desk.set(titles=True)
    server.reply(f"The key is {secret}.").reply("A talk about keys")
    first = desk.magent.start(RunRequest(prompt="what is the key?"))
    await desk.magent.wait(first.run_id)
    await titled(desk, first.session_id, "A talk about keys")
    assert "The key is [redacted]." in server.requests[1].last
    assert secret.encode() not in server.requests[1].content


async def test_the_title_never_holds_up_the_end_of_the_run(desk: Desk, server: ModelServer) -> None:
    desk.set(titles=True)
    server.reply("Done.")
    server.fault("stall", after=0)
    async with asyncio.timeout(20):
        assert (await desk.run("hello")).text == "Done."
        await server.arrived(2)
        await desk.magent.close()
    assert await server.requests[1].wait_closed(20)
    assert desk.events.types()[-1] == "run_finished"


async def test_a_title_that_a_person_gave_meanwhile_stays(desk: Desk, server: ModelServer) -> None:
    desk.set(titles=True)
    server.reply("Done.")
    server.reply("Something else entirely", hold=True)
    started = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(started.run_id)
    await server.arrived(2)
    desk.magent.sessions.rename(started.session_id, "Mine")
    server.release()
    assert await server.requests[1].wait_done()
    session = desk.magent.session(started.session_id)
    await until(lambda: session.usage.output_tokens == 40)  # the request for the title is counted too
    assert session.title == "Mine"


async def test_a_request_for_a_title_that_fails_is_no_trouble(desk: Desk, server: ModelServer) -> None:
    desk.set(titles=True)
    server.reply("Done.")
    server.fault("status", 500)
    started = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(started.run_id)
    assert await (await server.arrived(2))[1].wait_done()
    server.reply("Still here.")
    assert (await desk.run("again", session_id=started.session_id)).text == "Still here."
    assert desk.magent.session(started.session_id).title == "hello"
    assert len(server.requests) == 3


async def test_recorded_models_and_failed_runs_give_no_title(
    desk: Desk, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text("- text: From the script.\n")
    desk.set(titles=True, model=f"scripted:{tmp_path / 's.yaml'}")
    assert (await desk.run("hello")).text == "From the script."
    desk.set(model=server.model("openai"))
    server.fault("status", 401)
    assert (await desk.run("hello")).stop_reason == "error"
    await desk.run("/cost")
    await desk.magent.close()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix the parser", "Fix the parser"),
        ('"Fix the parser."', "Fix the parser"),
        ("# Fix `parse()`\n\nIt was broken.", "Fix `parse()"),
        ("<think>The user wants…\nhm</think>\nFix the parser", "Fix the parser"),
        ("<think>never ends", ""),
        ("Titel: Den Parser richten", "Den Parser richten"),
        ("- **Title**: a\tb", "a b"),
        ("x" * 100, "x" * 59 + "…"),
        (" \n ", ""),
    ],
)
def test_what_models_put_around_a_title_is_taken_off(text: str, title: str) -> None:
    assert cleaned(text) == title


async def test_a_summary_is_written_from_the_conversation_and_stays_out_of_it(
    desk: Desk, server: ModelServer
) -> None:
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("It says helo.")
    started = desk.magent.start(RunRequest(prompt="what does it say?"))
    await desk.magent.wait(started.run_id)
    before = list(desk.magent.session(started.session_id).messages)
    desk.set(smallModel=server.model("openai", "gpt-4o-mini"))
    server.reply("Read the greeting\n\nNothing was changed.")
    outcome = await desk.run("/summary", session_id=started.session_id)
    assert outcome.text == "Read the greeting\n\nNothing was changed."
    assert (outcome.stop_reason, outcome.usage.input_tokens) == ("end_turn", 100)
    asked = server.requests[2]
    assert asked.json["model"] == "gpt-4o-mini"
    assert "pull request" in str(asked.messages[0])
    assert "what does it say?" in asked.last
    assert "Result of read_file" in asked.last
    assert desk.magent.session(started.session_id).messages == before


async def test_an_empty_session_has_no_summary_and_needs_no_model(desk: Desk, server: ModelServer) -> None:
    assert "nothing to summarise" in (await desk.run("/summary")).text
    assert server.requests == []


async def test_a_large_models_options_are_not_sent_to_the_small_one(desk: Desk, server: ModelServer) -> None:
    desk.set(
        titles=True,
        model=server.model("openai", "gpt-5"),
        smallModel=server.model("openai", "gpt-4o-mini"),
        modelSettings={"maxTokens": 4000, "seed": 7, "verbosity": "low", "reasoning_effort": "high"},
    )
    server.reply("Done.")
    server.reply("A title")
    started = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(started.run_id)
    await titled(desk, started.session_id, "A title")
    small = server.requests[1].json
    assert small["seed"] == 7
    assert "max_tokens" not in small
    assert not {"verbosity", "reasoning_effort"} & small.keys()
    assert server.requests[0].json["reasoning_effort"] == "high"
