"""A session must always be able to go on: every history can be sent to every provider."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from magent_lsp.engine.history import CUT_OFF, INTERRUPTED, normalise
from tests.support.histories import HISTORIES

# --- independent checkers, written from the providers' error messages -----------------------------------


def openai_problems(messages: list[Message]) -> list[str]:
    """What OpenAI's chat completions would refuse."""
    problems: list[str] = []
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.call_id not in waiting:
                problems.append(f"{at}: tool message answers no preceding call {message.call_id!r}")
            else:
                waiting.remove(message.call_id)
            continue
        if waiting:
            problems.append(f"{at}: calls {waiting} are not answered by tool messages")
        waiting = []
        if isinstance(message, SystemMessage) and at:
            problems.append(f"{at}: system prompt is not first")
        if isinstance(message, AssistantMessage):
            if not message.text and not message.tool_calls:
                problems.append(f"{at}: assistant has neither content nor tool calls")
            waiting = [call.id for call in message.tool_calls]
            if len(set(waiting)) != len(waiting):
                problems.append(f"{at}: ids of calls are not unique")
            for call in message.tool_calls:
                if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call.name):
                    problems.append(f"{at}: function name {call.name!r}")
                if not 1 <= len(call.id.partition("__thought__")[0]) <= 40:
                    problems.append(f"{at}: id of {len(call.id)} characters")
    if waiting:
        problems.append(f"end: calls {waiting} are not answered")
    return problems


def anthropic_blocks(message: Message) -> tuple[str, list[dict[str, Any]]]:
    """Role and content blocks of one message, as adapters make them."""
    match message:
        case UserMessage():
            blocks: list[dict[str, Any]] = [{"type": "image"}] * len(message.images)
            if message.text or not message.images:
                blocks.append({"type": "text", "text": message.text})
            return "user", blocks
        case ToolMessage():
            return "user", [{"type": "tool_result", "id": message.call_id.partition("__thought__")[0]}]
        case AssistantMessage():
            blocks = (
                [{"type": "text", "text": message.text}] if message.text or not message.tool_calls else []
            )
            for call in message.tool_calls:
                plain = call.id.partition("__thought__")[0]
                blocks.append({"type": "tool_use", "id": plain, "input": json.loads(call.arguments)})
            return "assistant", blocks
    return "system", []


def anthropic_problems(messages: list[Message]) -> list[str]:
    """What Anthropic's messages API would refuse; turns of one role are joined as it joins them."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for role, blocks in map(anthropic_blocks, messages):
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif role != "system":
            turns.append((role, list(blocks)))
    problems = ["first message must use the user role"] if turns and turns[0][0] != "user" else []
    seen: set[str] = set()
    for at, (_, blocks) in enumerate(turns):
        after = turns[at + 1][1] if at + 1 < len(turns) else []
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            problems.append("text content blocks must contain non-whitespace text")
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not all(isinstance(block["input"], dict) for block in blocks if "input" in block):
            problems.append("input should be a valid dictionary")
        if len(set(uses)) != len(uses) or seen & set(uses):
            problems.append(f"tool_use ids must be unique: {uses}")
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]+", use) for use in uses):
            problems.append(f"tool_use ids with bad characters: {uses}")
        seen |= set(uses)
        results = [block["id"] for block in after[: len(uses)] if block["type"] == "tool_result"]
        if sorted(results) != sorted(uses):
            problems.append(f"tool_use {uses} without tool_result first in the next turn: {results}")
    return problems


def check(messages: list[Message]) -> None:
    assert openai_problems(messages) == []
    assert anthropic_problems(messages) == []
    ids = [m.id for m in messages if not isinstance(m, SystemMessage)]
    assert len(set(ids)) == len(ids)
    repr(messages).encode()
    for message in messages:
        message.text.encode()  # what an HTTP client does
        for call in getattr(message, "tool_calls", ()):
            json.dumps(json.loads(call.arguments), ensure_ascii=False).encode()


@settings(max_examples=400)
@given(HISTORIES)
def test_every_history_can_be_sent(history: list[Message]) -> None:
    check(normalise(history))


@settings(max_examples=400)
@given(HISTORIES)
def test_mending_twice_is_mending_once(history: list[Message]) -> None:
    once = normalise(history)
    assert normalise(once) == once


@settings(max_examples=200)
@given(HISTORIES)
def test_the_input_is_not_changed_and_the_answer_is_always_the_same(history: list[Message]) -> None:
    copy = list(history)
    assert normalise(history) == normalise(tuple(history))
    assert history == copy


@settings(max_examples=200)
@given(HISTORIES, HISTORIES)
def test_a_grown_history_keeps_its_beginning(first: list[Message], more: list[Message]) -> None:
    """The provider's prompt cache holds, or every turn is paid for in full."""
    start = normalise(first)
    grown = normalise([*start, *(m for m in more if not isinstance(m, ToolMessage))])
    assert grown[: len(start)] == start


