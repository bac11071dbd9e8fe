"""Models and servers that cannot do everything: no tools, no streaming, thinking that broke off."""

import json
from typing import Any

import pytest

from magent_lsp.core.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from magent_lsp.llm.faults import Lacking, model_error
from tests.support.model_request import Request
from tests.support.model_server import Reply, call
from tests.support.model_wire import Wire
from tests.support.talk import Talk

NO_TOOLS = {
    "openai": "tools is not supported in this model. For a list of supported models, see the docs.",
    "anthropic": "this model does not support tool use",
    "ollama": "registry.ollama.ai/library/gemma:2b does not support tools",
}
WRITTEN = '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```'
HISTORY = [
    SystemMessage(text="Be short."),
    UserMessage(id="u", text="look"),
    AssistantMessage(id="a", tool_calls=(ToolCall(id="c", name="read_file", arguments='{"path": "a.py"}'),)),
    ToolMessage(id="t", call_id="c", name="read_file", text="x = 1"),
]


def refusing(field: str, message: str, answer: Reply) -> Any:
    """A server that refuses a request with that field, and answers any other."""

    def respond(request: Request) -> Reply:
        return Reply(fault="status", status=400, message=message) if request.json.get(field) else answer

    return respond


@pytest.mark.parametrize("wire", ["openai", "anthropic", "ollama"])
async def test_a_model_without_tools_is_told_of_them_and_writes_its_calls(talk: Talk, wire: Wire) -> None:
    talk.server.respond = refusing("tools", NO_TOOLS[wire], Reply(text=WRITTEN))
    answer = await talk.ask(wire, [SystemMessage(text="Be short."), UserMessage(id="u", text="look")])
    assert [(each.name, json.loads(each.arguments)) for each in answer.tool_calls] == [
        ("read_file", {"path": "a.py"})
    ]
    told = json.dumps(talk.server.requests[1].json)
    assert "Be short." in told
    assert "Read a file." in told
    assert not talk.server.requests[1].tools


async def test_what_a_model_lacks_is_found_out_once(talk: Talk) -> None:
    talk.server.respond = refusing("tools", NO_TOOLS["openai"], Reply(text="ok"))
    await talk.ask("openai")
    await talk.ask("openai", HISTORY)
    first, second, third = talk.server.requests
    assert [bool(request.tools) for request in (first, second, third)] == [True, False, False]
    assert '{"name": "read_file", "arguments": {"path": "a.py"}}' in str(third.messages[2]["content"])
    assert "x = 1" in third.last


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_server_that_sends_the_whole_answer_at_once_is_understood(talk: Talk, wire: Wire) -> None:
    for _ in range(2):
        talk.server.reply("It says hello.", calls=[call("read_file", path="a.py")], plain=True)
    answer = await talk.ask(wire)
    assert answer.text == "It says hello."
    assert [each.name for each in answer.tool_calls] == ["read_file"]
    assert (answer.usage.input_tokens, answer.usage.estimated) == (100, False)
    assert talk.server.requests[1].json.get("stream") in (None, False)


async def test_a_server_that_refuses_to_stream_is_asked_without(talk: Talk) -> None:
    talk.server.respond = refusing(
        "stream", "Streaming is not supported by this deployment.", Reply(text="whole")
    )
    assert (await talk.ask("openai")).text == "whole"
    assert (await talk.ask("openai")).text == "whole"
    assert [bool(request.json.get("stream")) for request in talk.server.requests] == [True, False, False]


async def test_a_person_can_switch_streaming_off(talk: Talk) -> None:
    talk.server.reply("whole", reasoning="A thought.", signature="c2ln")
    answer = await talk.ask("anthropic", extra={"stream": False})
    assert (answer.text, answer.reasoning) == ("whole", "A thought.")
    assert answer.reasoning_blocks[0]["signature"] == "c2ln"


async def test_a_server_that_cannot_do_it_either_way_ends_with_its_words(talk: Talk) -> None:
    talk.server.respond = lambda request: Reply(fault="status", status=400, message=NO_TOOLS["ollama"])
    with pytest.raises(Lacking, match="does not support tools"):
        await talk.ask("openai")
    assert len(talk.server.requests) == 2


THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


@pytest.mark.parametrize("kept", [True, False])
async def test_thinking_that_is_gone_is_not_asked_to_go_on(talk: Talk, kept: bool) -> None:
    """Claude refuses a request that thinks in the middle of a turn whose thinking is not there."""
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "c2ln"},)
    old = AssistantMessage(id="o", text="Hi.", reasoning_blocks=blocks, model="anthropic/claude-sonnet-4-5")
    asked = AssistantMessage(
        id="a",
        reasoning_blocks=blocks if kept else (),
        tool_calls=(ToolCall(id="c", name="read_file", arguments="{}"),),
        model="anthropic/claude-sonnet-4-5",
    )
    result = ToolMessage(id="t", call_id="c", name="read_file", text="x = 1")
    talk.server.reply("ok")
    history = [UserMessage(id="u", text="hi"), old, UserMessage(id="u2", text="look"), asked, result]
    await talk.ask("anthropic", history, extra=THINKING, max_tokens=4_000)
    sent = talk.server.requests[0].json
    kinds = [block["type"] for block in sent["messages"][3]["content"]]
    if kept:
        assert sent["thinking"]["type"] == "enabled"
        assert kinds == ["thinking", "tool_use"]
        assert sent["messages"][3]["content"][0]["signature"] == "c2ln"
    else:
        assert "thinking" not in sent
        assert kinds == ["tool_use"]
        assert "c2ln" not in json.dumps(sent["messages"])


async def test_thinking_that_another_model_signed_is_not_sent_to_claude(talk: Talk) -> None:
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "of-gemini"},)
    other = AssistantMessage(id="a", text="Hi.", reasoning_blocks=blocks, model="gemini/gemini-2.5-pro")
    talk.server.reply("ok")
    await talk.ask("anthropic", [UserMessage(id="u", text="hi"), other, UserMessage(id="v", text="so?")])
    assert "of-gemini" not in json.dumps(talk.server.requests[0].json)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x does not support parameters: ['tools'], for model=y.", "tools"),
        ("Function calling is not enabled for this model", "tools"),
        ("does not support streaming", "streaming"),
        ("Unsupported value: 'stream' does not support true with this model.", "streaming"),
        ("messages: tool_use ids must be unique", None),
        ("Invalid 'tools[0].function.name': string does not match pattern.", None),
        ("tools.3.input_schema: JSON schema is invalid", None),
    ],
)
def test_only_words_that_say_so_mean_that_something_is_lacking(text: str, what: str | None) -> None:
    error = model_error(ValueError(text), model="openai/x")
    assert (error.what if isinstance(error, Lacking) else None) == what
