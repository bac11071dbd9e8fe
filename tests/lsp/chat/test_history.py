"""A document beside its session: what agrees is kept with its tools, what differs is as the document says."""

import pytest

from magent_lsp.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from magent_lsp.lsp.chat.document import Turn
from magent_lsp.lsp.chat.history import Agreement, agree, remembered


def user(text: str, said: str = "", **more: bool) -> UserMessage:
    return UserMessage(id=f"u-{text}", text=text, said=said, **more)


def model(text: str, *calls: str) -> AssistantMessage:
    called = tuple(ToolCall(id=call, name="read_file", arguments="{}") for call in calls)
    return AssistantMessage(id=f"a-{text}", text=text, tool_calls=called)


SESSION: list[Message] = [
    user("<context>\nfacts\n</context>\n\nFix it", said="Fix it"),
    model("Looking.", "1"),
    ToolMessage(id="t-1", call_id="1", name="read_file", text="x = 1"),
    user("Go on.", synthetic=True),
    model("Fixed.\n\n\nDone. "),
    user("<context>\nold\n</context>\n\nThanks"),
    model("Welcome."),
]

SAME = [Turn(said="Fix it", answer="Looking.\n\nFixed.\n\nDone."), Turn(said="Thanks", answer="Welcome.")]


def plain(text: str) -> str:
    return text


def compared(*turns: Turn, session: list[Message] = SESSION) -> Agreement:
    return agree(turns, remembered(session), plain)


def test_a_session_in_turns() -> None:
    turns = remembered(SESSION)
    assert [turn.said for turn in turns] == ["Fix it", "Thanks"]
    assert turns[0].texts == ["Looking.", "Fixed.\n\n\nDone. "]
    assert [turn.last for turn in turns] == ["a-Fixed.\n\n\nDone. ", "a-Welcome."]
    assert [turn.said for turn in remembered([model("hello")])] == [""]


def test_they_agree_whatever_an_editor_did_to_blanks() -> None:
    assert compared(*SAME) == Agreement(turns=2)
    assert compared(Turn(said="Fix it  \r\n", answer="Looking.\n\nFixed.\n\nDone.\n")) == Agreement(turns=1)
    assert compared(*SAME, Turn(said="More")) == Agreement(turns=2)


def test_code_that_was_left_open_is_closed_in_the_document_alone() -> None:
    session = [user("Why?\n```py\nx = 1"), model("So:\n````\ny = 2", "1"), model("Done.\n~~~")]
    turn = Turn(said="Why?\n```py\nx = 1\n```", answer="So:\n````\ny = 2\n````\n\nDone.\n~~~\n~~~")
    assert compared(turn, session=session) == Agreement(turns=1)
    more = Turn(said=turn.said, answer=f"{turn.answer}\n\nReally.")
    assert compared(more, session=session) == Agreement(turns=1, rest="Really.")


@pytest.mark.parametrize("filling", ["x", " ", "\n"])
def test_a_long_run_of_anything_agrees_with_itself(filling: str) -> None:
    text = f"a{filling * 20_000}b"
    assert compared(Turn(said=text), session=[user(text)]) == Agreement(turns=1)


def test_they_differ_from_the_first_edited_turn_on() -> None:
    assert compared(Turn(said="Mend it", answer=SAME[0].answer), SAME[1]) == Agreement(turns=0)
    assert compared(SAME[0], Turn(said="Thanks!", answer="Welcome.")) == Agreement(turns=1)
    assert compared(Turn(said="Fix it", answer="Looking.\n\nFixed."), SAME[1]) == Agreement(turns=0)
    assert compared(Turn(said="Fix it", answer=f"{SAME[0].answer} Really."), SAME[1]) == Agreement(turns=0)
    indented = Turn(said="if x:\n  y", answer="")
    assert agree([indented], remembered([user("if x:\n    y")]), plain) == Agreement(turns=0)


def test_what_a_cancelled_answer_said_is_more_than_the_session_has() -> None:
    cut = [*SESSION, user("Again")]
    assert compared(*SAME, Turn(said="Again", answer="Half an ans"), session=cut) == Agreement(
        turns=3, rest="Half an ans"
    )


def test_secrets_do_not_make_a_difference() -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2", "[redacted]")

    turns = [Turn(said="it is hunter2", answer="I see [redacted]")]
    assert agree(turns, remembered([user("it is [redacted]"), model("I see hunter2")]), redact).turns == 1
