"""Answers are put together whole, however a provider cuts them up."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.messages import AssistantMessage, ReasoningDelta, TextDelta, Usage
from magent_lsp.llm.stream import Assembly, CallDelta, Delta


def finished(*deltas: Delta, id: str = "m1") -> AssistantMessage:
    assembly = Assembly(id)
    for delta in deltas:
        assembly.feed(delta)
    message = assembly.finish(Usage())[-1]
    assert isinstance(message, AssistantMessage)
    return message


def calls(*pieces: CallDelta) -> list[tuple[str, str, str]]:
    message = finished(*[Delta(calls=[piece]) for piece in pieces], Delta(finish="tool_calls"))
    return [(call.id, call.name, call.arguments) for call in message.tool_calls]


def test_text_and_reasoning_are_shown_as_they_come_and_kept() -> None:
    assembly = Assembly("m1", model="openai/x")
    assert assembly.feed(Delta(reasoning="hm ")) == [ReasoningDelta(text="hm ")]
    assert assembly.feed(Delta(text="Hel", reasoning="")) == [TextDelta(text="Hel")]
    assert assembly.feed(Delta(text="lo", finish="stop")) == [TextDelta(text="lo")]
    [message] = assembly.finish(Usage(input_tokens=3))
    assert message == AssistantMessage(
        id="m1", text="Hello", reasoning="hm ", usage=Usage(input_tokens=3), model="openai/x"
    )


def test_no_text_and_empty_text_are_the_same_nothing() -> None:
    assert finished(Delta(text=None), Delta(text=""), Delta(finish="stop")).text == ""


def test_a_stream_that_never_said_why_it_ended_is_cut() -> None:
    assert finished(Delta(text="Hal")).finish == "cut"


@given(
    st.lists(
        st.tuples(st.sampled_from(["read_file", "bash", "grep"]), st.text(max_size=20)),
        min_size=1,
        max_size=5,
    ),
    st.randoms(use_true_random=False),
)
def test_interleaved_calls_in_any_pieces_come_out_whole(wanted, random) -> None:  # type: ignore[no-untyped-def]
    queues = []
    for index, (name, value) in enumerate(wanted):
        text = json.dumps({"value": value})
        cuts = sorted(random.sample(range(len(text)), k=random.randint(0, min(4, len(text)))))
        pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
        first = CallDelta(index=index, id=f"id{index}", name=name, arguments="")
        queues.append([first, *[CallDelta(index=index, arguments=piece) for piece in pieces]])
    sent = []
    # calls begin in order, as they do on the wire; what follows is mixed
    begun = 0
    while any(queues):
        place = random.choice([i for i, queue in enumerate(queues) if queue and i <= begun])
        begun = max(begun, place + 1)
        sent.append(queues[place].pop(0))
    expected = [(f"id{i}", name, json.dumps({"value": value})) for i, (name, value) in enumerate(wanted)]
    assert calls(*sent) == expected


def test_two_calls_with_the_same_index_and_two_ids_are_two_calls() -> None:
    assert calls(
        CallDelta(index=0, id="a", name="read_file", arguments='{"path":'),
        CallDelta(index=0, arguments=' "x"}'),
        CallDelta(index=0, id="b", name="read_file", arguments='{"path": "y"}'),
    ) == [("a", "read_file", '{"path": "x"}'), ("b", "read_file", '{"path": "y"}')]


def test_a_name_after_arguments_begins_a_new_call_even_without_ids() -> None:
    assert [
        call[1:]
        for call in calls(
            CallDelta(index=0, name="read_file", arguments='{"path": "x"}'),
            CallDelta(index=0, name="read_file", arguments='{"path": "y"}'),
        )
    ] == [("read_file", '{"path": "x"}'), ("read_file", '{"path": "y"}')]


def test_an_id_and_name_repeated_in_each_piece_are_one_call() -> None:
    assert calls(
        CallDelta(index=0, id="a", name="read_file", arguments='{"path":'),
        CallDelta(index=0, id="a", name="read_file", arguments=' "x"}'),
    ) == [("a", "read_file", '{"path": "x"}')]


def test_calls_without_index_follow_their_id_or_the_last_call() -> None:
    assert calls(
        CallDelta(id="a", name="read_file", arguments='{"path":'),
        CallDelta(arguments=' "x"}'),
        CallDelta(id="b", name="todo", arguments="{}"),
    ) == [("a", "read_file", '{"path": "x"}'), ("b", "todo", "{}")]


def test_missing_ids_are_made_up_and_stay_the_same() -> None:
    pieces = [CallDelta(index=0, name="a", arguments="{}"), CallDelta(index=1, name="b", arguments="{}")]
    first, second = calls(*pieces), calls(*pieces)
    assert first == second
    assert len({id for id, _, _ in first}) == 2
    assert all(id for id, _, _ in first)


def test_two_calls_with_the_same_id_get_two_ids_so_that_each_has_its_result() -> None:
    message = finished(
        Delta(calls=[CallDelta(index=0, id="x", name="a", arguments="{}")]),
        Delta(calls=[CallDelta(index=1, id="x", name="b", arguments="{}")]),
        Delta(finish="tool_calls"),
    )
    assert len({call.id for call in message.tool_calls}) == 2


def test_cut_off_arguments_are_left_as_they_are() -> None:
    message = finished(
        Delta(calls=[CallDelta(index=0, id="a", name="bash", arguments='{"command": "rm -rf /tmp/a')]),
        Delta(finish="length"),
    )
    assert message.finish == "length"
    assert message.tool_calls[0].arguments == '{"command": "rm -rf /tmp/a'


def test_the_reason_agrees_with_what_came() -> None:
    call = Delta(calls=[CallDelta(index=0, id="a", name="x", arguments="{}")])
    assert finished(call, Delta(finish="stop")).finish == "tool_calls"
    assert finished(Delta(text="t", finish="tool_calls")).finish == "stop"


def test_thinking_blocks_are_kept_with_their_signatures() -> None:
    message = finished(
        Delta(reasoning="I ", blocks=[{"type": "thinking", "thinking": "I ", "index": 0}]),
        Delta(reasoning="think", blocks=[{"type": "thinking", "thinking": "think", "index": 0}]),
        Delta(blocks=[{"type": "thinking", "thinking": "", "signature": "sig1", "index": 0}]),
        Delta(blocks=[{"type": "redacted_thinking", "data": "xyz", "index": 1}]),
        Delta(blocks=[{"type": "thinking", "thinking": "more", "index": 2}]),
        Delta(blocks=[{"type": "thinking", "thinking": "", "signature": "sig2", "index": 2}]),
        Delta(text="done", finish="stop"),
    )
    assert message.reasoning_blocks == (
        {"type": "thinking", "thinking": "I think", "signature": "sig1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "more", "signature": "sig2"},
    )


def test_blocks_are_told_apart_where_the_provider_numbers_them_all_alike() -> None:
    message = finished(
        Delta(blocks=[{"type": "thinking", "thinking": "one", "signature": "s1"}]),
        Delta(blocks=[{"type": "thinking", "thinking": "two", "signature": "s2"}]),
        Delta(finish="stop"),
    )
    assert [block["thinking"] for block in message.reasoning_blocks] == ["one", "two"]


def test_a_block_without_signature_is_not_sent_back() -> None:
    assert (
        finished(Delta(blocks=[{"type": "thinking", "thinking": "x"}], finish="stop")).reasoning_blocks == ()
    )
