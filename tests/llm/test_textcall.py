"""Small models write calls as text: these run, and everything that is less stays text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.messages import AssistantMessage, TextDelta, Usage
from magent_lsp.llm.stream import Assembly, CallDelta, Delta
from magent_lsp.llm.textcall import TextCalls, read_call
from tests.support.talk import TOOLS

SCHEMAS = {tool.name: tool.parameters for tool in TOOLS}
CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```\n",
        '{"name": "read_file", "parameters": {"path": "a.py"}}',
        '{"tool": "read_file", "args": {"path": "a.py"}}',
        '{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.py"}}}',
        '{"arguments": {"path": "a.py"}, "name": "read_file"}',
        json.dumps({"name": "read_file", "arguments": '{"path": "a.py"}'}),
    ],
)
def test_a_call_written_as_text_is_a_call(text: str) -> None:
    call = read_call(text, SCHEMAS)
    assert call is not None
    assert (call.name, json.loads(call.arguments)) == ("read_file", {"path": "a.py"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Use " + CALL,
        CALL + " then wait",
        f"```json\n{CALL}\n```\nI would call that.",
        f"```json\n{CALL}\n```\n```json\n{CALL}\n```",
        CALL + CALL,
        f"[{CALL}]",
        '{"name": "no_such_tool", "arguments": {}}',
        '{"name": "read_file", "arguments": {}}',
        '{"name": "read_file", "arguments": {"path": "a", "mode": "r"}}',
        '{"name": "read_file", "arguments": ["a.py"]}',
        '{"name": "read_file", "tool": "todo", "arguments": {"path": "a"}}',
        '{"name": "read_file", "path": "a.py"}',
        '{"name": "read_file", "arguments": {"path": "a.py"}',
        '{"name": ["read_file"], "arguments": {"path": "a"}}',
        '{"path": "a.py"}',
        '"read_file"',
    ],
)
def test_anything_less_is_text(text: str) -> None:
    assert read_call(text, SCHEMAS) is None


def fed(pieces: list[str], finish: str = "stop") -> tuple[str, AssistantMessage]:
    assembly = Assembly("m", TOOLS)
    shown = [item.text for piece in pieces for item in assembly.feed(Delta(text=piece))]
    assembly.feed(Delta(finish=finish))  # type: ignore[arg-type]
    *rest, message = assembly.finish(Usage())
    shown += [item.text for item in rest if isinstance(item, TextDelta)]
    assert isinstance(message, AssistantMessage)
    return "".join(shown), message


TEXTS = st.one_of(
    st.text(alphabet='{}"`\\ \n:,namefunctiojson[]', max_size=60),
    st.sampled_from([CALL, f"```json\n{CALL}\n```", CALL + "x", "``" + CALL, f"```json\n{CALL}\n``` no"]),
    st.dictionaries(st.sampled_from(["name", "arguments", "path"]), st.text(max_size=5)).map(json.dumps),
)


@given(TEXTS, st.lists(st.integers(1, 7), min_size=1, max_size=80))
def test_no_text_is_lost_or_doubled_and_a_call_is_found_in_any_pieces(text: str, sizes: list[int]) -> None:
    pieces, rest = [], text
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    shown, message = fed([*pieces, rest])
    if read_call(text, SCHEMAS):
        assert (shown, message.text, len(message.tool_calls)) == ("", "", 1)
        assert message.finish == "tool_calls"
    else:
        assert shown == message.text == text
        assert message.tool_calls == ()


def test_a_call_that_was_cut_off_at_the_limit_is_never_run() -> None:
    shown, message = fed([CALL], finish="length")
    assert message.tool_calls == ()
    assert shown == CALL


@pytest.mark.parametrize("text", ["Hello", "# Title", '{"answer": 1', "{x", "```python\nprint", "` `", "``a"])
def test_text_that_cannot_be_a_call_is_shown_at_once(text: str) -> None:
    held = TextCalls(TOOLS)
    assert "".join(held.feed(character) for character in text + "!") == text + "!"


def test_json_answers_are_shown_as_soon_as_their_first_key_is_seen() -> None:
    held = TextCalls(TOOLS)
    assert held.feed('{"na') == ""
    assert held.feed('tion": ') == '{"nation": '
    assert held.feed('"x"}') == '"x"}'


def test_text_after_a_whole_object_shows_it_at_once() -> None:
    held = TextCalls(TOOLS)
    assert held.feed(CALL) == ""
    assert held.feed(" is") == CALL + " is"


def test_a_real_call_makes_the_text_before_it_text() -> None:
    assembly = Assembly("m", TOOLS)
    assert assembly.feed(Delta(text=CALL)) == []
    call = CallDelta(index=0, id="a", name="todo", arguments="{}")
    assert assembly.feed(Delta(calls=[call], finish="tool_calls")) == [TextDelta(text=CALL)]
    [message] = assembly.finish(Usage())
    assert isinstance(message, AssistantMessage)
    assert [call.name for call in message.tool_calls] == ["todo"]


def test_without_tools_nothing_is_held_back() -> None:
    assert Assembly("m").feed(Delta(text="{")) == [TextDelta(text="{")]