@settings(max_examples=200)
@given(HISTORIES)
def test_what_people_and_models_said_stays(history: list[Message]) -> None:
    def said(messages: list[Message]) -> list[str]:
        return [
            m.text.replace("\ud800", "\ufffd")
            for n, m in enumerate(messages)
            if isinstance(m, UserMessage | AssistantMessage)
            and m.text.strip()
            and not m.text.startswith("(The beginning")
            and m not in messages[:n]
        ]

    wanted = said([m for m in history])
    found = said(normalise(history))
    assert sorted(set(wanted)) == sorted(set(found))


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Message]:
    """What an undisturbed session looks like."""
    history: list[Message] = []
    for turn in range(draw(st.integers(0, 5))):
        history.append(UserMessage(id=f"u{turn}", text="do it"))
        for step in range(draw(st.integers(0, 3))):
            calls = tuple(
                ToolCall(id=f"c{turn}-{step}-{n}", name="bash", arguments='{"command": "ls"}')
                for n in range(draw(st.integers(1, 3)))
            )
            history.append(AssistantMessage(id=f"a{turn}-{step}", tool_calls=calls, finish="tool_calls"))
            history += (ToolMessage(id=f"r-{c.id}", call_id=c.id, name="bash", text="ok") for c in calls)
        history.append(AssistantMessage(id=f"a{turn}", text="done"))
    return history


@given(valid_histories(), st.integers(0, 40))
def test_a_valid_history_is_left_alone_and_a_cut_one_keeps_what_it_had(
    history: list[Message], at: int
) -> None:
    assert normalise(history) == history
    cut = normalise(history[:at])
    check(cut)
    assert cut[: len(history[:at])] == history[:at]


# --- cases ----------------------------------------------------------------------------------------------


def user(text: str = "go", id: str = "u") -> UserMessage:
    return UserMessage(id=id, text=text)


def asks(*calls: tuple[str, str], id: str = "a", finish: Any = "tool_calls") -> AssistantMessage:
    made = tuple(ToolCall(id=call_id, name=name, arguments="{}") for call_id, name in calls)
    return AssistantMessage(id=id, tool_calls=made, finish=finish)


def result(call_id: str, text: str = "ok", name: str = "bash", id: str = "") -> ToolMessage:
    return ToolMessage(id=id or f"r-{call_id}-{text}", call_id=call_id, name=name, text=text)


def test_a_cancelled_batch_gets_the_missing_results_and_keeps_the_others() -> None:
    history = normalise([user(), asks(("1", "bash"), ("2", "bash"), ("3", "bash")), result("2", "two")])
    assert [(m.call_id, m.text, m.status) for m in history[2:] if isinstance(m, ToolMessage)] == [
        ("1", INTERRUPTED, "cancelled"),
        ("2", "two", "completed"),
        ("3", INTERRUPTED, "cancelled"),
    ]


def test_an_added_result_takes_nobodys_id() -> None:
    history = normalise([user(), asks(("1", "bash")), user("next", "a-1")])
    check(history)
    assert history[-1] == user("next", "a-1")
    assert normalise(history) == history


