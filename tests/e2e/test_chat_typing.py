"""People who go on working in a chat document while the answer is being written into it."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.chat import Talk
from tests.support.lsp_client import ResponseError
from tests.support.stage import Reply, Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

END = " The end."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("stage"), files={"a.py": "x = 1\n"}) as stage:
        yield stage


def held(first: str = "It begins.") -> Reply:
    """An answer that waits after its first piece."""
    return Reply(text=[first, END], hold=True)


async def begun(stage: Stage, name: str, *, eol: str = "\n") -> tuple[Talk, str]:
    """A document whose answer has begun, and its run."""
    stage.server.hold()
    text = f"---\nagent: build\n---\n# Title\n\n## You\n\n{name}\n".replace("\n", eol)
    talk = Talk(stage, name, text=text)
    run_id = await talk.start(held())
    await talk.sees("It begins.")
    return talk, run_id


async def ended(talk: Talk, run_id: str) -> str:
    """The text once the answer is whole."""
    talk.stage.server.release()
    await talk.done(run_id)
    return talk.text


async def test_pieces_are_few_and_touch_nothing_above(stage: Stage) -> None:
    words = [f"word{number} " for number in range(40)]
    talk = Talk(stage, "pieces")
    mark, begin = len(stage.client.edits), time.monotonic()
    await talk.send(Reply(text=words, delay=0.04))
    seconds = time.monotonic() - begin
    assert "".join(words).strip() in talk.text
    edits = stage.client.edits[mark:]
    assert 2 < len(edits) <= 4 * seconds + 2
    for edit in edits[1:]:
        [change] = edit["edit"]["documentChanges"]
        heading = talk.text[: talk.text.index("## Magent")].count("\n")
        assert all(item["range"]["start"]["line"] > heading for item in change["edits"])


async def test_the_next_message_is_written_below_meanwhile(stage: Stage) -> None:
    talk, run_id = await begun(stage, "below")
    talk.write("What I ask next")
    text = await ended(talk, run_id)
    assert text.endswith("## Magent\n\nIt begins. The end.\n\n## You\n\nWhat I ask next")
    await talk.send(say("Fine."))
    assert talk.asked()[1:] == [("assistant", "It begins. The end."), ("user", "What I ask next")]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
async def test_text_above_and_in_the_answer_is_kept(stage: Stage, eol: str) -> None:
    talk, run_id = await begun(stage, f"above{len(eol)}", eol=eol)
    talk.insert(talk.text.index("# Title") + 7, f" 🦁{eol}and a note")
    talk.insert(talk.text.index(" begins"), " really")
    talk.insert(talk.text.index("agent: build"), f"# who{eol}")
    text = await ended(talk, run_id)
    assert f"# Title 🦁{eol}and a note{eol}" in text
    assert f"{eol}## Magent{eol}{eol}It really begins. The end.{eol}{eol}## You" in text
    assert f"# who{eol}agent: build" in text
    assert text.count("The end.") == 1


async def test_what_is_typed_right_behind_the_answer_comes_after_it(stage: Stage) -> None:
    talk, run_id = await begun(stage, "behind")
    talk.insert(talk.text.index("It begins.") + 10, "\nmine")
    text = await ended(talk, run_id)
    assert "It begins. The end." in text
    assert text.count("mine") == 1


async def aside(talk: Talk, run_id: str, mark: int) -> str:
    """The whole answer, which was opened as a document of its own."""
    client = talk.stage.client
    talk.stage.server.release()
    await client.finished(run_id)
    shown = await client.until(lambda: client.shown[mark:])
    path = Path(shown[0]["uri"].removeprefix("file://"))
    assert path.parent.name == "answers"
    words = f"could not be put into {talk.path.name!r}"
    await client.until(lambda: any(words in text and str(path) in text for _, text in client.messages))
    return path.read_text()


async def test_code_in_an_answer_may_hold_headings(stage: Stage) -> None:
    code = "Write:\n\n```\n## You\n\nhi\n\n## Magent\n"
    talk = Talk(stage, "headings")
    stage.server.hold()
    run_id = await talk.start(Reply(text=[code, "yo", "\n```\n\nThat is it."], hold=True))
    await talk.sees("hi\n\n## Magent")
    text = await ended(talk, run_id)
    assert text.endswith(f"## Magent\n\n{code}yo\n```\n\nThat is it.\n\n## You\n\n")


async def test_a_heading_that_is_taken_out_again_stops_nothing(stage: Stage) -> None:
    talk, run_id = await begun(stage, "out again")
    at = talk.text.index("It begins.")
    talk.insert(at, "## You\n")
    talk.insert(at, "", instead=7)
    talk.insert(talk.text.index("## Magent"), "A note above\n\n")
    text = await ended(talk, run_id)
    assert text.endswith("A note above\n\n## Magent\n\nIt begins. The end.\n\n## You\n\n")


async def test_who_types_the_same_words_takes_nothing_from_the_answer(stage: Stage) -> None:
    talk, run_id = await begun(stage, "same words")
    typed: list[str] = []

    def refuse(_params: object) -> dict[str, bool]:
        typed.append(f"I see: It begins. The end. ({len(typed)})\n")
        talk.write(typed[-1])
        if len(typed) == 3:
            del stage.client.on["workspace/applyEdit"]
        return {"applied": False}

    stage.client.on["workspace/applyEdit"] = refuse
    text = await ended(talk, run_id)
    assert len(typed) == 3
    assert "## Magent\n\nIt begins. The end.\n\n## You\n\n" + "".join(typed) in text


@pytest.mark.parametrize("what", ["heading", "place", "all", "tail"])
async def test_an_answer_whose_place_is_gone_is_opened_beside(stage: Stage, what: str) -> None:
    talk, run_id = await begun(stage, f"gone-{what}")
    mark = len(stage.client.shown)
    text = talk.text
    begin, end = {
        "heading": (text.index("## Magent"), text.index("It begins")),
        "place": (text.index("begins"), text.rindex("## You")),
        "all": (0, len(text)),
        "tail": (text.index(" begins."), text.index(" begins.") + 8),
    }[what]
    talk.insert(begin, "", instead=end - begin)
    left = talk.text
    assert await aside(talk, run_id, mark) == "It begins. The end.\n"
    assert talk.text == left


async def test_undone_means_taken_back(stage: Stage) -> None:
    talk, run_id = await begun(stage, "undone")
    mark = len(stage.client.shown)
    talk.insert(0, talk.buffer.history[-1], instead=len(talk.text))
    left = talk.text
    assert await aside(talk, run_id, mark) == "It begins. The end.\n"
    assert talk.text == left


async def test_a_closed_document_gets_the_rest_on_the_disk(stage: Stage) -> None:
    talk, run_id = await begun(stage, "closed")
    talk.save()
    talk.close()
    stage.server.release()
    await stage.client.finished(run_id)
    wanted = talk.text.replace("It begins.", "It begins. The end.")
    while talk.path.read_text() != wanted:
        await stage.client.command("magent.status")


async def test_a_document_closed_without_saving_is_left_alone(stage: Stage) -> None:
    talk = Talk(stage, "unsaved")
    talk.save()
    before = talk.text
    stage.server.hold()
    run_id = await talk.start(held())
    await talk.sees("It begins.")
    talk.close()
    assert await aside(talk, run_id, len(stage.client.shown)) == "It begins. The end.\n"
    assert talk.path.read_text() == before


async def test_of_a_document_that_is_gone_one_sentence_is_said(stage: Stage) -> None:
    talk, run_id = await begun(stage, "deleted")
    talk.close()
    assert await aside(talk, run_id, len(stage.client.shown)) == "It begins. The end.\n"
    assert not any(".." in text.replace("...", "") for _, text in stage.client.messages)


async def test_a_document_is_followed_to_its_new_name(stage: Stage) -> None:
    talk, run_id = await begun(stage, "renamed")
    talk.save()
    talk.close()
    moved = talk.path.with_name("moved.magent.md")
    talk.path.rename(moved)
    talk.path = moved
    talk.buffer = stage.client.open(moved, language="markdown")
    text = await ended(talk, run_id)
    assert text.endswith("## Magent\n\nIt begins. The end.\n\n## You\n\n")


async def test_a_document_is_closed_and_opened_again(stage: Stage) -> None:
    talk, run_id = await begun(stage, "reopened")
    text = talk.text
    talk.close()
    talk.buffer = stage.client.open(talk.path, text, language="markdown")
    assert "It begins. The end.\n\n## You" in await ended(talk, run_id)


async def test_a_cancel_keeps_what_there_is(stage: Stage) -> None:
    talk, run_id = await begun(stage, "cancel")
    title, line = await talk.lens()
    assert title == "Cancel"
    assert talk.text.splitlines()[line] == "## You"
    offered = await stage.client.actions(talk.buffer.uri, talk.buffer.range("# Title"))
    assert [action["title"] for action in offered] == ["Magent: Cancel"]
    await stage.client.act(offered[0])
    finished = await talk.done(run_id)
    assert finished["stopReason"] == "cancelled"
    assert "## Magent\n\nIt begins.\n\n> - magent: cancelled\n\n## You\n\n" in talk.text
    session = talk.session
    stage.server.release()
    talk.write("Go on\n")
    await talk.send(say("Gone on."))
    assert talk.asked() == [("user", "cancel"), ("assistant", "It begins."), ("user", "Go on")]
    assert talk.session == session


async def test_a_second_message_waits_for_the_first(stage: Stage) -> None:
    talk, run_id = await begun(stage, "twice")
    talk.write("second\n")
    with pytest.raises(ResponseError, match=r"'twice.magent.md' is being answered. Wait .* or cancel"):
        await talk.start()
    text = await ended(talk, run_id)
    assert text.count("It begins. The end.") == 1
    await talk.send(say("Two."))
    assert talk.asked()[-1] == ("user", "second")


async def test_two_sends_at_once_are_one(stage: Stage) -> None:
    talk = Talk(stage, "at once")
    talk.cast(say("One."), say("Two."))
    params = {"command": "magent.send", "arguments": [{"uri": talk.buffer.uri}]}
    one = stage.client.send_request("workspace/executeCommand", params)[1]
    two = stage.client.send_request("workspace/executeCommand", params)[1]
    run = await one
    with pytest.raises(ResponseError, match="is being answered"):
        await two
    await talk.done(run["runId"])
    assert talk.text.count("## Magent") == 1
    assert len(stage.asked("at once")) == 1


async def test_two_documents_are_answered_side_by_side(stage: Stage) -> None:
    one, first = await begun(stage, "side one")
    two = Talk(stage, "side two")
    second = await two.start(held("Another one."))
    await two.sees("Another one.")
    one.write("for one")
    two.write("for two")
    assert "It begins. The end.\n\n## You\n\nfor one" in await ended(one, first)
    await two.done(second)
    assert "Another one. The end.\n\n## You\n\nfor two" in two.text


async def test_a_file_that_the_answer_changes_is_not_the_document(stage: Stage) -> None:
    talk = Talk(stage, "edits")
    stage.client.answers.append("Allow once")
    change = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")
    buffer = stage.client.open("a.py")
    await talk.send(say("Now:", change), say("Done."))
    assert buffer.text == "x = 2\n"
    assert "## Magent\n\nNow:\n\n> - tool: edit_file a.py\n\nDone.\n\n## You" in talk.text
