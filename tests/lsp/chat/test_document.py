"""What a chat document says: whatever is written by hand is understood, and nobody speaks for another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.edits import apply_replacements
from magent_lsp.lsp.chat.document import Turn, is_answer, parse, part_at, quoted, template, with_fields
from magent_lsp.lsp.chat.marks import YOU

HEAD = {"session": "s1", "agent": "build"}

ASKED = "---\nsession: s1\nagent: build\n---\n# Talk\n\n## You\n\nHello\nthere\n"


def test_a_conversation() -> None:
    chat = parse(ASKED)
    assert chat.fields == HEAD
    assert chat.message == "Hello\nthere"
    assert ASKED[chat.start : chat.end] == "Hello\nthere"
    assert chat.turns == ()
    answered = parse(f"{ASKED}\n## Magent\n\nHi.\n\n## You\n\n")
    assert answered.message == ""
    assert answered.turns == (Turn(said="Hello\nthere", answer="Hi."),)


def test_a_document_made_by_hand() -> None:
    assert parse("Just a question?").message == "Just a question?"
    assert parse("# Title\n\nA question").message == "A question"
    assert parse("\ufeffA question").message == "A question"
    assert parse("---\nagent: ask\n---\n\n# Title\r\n\r\nHi").message == "Hi"
    crlf = parse("---\r\nsession: s2\r\n---\r\n## You\r\nHi\r\nyou\r\n")
    assert crlf.fields == {"session": "s2"}
    assert crlf.message == "Hi\nyou"
    assert parse("## you  \nHi\n\n## MAGENT\n\nan answer\n").turns == (Turn(said="Hi", answer="an answer"),)
    assert parse("").message == parse("---\n---\n").message == parse("# Only a title\n").message == ""


def test_two_messages_without_an_answer_are_two() -> None:
    chat = parse("## You\none\n## You\ntwo\n")
    assert chat.turns == (Turn(said="one"),)
    assert chat.message == "two"


def test_a_document_that_begins_with_an_answer() -> None:
    assert parse("## Magent\nHi\n## You\nHo\n").turns == (Turn(said="", answer="Hi"),)


def test_what_stands_above_the_first_heading_is_for_people() -> None:
    chat = parse("# Talk\n\nA note for colleagues.\n\n## You\n\nHi\n")
    assert chat.turns == ()
    assert chat.message == "Hi"


def test_values_of_front_matter() -> None:
    text = "---\n# a comment\nagent: 'ask'\nmodel: openai/gpt-4o # fast\nodd\n---\n"
    assert parse(text).fields == {"agent": "ask", "model": "openai/gpt-4o"}
    assert parse("---\nagent: ask\n\nno end").fields == {}


def test_headings_in_code_are_code() -> None:
    code = "```md\n## You\nnot me\n```"
    chat = parse(f"## You\n\nWhat is this?\n{code}\n")
    assert chat.message == f"What is this?\n{code}"
    chat = parse(f"## You\nhi\n## Magent\n~~~\n## Magent\n```\n~~~\n\n{YOU}\nmore\n")
    assert chat.message == "more"
    assert chat.turns[0].answer == "~~~\n## Magent\n```\n~~~"


def test_code_that_is_never_ended_hides_nothing() -> None:
    assert parse("## You\n\n```python\nx = 1\n\n## Magent\n\nyes\n\n## You\n\nmore").message == "more"


def test_lines_about_tools_are_not_the_answer() -> None:
    text = (
        "## You\nfix\n## Magent\n\nLooking.\n\n> - tool: read_file a.py\n> - tool: bash `x` (failed)\n"
        ">   1 failed\n>   2 passed\n\nIt is\n> quoted\n\n> - magent: cancelled\n\n## You\n\n"
    )
    assert parse(text).turns == (Turn(said="fix", answer="Looking.\n\n\nIt is\n> quoted"),)


def test_a_clear_forgets_what_is_above() -> None:
    cleared = "## You\none\n## Magent\n1\n## You\n/clear\n## Magent\nForgotten.\n"
    assert parse(cleared).turns == ()
    text = f"{cleared}## You\ntwo\n## Magent\n2\n## You\n3"
    assert parse(text).turns == (Turn(said="two", answer="2"),)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["", "hi", "---\nsession: old # x\n---\nhi", "---\nagent: ask\n---\nhi", "\ufeffhi"]
)
def test_front_matter_is_changed_in_place(text: str, eol: str) -> None:
    text = text.replace("\n", eol)
    new = apply_replacements(text, with_fields(text, HEAD))
    assert parse(new).fields == HEAD
    assert parse(new).message == parse(text).message
    assert with_fields(new, HEAD) == []
    if "\n" in text:
        assert new.count("\n") == new.count(eol)


def test_front_matter_may_be_long() -> None:
    comment = "# what is said of it\n" * 1000
    text = f"---\n{comment}session: old\n---\nhi"
    new = apply_replacements(text, with_fields(text, HEAD))
    assert new == f"---\n{comment}session: s1\nagent: build\n---\nhi"


OURS = ["## You", "## Magent", "\\## You", "\\\\## Magent ", "> - tool: x", ">   body", "> - magent: y"]
FENCES = ["```", "~~~~", "```py", "    ```", "```x```"]
lines = st.sampled_from([*OURS, *FENCES, "", "text", "# You", "> quote", "## Your"])
texts = st.lists(lines, max_size=12).map("\n".join)


@given(texts, texts, texts)
def test_nobody_can_speak_for_another(said: str, answer: str, message: str) -> None:
    text = template(HEAD, "Talk", [Turn(said=f"s. {said}", answer=f"a. {answer}")])
    chat = parse(f"{text}{quoted(f'm. {message}')}\n")
    [turn] = chat.turns
    assert turn.said.startswith("s.")
    assert turn.answer.startswith("a.")
    assert chat.message.startswith("m.")


@given(texts.filter(lambda text: "```" not in text and "~~~" not in text))
def test_what_is_quoted_is_read_as_it_was(answer: str) -> None:
    text = template(HEAD, "Talk", [Turn(said="x", answer=answer)])
    turns = parse(text).turns
    assert turns[0].answer == answer.strip()


@given(texts)
def test_an_answer_is_one_answer_at_each_of_its_lines(text: str) -> None:
    written = f"## Magent\n\n{quoted(text)}"
    assert all(is_answer(written[:end]) for end in range(9, len(written) + 1) if written[end - 1] != "u")


def test_a_heading_in_an_answer_ends_it() -> None:
    assert not is_answer("## Magent\n\nIt is\n## You\n\nnot")
    assert not is_answer("It is")
    assert is_answer("## Magent\n\n```md\n## You\n")


@given(st.text())
def test_any_text_is_a_document(text: str) -> None:
    chat = parse(text)
    assert 0 <= chat.start <= chat.end <= len(text)
    assert text[chat.start : chat.end].strip() == text[chat.start : chat.end]
    part_at(text, len(text) // 2)
