"""A guest's run: calls are handed on as they come, and whatever happens each has one answer."""

import asyncio

import pytest

from magent_lsp.core.messages import ToolMessage
from magent_lsp.engine.guest import Guest, GuestCall


def a_call(name: str = "read_file") -> GuestCall:
    return GuestCall(id=name, name=name, arguments="{}", answer=asyncio.get_running_loop().create_future())


def message(call: GuestCall) -> ToolMessage:
    return ToolMessage(id="m", call_id=call.id, name=call.name, text="done")


async def test_silence_ends_it_and_then_it_takes_no_more() -> None:
    guest = Guest("x", patience=0.01)
    call = a_call()
    assert guest.offer(call)
    assert await guest.next() is call
    call.give(message(call))
    assert await guest.next() is None
    assert not guest.offer(a_call())


async def test_it_does_not_end_while_a_call_is_at_work() -> None:
    guest = Guest("x", patience=0.01)
    slow, late = a_call("slow"), a_call("late")
    guest.offer(slow)
    assert await guest.next() is slow
    waiting = asyncio.create_task(guest.next())
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done
    guest.offer(late)
    assert await waiting is late
    for call in (slow, late):
        call.give(message(call))
    assert await guest.next() is None


async def test_a_call_that_nobody_wants_any_more_is_not_begun() -> None:
    guest = Guest("x", patience=0.01)
    gone, wanted = a_call("gone"), a_call("wanted")
    guest.offer(gone)
    guest.offer(wanted)
    gone.answer.cancel()
    assert await guest.next() is wanted


async def test_one_who_leaves_is_not_waited_for() -> None:
    guest = Guest("x", patience=60)
    call = a_call()
    guest.offer(call)
    assert await guest.next() is call
    waiting = asyncio.create_task(guest.next())
    await asyncio.sleep(0)
    guest.leave()
    call.answer.cancel()
    async with asyncio.timeout(20):
        assert await waiting is None


async def test_a_run_has_an_end_however_many_calls_come() -> None:
    guest = Guest("x", patience=60, most=2)
    calls = [a_call(str(n)) for n in range(3)]
    assert [guest.offer(call) for call in calls] == [True, True, False]
    for call in calls[:2]:
        assert await guest.next() is call
        call.give(message(call))
    async with asyncio.timeout(20):
        assert await guest.next() is None


@pytest.mark.parametrize("begun", [False, True])
async def test_what_is_left_over_is_answered_in_words(begun: bool) -> None:
    guest = Guest("x")
    call = a_call()
    guest.offer(call)
    if begun:
        assert await guest.next() is call
        call.left = "It is half done."
    guest.dismiss("The editor closed.")
    answer = await call.answer
    assert answer.text == ("It is half done." if begun else "Nothing was done.") + " The editor closed."
    assert answer.status == "cancelled"
    assert not guest.offer(a_call())


async def test_a_run_that_retires_gives_back_what_it_has_not_begun_and_ends_with_the_rest() -> None:
    guest = Guest("x", patience=60)
    calls = [a_call(name) for name in ("at work", "taken", "waiting", "unwanted")]
    for call in calls:
        guest.offer(call)
    assert guest.retire() == [], "its rules are read when it begins"
    guest.enter()
    at_work, taken, waiting, unwanted = calls
    assert await guest.next() is at_work
    assert guest.begin(at_work)
    assert await guest.next() is taken
    unwanted.answer.cancel()
    assert guest.retire() == [taken, waiting]
    assert not guest.begin(taken), "another run will"
    assert not guest.offer(a_call())
    end = asyncio.create_task(guest.next())
    await asyncio.sleep(0)
    at_work.give(message(at_work))
    async with asyncio.timeout(20):
        assert await end is None
    assert not guest.dismiss("It has ended.")
    assert not taken.answer.done()


async def test_an_idle_run_that_retires_ends_at_once() -> None:
    guest = Guest("x", patience=60)
    guest.enter()
    end = asyncio.create_task(guest.next())
    await asyncio.sleep(0)
    guest.retire()
    async with asyncio.timeout(20):
        assert await end is None
