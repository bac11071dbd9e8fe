"""Chat documents over the protocol: what a person reads is what the model was told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.chat import Talk
from tests.support.lsp_client import ResponseError
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("stage"), files={"a.py": "x = 1\ny = 2\n"}) as stage:
        yield stage


async def test_an_answer_is_written_below_the_message(stage: Stage) -> None:
    talk = Talk(stage, "greet")
    await talk.send(say("Hello."))
    session = talk.session
    assert talk.text == (
        f"---\nsession: {session}\n---\n## You\n\ngreet\n\n## Magent\n\nHello.\n\n## You\n\n"
    )
    assert talk.asked() == [("user", "greet")]
    talk.write("And now?\n")
    await talk.send(say("Goodbye."))
    assert talk.session == session
    assert talk.text.endswith("## You\n\nAnd now?\n\n## Magent\n\nGoodbye.\n\n## You\n\n")
    assert talk.asked() == [("user", "greet"), ("assistant", "Hello."), ("user", "And now?")]


async def test_a_text_without_headings_is_a_message(stage: Stage) -> None:
    talk = Talk(stage, "bare", text="# Title\n\nbare question")
    await talk.send(say("Yes."))
    assert talk.text == (
        f"---\nsession: {talk.session}\n---\n# Title\n\n"
        "## You\n\nbare question\n\n## Magent\n\nYes.\n\n## You\n\n"
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# Title\n", "---\nagent: ask\n---\n", "## You\n\n  \n"])
async def test_there_must_be_something_to_send(stage: Stage, text: str) -> None:
    talk = Talk(stage, "nothing", text=text)
    with pytest.raises(ResponseError, match="write a message"):
        await talk.start()
    assert talk.text == text


async def test_below_an_answer_a_heading_is_asked_for(stage: Stage) -> None:
    talk = Talk(stage, "below", text="## You\n\nq\n\n## Magent\n\na\n\nmore\n")
    with pytest.raises(ResponseError, match="below the last `## You`"):
        await talk.start()


async def test_lines_end_as_the_documents_do(stage: Stage) -> None:
    talk = Talk(stage, "crlf", text="---\r\nagent: build\r\n---\r\n## You\r\n\r\ncrlf 👋🏽 ä\r\nx\r\n")
    await talk.send(say("Löwe 🦁\n\n- a\n- b"))
    assert "\n" not in talk.text.replace("\r\n", "")
    assert (
        "## You\r\n\r\ncrlf 👋🏽 ä\r\nx\r\n\r\n## Magent\r\n\r\nLöwe 🦁\r\n\r\n- a\r\n- b\r\n\r\n## You\r\n"
        in talk.text
    )
    assert talk.asked() == [("user", "crlf 👋🏽 ä\nx")]
    talk.write("more 🦁")
    await talk.send(say("ok"))
    assert talk.asked()[1:] == [("assistant", "Löwe 🦁\n\n- a\n- b"), ("user", "more 🦁")]


async def test_headings_in_an_answer_are_the_answers(stage: Stage) -> None:
    answer = "Write:\n## You\n\n```md\n## Magent\n> - tool: x\n```\n\n> - tool: rm\n## You\nhi"
    talk = Talk(stage, "quote")
    await talk.send(say(answer))
    assert (
        "\n\\## You\n\n```md\n## Magent\n> - tool: x\n```\n\n\\> - tool: rm\n\\## You\nhi\n\n## You\n"
        in talk.text
    )
    session = talk.session
    talk.write("ok")
    await talk.send(say("fine"))
    assert talk.session == session
    assert talk.asked()[1] == ("assistant", answer)


async def test_code_that_a_message_leaves_open_hides_no_answer(stage: Stage) -> None:
    talk = Talk(stage, "fence", "fence\n```py\nx = 1")
    await talk.send(say("```py\nx = 2\n```\nThat is it."))
    assert "x = 1\n```\n\n## Magent\n\n```py\nx = 2" in talk.text
    talk.write("more")
    await talk.send(say("ok"))
    assert [role for role, _ in talk.asked()] == ["user", "assistant", "user"]


async def test_tools_are_lines_and_their_results_are_remembered(stage: Stage) -> None:
    talk = Talk(stage, "tools")
    await talk.send(say("Looking.", call("read_file", path="a.py")), say("It is 1."))
    assert "## Magent\n\nLooking.\n\n> - tool: read_file a.py\n\nIt is 1.\n\n## You\n\n" in talk.text
    talk.write("Sure?")
    await talk.send(say("Yes."))
    roles = [role for role, _ in talk.asked()]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert "x = 1" in talk.asked()[2][1]


async def test_an_edited_document_is_what_the_model_sees(stage: Stage) -> None:
    talk = Talk(stage, "edited")
    await talk.send(say("Looking.", call("read_file", path="a.py")), say("One."))
    talk.write("second\n")
    await talk.send(say("Two."))
    talk.write("third\n")
    first = talk.session
    talk.insert(talk.text.index("Two."), "Zwei, I said.", instead=4)
    await talk.send(say("Three."))
    # Up to the edit the tools' results are there; from there on the text counts.
    roles = [role for role, _ in talk.asked()]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert talk.asked()[-3:] == [("user", "second"), ("assistant", "Zwei, I said."), ("user", "third")]
    assert talk.session != first
    forked = talk.session
    talk.write("fourth\n")
    await talk.send(say("Four."))
    assert talk.session == forked
    assert len(talk.asked()) == 9


async def test_turns_that_were_deleted_are_forgotten(stage: Stage) -> None:
    talk = Talk(stage, "deleted")
    await talk.send(say("One."))
    talk.write("second")
    await talk.send(say("Two."))
    begin, end = talk.text.index("## You\n\nsecond"), talk.text.rindex("## You")
    talk.insert(begin, "", instead=end - begin)
    talk.write("third")
    await talk.send(say("Three."))
    assert talk.asked() == [("user", "deleted"), ("assistant", "One."), ("user", "third")]


async def test_a_document_from_elsewhere_goes_on(stage: Stage) -> None:
    text = (
        "---\nsession: 20200101-000000-abcd\n---\n# Shared\n\n## You\n\nshared question\n\n## Magent\n\n"
        "> - tool: read_file b.py\n\nShared answer.\n\n## You\n\nAnd?\n"
    )
    talk = Talk(stage, "shared", text=text)
    await talk.send(say("Well."))
    assert talk.asked() == [("user", "shared question"), ("assistant", "Shared answer."), ("user", "And?")]
    assert talk.session != "20200101-000000-abcd"
    assert "Workspace folder" in str(stage.asked("shared")[0].messages)


async def test_a_long_conversation_from_elsewhere_goes_on(stage: Stage) -> None:
    turns = "".join(f"## You\n\nlong {n}\n\n## Magent\n\n{'answer ' * 200}{n}\n\n" for n in range(100))
    talk = Talk(stage, "long 0", text=f"{turns}## You\n\nAnd?\n")
    run_id = await talk.start(say("Well."))
    await talk.done(run_id)
    assert [text for role, text in talk.asked() if role == "user"] == [
        *(f"long {n}" for n in range(100)),
        "And?",
    ]
    assert talk.text.endswith("## You\n\nAnd?\n\n## Magent\n\nWell.\n\n## You\n\n")
    assert (await talk.lens())[1] == talk.text.count("\n") - 2
    document = {"textDocument": {"uri": talk.buffer.uri}}
    assert len(await stage.client.request("textDocument/foldingRange", document)) == 202


async def test_code_left_open_by_both_is_no_difference(stage: Stage) -> None:
    talk = Talk(stage, "both open", "both open\n```py\nx = 1")
    await talk.send(say("So:\n```py\nx = 2"))
    session = talk.session
    talk.write("Done?\n")
    await talk.send(say("Yes."))
    assert talk.session == session
    assert talk.asked() == [
        ("user", "both open\n```py\nx = 1"),
        ("assistant", "So:\n```py\nx = 2"),
        ("user", "Done?"),
    ]


async def test_a_copy_goes_its_own_way(stage: Stage) -> None:
    talk = Talk(stage, "copied")
    await talk.send(say("One."))
    copy = Talk(stage, "copied-2", text=talk.text)
    copy.name = "copied"
    talk.write("left")
    await talk.send(say("Left."))
    copy.write("right")
    await copy.send(say("Right."))
    assert copy.asked() == [("user", "copied"), ("assistant", "One."), ("user", "right")]
    assert copy.session != talk.session
    talk.write("left again")
    await talk.send(say("Left 2."))
    assert talk.asked()[2:] == [("user", "left"), ("assistant", "Left."), ("user", "left again")]


async def test_front_matter_chooses_agent_and_model(stage: Stage) -> None:
    talk = Talk(stage, "front", text="---\nagent: ask\nmodel: openai/gpt-4.1\n---\n## You\n\nfront\n")
    run_id = await talk.start(say("Hi."))
    await talk.done(run_id)
    [started] = [event for event in stage.client.of_run(run_id) if event["type"] == "run_started"]
    assert (started["agent"], started["model"]) == ("ask", "openai/gpt-4.1")
    assert stage.asked("front")[0].json["model"] == "gpt-4.1"
    talk.insert(talk.text.index("ask"), "nobody", instead=3)
    talk.write("again")
    with pytest.raises(ResponseError, match=r"no agent 'nobody'.*Available: .*build"):
        await talk.start()


async def test_front_matter_says_what_a_command_has_changed(stage: Stage) -> None:
    talk = Talk(stage, "modes", "/model openai/gpt-4.1-mini")
    await talk.send()
    assert "model: openai/gpt-4.1-mini\n" in talk.text
    assert "Model of this session" in talk.text
    talk.write("/plan modes\n")
    await talk.send(say("Planned."))
    assert "agent: plan\n" in talk.text
    talk.write("go on\n")
    run_id = await talk.start(say("Gone."))
    await talk.done(run_id)
    [started] = [event for event in stage.client.of_run(run_id) if event["type"] == "run_started"]
    assert (started["agent"], started["model"]) == ("plan", "openai/gpt-4.1-mini")
    # What such commands answer is for the person; a plan is a turn, and the session has it as it was sent.
    assert [role for role, _ in talk.asked()] == ["user", "assistant", "user"]


async def test_a_command_of_a_file_is_a_turn_whatever_its_name(stage: Stage) -> None:
    command = stage.home / "config" / "commands" / "cost.md"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text("---\ndescription: what it costs\n---\nWhat does $ARGUMENTS cost?\n")
    stage.tell(command)
    try:
        at = {
            "textDocument": {"uri": Talk(stage, "slash", "/").buffer.uri},
            "position": {"line": 2, "character": 1},
        }
        while "what it costs" not in str(await stage.client.request("textDocument/completion", at)):
            pass
        talk = Talk(stage, "own cost", "/cost own cost")
        talk.name = "own cost"
        await talk.send(say("Two."))
        session = talk.session
        talk.write("Sure?\n")
        await talk.send(say("Yes."))
        assert talk.session == session
        assert talk.asked() == [
            ("user", "What does own cost cost?"),
            ("assistant", "Two."),
            ("user", "Sure?"),
        ]
    finally:
        command.unlink()
        stage.tell(command)


async def test_what_is_said_to_us_is_in_the_document_and_not_for_the_model(stage: Stage) -> None:
    talk = Talk(stage, "with us")
    await talk.send(say("One."))
    session = talk.session
    said = ("/redo", "/nope", "/nope at all", "/help", "/trust", "/implement no-plan.md", "/agents nobody")
    for each in said:
        talk.write(f"{each}\n")
        await talk.send()
        assert f"## You\n\n{each}\n\n## Magent\n\n" in talk.text
    assert "> - magent: There is no command /nope." in talk.text
    talk.write("go on\n")
    await talk.send(say("Two."))
    told = [("user", "with us"), ("assistant", "One."), ("user", "go on")]
    assert talk.asked() == told
    assert talk.session == session
    # Also where nothing is left but the document.
    talk.insert(talk.text.index(session), "", instead=len(session))
    talk.write("once more\n")
    await talk.send(say("Three."))
    assert talk.asked() == [*told, ("assistant", "Two."), ("user", "once more")]


async def test_a_command_that_was_cancelled_before_it_said_anything_is_a_turn(stage: Stage) -> None:
    """The model was asked, and may have done something."""
    talk = Talk(stage, "survey", "/plan survey")
    run_id = await talk.start(say("never", first_delay=60))
    await stage.reached("survey")
    await stage.client.command("magent.cancel", runId=run_id)
    await talk.done(run_id)
    session = talk.session
    talk.write("again\n")
    await talk.send(say("Here."))
    assert talk.session == session
    assert [role for role, _ in talk.asked()] == ["user", "user"]


async def test_a_clear_begins_anew(stage: Stage) -> None:
    talk = Talk(stage, "clear")
    await talk.send(say("One."))
    talk.write("/clear\n")
    await talk.send()
    talk.write("clear again\n")
    await talk.send(say("Two."))
    assert talk.asked() == [("user", "clear again")]


async def test_how_a_run_failed_is_in_the_document(stage: Stage) -> None:
    talk = Talk(stage, "failed")
    await talk.send(say(fault="status", status=400, message="no such thing"))
    assert "## Magent\n\n> - magent: " in talk.text
    assert "no such thing" in talk.text
    assert talk.text.endswith("\n\n## You\n\n")
    talk.write("again\n")
    await talk.send(say("Now."))
    assert talk.asked() == [("user", "failed"), ("user", "again")]


async def test_a_refused_permission_is_in_the_document(stage: Stage) -> None:
    talk = Talk(stage, "refused")
    stage.client.answers.append("Reject")
    await talk.send(say("Writing.", call("write_file", path="new.py", content="x")))
    assert "Writing.\n\n> - tool: write_file new.py (rejected)" in talk.text
    assert "\n\n> - magent: stopped: a permission was refused" in talk.text
    assert not (stage.workspace / "new.py").exists()


async def test_a_session_becomes_a_document(stage: Stage) -> None:
    run = await stage.run("becomes a document")
    stage.cast("becomes a document", say("## You\nnot you"))
    await stage.run("what?", sessionId=run.session_id)
    opened = await stage.client.command("magent.openChat", sessionId=run.session_id)
    path = Path(opened["uri"].removeprefix("file://"))
    talk = Talk(stage, "becomes a document", text=path.read_text())
    assert "## You\n\nbecomes a document\n\n## Magent\n\n" in talk.text
    assert "## Magent\n\n\\## You\nnot you\n\n## You\n\n" in talk.text
    talk.write("more")
    await talk.send(say("ok"))
    assert talk.session == run.session_id
    assert [text for role, text in talk.asked() if role == "user"] == ["becomes a document", "what?", "more"]
