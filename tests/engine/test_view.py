"""What the model is told of a session: only the news cost anything, and no secret is in it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from magent_lsp.core.redact import MASK, Redactor
from magent_lsp.engine.history import normalise
from magent_lsp.engine.size import size_of
from magent_lsp.engine.view import SLICE, View
from tests.support.histories import HISTORIES

SECRET = "sk-secret-value-1234"
NOTHING = Redactor()


class Counting(Redactor):
    """Counts the texts that are looked at."""

    looked = 0

    def text(self, text: str) -> str:
        self.looked += 1
        return super().text(text)


def turns(first: int, last: int) -> list[Message]:
    """Turns with a call each."""
    made: list[Message] = []
    for n in range(first, last):
        call = ToolCall(id=f"c{n}", name="bash", arguments='{"command": "ls"}')
        made.append(UserMessage(id=f"u{n}", text="look"))
        made.append(AssistantMessage(id=f"a{n}", text="I do.", tool_calls=(call,)))
        made.append(ToolMessage(id=f"t{n}", call_id=call.id, name="bash", text="found"))
    return made


@settings(max_examples=150)
@given(st.lists(HISTORIES, max_size=4))
def test_a_session_that_grew_is_told_as_one_that_is_read_at_once(parts: Sequence[list[Message]]) -> None:
    async def grow() -> None:
        view, said = View(), list[Message]()
        for part in parts:
            said += part
            assert await view.follow(said, NOTHING) == normalise(said)

    run(grow())


@settings(max_examples=100)
@given(HISTORIES, HISTORIES)
def test_a_session_that_was_shortened_is_told_as_it_is_now(long: list[Message], short: list[Message]) -> None:
    async def shorten() -> None:
        view, said = View(), list(long)
        await view.follow(said, NOTHING)
        said[:] = [*short, *said[-2:]]
        assert await view.follow(said, NOTHING) == normalise(said)

    run(shorten())


async def test_a_turn_of_a_long_session_costs_what_the_turn_holds() -> None:
    """Each prompt would hold up the editor for the longer the longer one has talked."""
    redactor, view, said = Counting([SECRET]), View(), turns(0, 10 * SLICE)
    await view.follow(said, redactor)
    whole, redactor.looked = redactor.looked, 0
    said += turns(10 * SLICE, 10 * SLICE + 1)
    told = await view.follow(said, redactor)
    assert told == said
    assert 0 < redactor.looked <= whole // (10 * SLICE)
    assert view.size == size_of(said)


async def test_the_loop_has_its_turn_while_a_long_session_is_read() -> None:
    said = turns(0, 10 * SLICE)
    told = asyncio.create_task(View().follow(said, NOTHING))
    turns_of_others = 0
    while not told.done():
        await asyncio.sleep(0)
        turns_of_others += 1
    assert turns_of_others >= len(said) // SLICE
    assert await told == said


async def test_what_is_said_while_a_long_session_is_read_is_told_too() -> None:
    said = turns(0, 3 * SLICE)
    told = asyncio.create_task(View().follow(said, NOTHING))
    await asyncio.sleep(0)
    said.append(UserMessage(id="late", text="and this"))
    assert await told == said


def speaking(secret: str, **more: Any) -> list[Message]:
    """A turn in which the model names a secret wherever it can."""
    call = ToolCall(id="c", name="bash", arguments=f'{{"command": "echo {secret}"}}')
    return [
        UserMessage(id="u", text="what is the key?"),
        AssistantMessage(id="a", text=f"It is {secret}.", reasoning=secret, tool_calls=(call,), **more),
        ToolMessage(id="t", call_id="c", name="bash", text=secret),
    ]


async def test_what_the_model_said_goes_back_to_it_without_secrets_and_with_its_pairs() -> None:
    said = speaking(SECRET)
    told = await View().follow(said, Redactor([SECRET]))
    assert told == normalise(speaking(MASK))
    assert SECRET in repr(said), "the session itself stays as it was said"


async def test_a_secret_that_becomes_known_later_is_taken_out_of_what_was_said_before() -> None:
    view, said = View(), speaking(SECRET)
    assert SECRET in repr(await view.follow(said, Redactor(["another-secret-1"])))
    assert SECRET not in repr(await view.follow(said, Redactor(["another-secret-1", SECRET])))


async def test_signed_thinking_with_a_secret_is_left_out_as_it_cannot_be_changed() -> None:
    signed = {"type": "thinking", "thinking": f"the key is {SECRET}", "signature": "abc"}
    plain = {"type": "thinking", "thinking": "the key is known", "signature": "abc"}
    for block, kept in ((signed, ()), (plain, (plain,))):
        told = await View().follow(speaking(SECRET, reasoning_blocks=(block,)), Redactor([SECRET]))
        assert isinstance(told[1], AssistantMessage)
        assert told[1].reasoning_blocks == kept


def run(work: Any) -> None:
    """For tests whose data come from hypothesis."""
    asyncio.run(work)
