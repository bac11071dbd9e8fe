"""What providers refuse is not sent to them."""

from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from magent_lsp.llm.shape import Dialect, call_id, to_wire, tools_to_wire
from tests.support.talk import TOOLS

PICTURE = Image(media_type="image/png", data="AAAA")


def test_tools_keep_their_order_and_their_schema() -> None:
    wire = tools_to_wire(TOOLS)
    assert [tool["function"]["name"] for tool in wire] == ["read_file", "todo"]
    assert wire[0]["function"]["parameters"]["required"] == ["path"]


def test_an_answer_without_anything_is_left_out() -> None:
    wire = to_wire(
        [UserMessage(id="u", text="x"), AssistantMessage(id="m", reasoning="hm")], Dialect(), tools=True
    )
    assert [message["role"] for message in wire] == ["user"]


def test_empty_texts_are_not_sent() -> None:
    call = AssistantMessage(id="m", tool_calls=(ToolCall(id="c", name="todo", arguments=""),))
    result = ToolMessage(id="t", call_id="c", name="todo", text=" ")
    user, assistant, tool = to_wire([UserMessage(id="u", text=""), call, result], Dialect(), tools=True)
    assert user["content"]
    assert assistant["content"] is None
    assert assistant["tool_calls"][0]["function"]["arguments"] == "{}"
    assert tool["content"] == "(no output)"


def test_a_model_that_cannot_see_is_told_of_pictures() -> None:
    [message] = to_wire(
        [UserMessage(id="u", text="look", images=(PICTURE,))], Dialect(vision=False), tools=True
    )
    assert [part["type"] for part in message["content"]] == ["text", "text"]


def test_ids_of_other_providers_are_made_to_fit() -> None:
    claude, mistral = Dialect(provider="anthropic", claude=True), Dialect(provider="mistral")
    assert call_id("call_1/a=b", claude) == "call_1_a_b"
    assert call_id("abcDEF123", mistral) == "abcDEF123"
    assert len(call_id("call_000001", mistral)) == 9
    assert call_id("call_000001", mistral) == call_id("call_000001", mistral)
    assert call_id("call_1/a=b", Dialect()) == "call_1/a=b"


def test_calls_and_results_still_agree_after_that() -> None:
    history = [
        AssistantMessage(id="m", tool_calls=(ToolCall(id="x/1", name="todo", arguments="{}"),)),
        ToolMessage(id="t", call_id="x/1", name="todo", text="done"),
    ]
    for dialect in (Dialect(provider="mistral"), Dialect(provider="anthropic", claude=True)):
        assistant, tool = to_wire(history, dialect, tools=True)
        assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"]


def test_reasoning_goes_back_only_to_those_who_want_it() -> None:
    said = AssistantMessage(id="m", text="x", reasoning="hm")
    assert "reasoning_content" not in to_wire([said], Dialect(), tools=True)[0]
    assert to_wire([said], Dialect(provider="deepseek"), tools=True)[0]["reasoning_content"] == "hm"


def test_a_conversation_of_one_turn_is_marked_once_each() -> None:
    wire = to_wire(
        [SystemMessage(text="s"), UserMessage(id="u", text="x", images=(PICTURE,))],
        Dialect(provider="anthropic", claude=True),
        tools=True,
    )
    assert [sum("cache_control" in part for part in message["content"]) for message in wire] == [1, 1]
    assert "cache_control" in wire[1]["content"][-1]