def test_a_cut_call_is_said_to_have_changed_nothing() -> None:
    call = ToolCall(id="1", name="write_file", arguments='{"path": "a.py", "content": "impo')
    history = normalise([user(), AssistantMessage(id="a", tool_calls=(call,), finish="length")])
    assert history[1].tool_calls[0].arguments == "{}"  # type: ignore[union-attr]
    assert history[2].text == CUT_OFF


def test_steering_between_call_and_result_moves_behind_the_results() -> None:
    history = normalise(
        [user(), asks(("1", "bash"), ("2", "bash")), result("2"), user("stop", "s"), result("1")]
    )
    assert [type(m).__name__ for m in history] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "ToolMessage",
        "UserMessage",
    ]
    assert [m.call_id for m in history if isinstance(m, ToolMessage)] == ["1", "2"]


def test_servers_that_number_their_calls_anew_each_turn_get_the_right_results() -> None:
    history = normalise(
        [
            user(),
            asks(("call_0", "bash"), id="a1"),
            asks(("call_0", "bash"), id="a2"),
            result("call_0", "second"),
        ]
    )
    texts = {m.call_id: m.text for m in history if isinstance(m, ToolMessage)}
    assert texts == {"call_0": INTERRUPTED, "call_0-2": "second"}


def test_two_calls_of_one_reply_with_the_same_id_are_told_apart_by_name() -> None:
    history = normalise(
        [user(), asks(("x", "bash"), ("x", "grep")), result("x", "hit", "grep"), result("x", "ran", "bash")]
    )
    assert [(m.name, m.text) for m in history if isinstance(m, ToolMessage)] == [
        ("bash", "ran"),
        ("grep", "hit"),
    ]


def test_a_late_second_result_does_not_replace_what_the_model_was_told() -> None:
    history = normalise(
        [user(), asks(("1", "bash")), result("1", "first"), result("1", "second"), result("9")]
    )
    assert [m.text for m in history if isinstance(m, ToolMessage)] == ["first"]


def test_a_record_written_twice_counts_once() -> None:
    ask = asks(("1", "bash"))
    history = normalise([user(), user(), ask, ask, result("1"), result("1")])
    assert history == [user(), ask, result("1")]


def test_an_empty_turn_disappears_but_signed_thinking_stays_with_its_calls() -> None:
    blocks = ({"type": "thinking", "thinking": "…", "signature": "abc"},)
    thinking = AssistantMessage(
        id="a", reasoning_blocks=blocks, tool_calls=(ToolCall(id="1", name="bash", arguments="{}"),)
    )
    history = normalise([user(), AssistantMessage(id="e"), thinking, result("1")])
    assert history == [user(), thinking, result("1")]


def test_the_thought_signature_in_a_call_id_survives() -> None:
    history = normalise(
        [user(), asks(("call_1__thought__A+/b==", "bash")), result("call_1__thought__A+/b==")]
    )
    assert history[1].tool_calls[0].id == "call_1__thought__A+/b=="  # type: ignore[union-attr]
    assert history[2].call_id == "call_1__thought__A+/b=="  # type: ignore[union-attr]


def test_a_history_that_begins_in_the_middle_begins_with_a_user() -> None:
    history = normalise([SystemMessage(text="be kind"), result("0"), asks(("1", "bash")), result("1")])
    assert isinstance(history[0], SystemMessage)
    assert isinstance(history[1], UserMessage)
    assert history[1].synthetic
    check(history)


def test_nothing_stays_nothing() -> None:
    assert normalise([]) == []
    assert normalise([AssistantMessage(id="a")]) == []


def test_a_long_session_is_mended_throughout() -> None:
    history: list[Message] = []
    for n in range(2_500):
        history += [user(id=f"u{n}"), asks(("call_0", "bash"), id=f"a{n}"), result("call_0", id=f"r{n}")]
        history.append(AssistantMessage(id=f"t{n}", text="done"))
    mended = normalise(history)
    assert len(mended) == 10_000
    check(mended)
