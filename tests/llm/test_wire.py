"""Whole conversations with each kind of provider, over the wire."""

import json
from typing import Any

import pytest

from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    Message,
    ReasoningDelta,
    SystemMessage,
    TextDelta,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.support.model_server import Call, ModelServer, Tokens, call
from tests.support.model_wire import Wire
from tests.support.talk import Talk

WIRES: tuple[Wire, ...] = ("openai", "anthropic", "ollama")
EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)

HISTORY: tuple[Message, ...] = (
    SystemMessage(text="Be brief."),
    UserMessage(id="u1", text="What is in a.py?"),
    AssistantMessage(
        id="m1",
        text="Let me look.",
        reasoning="I should look.",
        reasoning_blocks=({"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},),
        tool_calls=(
            ToolCall(id="call_1", name="read_file", arguments='{"path": "a.py"}'),
            ToolCall(id="call_2", name="read_file", arguments='{"path": "b.py"}'),
        ),
        finish="tool_calls",
    ),
    ToolMessage(id="t1", call_id="call_1", name="read_file", text="print(1)"),
    ToolMessage(id="t2", call_id="call_2", name="read_file", text=""),
)
PICTURE = Image(media_type="image/png", data="iVBORw0KGgo=")


@EVERY_WIRE
async def test_an_answer_is_streamed_and_then_whole(talk: Talk, wire: Wire) -> None:
    talk.server.reply(["Hel", "lo."], reasoning="Let me think.", usage=Tokens(900, 12, cached=800))
    answer = await talk.ask(wire)
    text = [item.text for item in talk.items if isinstance(item, TextDelta)]
    thought = [item.text for item in talk.items if isinstance(item, ReasoningDelta)]
    assert (text, "".join(thought)) == (["Hel", "lo."], "Let me think.")
    assert (answer.text, answer.reasoning, answer.finish) == ("Hello.", "Let me think.", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.estimated) == (900, 12, False)
    assert answer.model == talk.server.model(wire)
    if wire != "ollama":
        assert answer.usage.cached_tokens == 800
        assert answer.usage.cost_usd
        assert answer.usage.cost_usd < 0.01


@EVERY_WIRE
async def test_calls_come_whole_and_in_order(talk: Talk, wire: Wire) -> None:
    talk.server.reply("Reading.", calls=[call("read_file", path="a.py"), call("todo")])
    answer = await talk.ask(wire)
    assert answer.finish == "tool_calls"
    assert [(item.name, json.loads(item.arguments or "{}")) for item in answer.tool_calls] == [
        ("read_file", {"path": "a.py"}),
        ("todo", {}),
    ]
    assert len({item.id for item in answer.tool_calls}) == 2
    assert talk.server.requests[0].tools == ["read_file", "todo"]


@EVERY_WIRE
async def test_a_conversation_with_tools_goes_back_as_the_provider_wants_it(talk: Talk, wire: Wire) -> None:
    talk.server.reply("Done.")
    await talk.ask(wire, HISTORY)
    sent = talk.server.requests[0].json
    messages = sent["messages"]
    if wire == "anthropic":
        assert sent["system"][0]["text"] == "Be brief."
        thinking, text, *uses = messages[1]["content"]
        assert thinking == {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"}
        assert text["text"] == "Let me look."
        assert [(use["id"], use["input"]) for use in uses] == [
            ("call_1", {"path": "a.py"}),
            ("call_2", {"path": "b.py"}),
        ]
        results = messages[2]["content"]
        assert [result["tool_use_id"] for result in results] == ["call_1", "call_2"]
        return
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert "thinking_blocks" not in messages[2]
    names = [item["function"]["name"] for item in messages[2]["tool_calls"]]
    assert names == ["read_file", "read_file"]
    assert messages[3]["content"] == "print(1)"


@EVERY_WIRE
async def test_a_history_with_calls_can_be_summed_up_without_tools(talk: Talk, wire: Wire) -> None:
    talk.server.reply("A summary.")
    await talk.ask(wire, HISTORY, tools=())
    sent = talk.server.requests[0]
    assert not sent.json.get("tools")
    body = json.dumps(sent.messages)
    assert "tool_calls" not in body
    assert "tool_use" not in body
    assert "a.py" in body
    assert "print(1)" in body


@EVERY_WIRE
async def test_pictures_reach_a_model_that_can_see(talk: Talk, wire: Wire) -> None:
    talk.server.reply("A cat.")
    await talk.ask(wire, [UserMessage(id="1", text="What is this?", images=(PICTURE,))])
    assert PICTURE.data in json.dumps(talk.server.requests[0].messages)


@EVERY_WIRE
async def test_pictures_of_tools_come_after_all_results(talk: Talk, wire: Wire) -> None:
    talk.server.reply("A cat.")
    shown = ToolMessage(id="t1", call_id="call_1", name="read_file", text="a picture", images=(PICTURE,))
    await talk.ask(wire, [*HISTORY[:3], shown, HISTORY[4]])
    messages = talk.server.requests[0].messages
    assert PICTURE.data in json.dumps(messages)
    if wire != "anthropic":
        assert [message["role"] for message in messages][-3:] == ["tool", "tool", "user"]


def _marks(value: Any) -> int:
    return json.dumps(value).count('"cache_control"')


async def test_anthropic_caches_the_system_prompt_and_the_last_two_turns(talk: Talk) -> None:
    for _ in range(2):
        talk.server.reply("Yes.")
    await talk.ask("anthropic", HISTORY)
    await talk.ask(
        "anthropic", [*HISTORY, AssistantMessage(id="m2", text="Yes."), UserMessage(id="u2", text="So?")]
    )
    first, second = (request.json for request in talk.server.requests)
    assert _marks(first["system"]) == 1
    assert [_marks(message) for message in first["messages"]] == [1, 0, 1]
    assert [_marks(message) for message in second["messages"]] == [0, 0, 1, 0, 1]
    # what was cached is sent again without a change, or nothing of it is read from the cache
    assert first["tools"] == second["tools"]
    strip = json.dumps(first["messages"][1:]).replace(', "cache_control": {"type": "ephemeral"}', "")
    assert strip == json.dumps(second["messages"][1:3]).replace(
        ', "cache_control": {"type": "ephemeral"}', ""
    )


async def test_others_get_no_cache_marks(talk: Talk) -> None:
    talk.server.reply("Yes.")
    await talk.ask("openai", HISTORY)
    assert _marks(talk.server.requests[0].json) == 0


async def test_signed_thinking_is_kept_to_be_sent_back(talk: Talk) -> None:
    talk.server.reply("Hi.", reasoning="A long thought.", signature="c2lnMQ==", calls=[call("todo")])
    answer = await talk.ask("anthropic")
    assert answer.reasoning_blocks == (
        {"type": "thinking", "thinking": "A long thought.", "signature": "c2lnMQ=="},
    )


async def test_arguments_that_were_invalid_do_not_make_the_next_request_fail(talk: Talk) -> None:
    broken = AssistantMessage(
        id="m", tool_calls=(ToolCall(id="c", name="read_file", arguments='{"path": "a'),), finish="length"
    )
    result = ToolMessage(id="t", call_id="c", name="read_file", text="not JSON", status="failed")
    for wire in WIRES:
        talk.server.reply("Again.")
        assert (await talk.ask(wire, [UserMessage(id="u", text="x"), broken, result])).text == "Again."


async def test_settings_reach_the_provider(talk: Talk) -> None:
    talk.server.reply("x")
    await talk.ask("openai", temperature=0.5, top_p=0.9, max_tokens=77, extra={"seed": 5})
    sent = talk.server.requests[0]
    assert {name: sent.json[name] for name in ("temperature", "top_p", "max_tokens", "seed")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 77,
        "seed": 5,
    }
    assert sent.headers["authorization"] == "Bearer key-of-the-user-1234"


async def test_a_server_that_wants_no_key_is_asked_without(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    talk.server.reply("x")
    assert (await talk.ask("openai", api_key=None)).text == "x"


async def test_usage_that_nobody_told_is_marked_as_estimated(talk: Talk) -> None:
    talk.server.reply("Hello there.", usage=None)
    usage = (await talk.ask("openai")).usage
    assert usage.estimated
    assert usage.input_tokens > 10
    assert usage.output_tokens > 1


async def test_ollama_gets_a_window_that_holds_our_prompt(talk: Talk) -> None:
    talk.server.reply("x").reply("y")
    await talk.ask("ollama")
    await talk.ask("ollama", extra={"num_ctx": 4096})
    first, second = (request.json["options"]["num_ctx"] for request in talk.server.requests)
    assert (first, second) == (16_384, 4096)
    assert {request.path for request in talk.server.all_requests} == {"/api/chat"}


async def test_servers_that_count_calls_wrongly_still_make_two_calls(talk: Talk, server: ModelServer) -> None:
    server.reply(calls=[Call(name="read_file", arguments={"path": p}, index=0) for p in ("a", "b")])
    server.reply(calls=[Call(name="read_file", arguments={"path": p}, id=None) for p in ("a", "b")])
    server.reply(calls=[Call(name="read_file", arguments={"path": p}, id=None, index=0) for p in ("a", "b")])
    server.reply(calls=[call("read_file", path="a"), call("read_file", path="b")], interleave=True, piece=2)
    for _ in range(4):
        calls = (await talk.ask("openai")).tool_calls
        assert [json.loads(item.arguments) for item in calls] == [{"path": "a"}, {"path": "b"}]
        assert len({item.id for item in calls}) == 2


async def test_a_call_cut_off_at_the_limit_is_given_as_it_is(talk: Talk) -> None:
    talk.server.reply(calls=[Call(name="read_file", arguments='{"path": "a')], finish="length")
    answer = await talk.ask("openai")
    assert (answer.finish, answer.tool_calls[0].arguments) == ("length", '{"path": "a')


async def test_a_call_that_a_small_model_wrote_as_text_is_a_call(talk: Talk) -> None:
    talk.server.reply('```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```')
    answer = await talk.ask("ollama")
    assert (answer.text, answer.finish) == ("", "tool_calls")
    assert [item.name for item in answer.tool_calls] == ["read_file"]


async def test_an_empty_answer_of_the_model_is_no_failure(talk: Talk) -> None:
    talk.server.reply("", usage=Tokens(10, 0))
    answer = await talk.ask("openai")
    assert (answer.text, answer.finish) == ("", "stop")
