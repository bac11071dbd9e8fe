"""Approvals: nobody's silence is a yes, and the first answer wins."""

import asyncio
from dataclasses import dataclass, field

import pytest

from magent_lsp.core.events import PermissionRequested, PermissionResolved, RunEvent
from magent_lsp.core.request import PermissionOption, PermissionReply, PermissionRequest
from magent_lsp.engine.gate import Gate

ONCE = PermissionReply(reply="allow_once")


@dataclass
class Person:
    """Someone in front of dialogs; each dialog waits for its answer."""

    shown: list[str] = field(default_factory=list)
    answers: dict[str, asyncio.Future[PermissionReply | None]] = field(default_factory=dict)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.shown.append(request.request_id)
        self.answers[request.request_id] = asyncio.get_running_loop().create_future()
        self.opened.set()
        return await self.answers[request.request_id]

    async def wait_for(self, request_id: str) -> "asyncio.Future[PermissionReply | None]":
        while request_id not in self.answers:
            self.opened.clear()
            await self.opened.wait()
        return self.answers[request_id]


def request(name: str, *replies: str) -> PermissionRequest:
    return PermissionRequest(
        request_id=name,
        run_id="run-1",
        session_id="s",
        tool_call_id="c",
        tool="bash",
        title="Run x",
        reason="asks",
        options=tuple(
            PermissionOption(reply=reply, title=reply)  # type: ignore[arg-type]
            for reply in replies or ("allow_once", "reject")
        ),
    )


async def test_one_dialog_at_a_time_and_all_are_pending() -> None:
    """Two questions never lie on top of each other, yet both can be answered by command."""
    person, events = Person(), list[RunEvent]()
    gate = Gate(person)  # type: ignore[arg-type]
    first = asyncio.create_task(gate.ask(request("a"), events.append))
    second = asyncio.create_task(gate.ask(request("b"), events.append))
    dialog = await person.wait_for("a")
    assert person.shown == ["a"]
    assert [each.request_id for each in gate.pending()] == ["a", "b"]
    assert gate.respond("b", ONCE)
    assert (await second).reply == "allow_once"
    dialog.set_result(ONCE)
    assert (await first).reply == "allow_once"
    assert person.shown == ["a"], "the answered question was never opened"
    assert gate.pending() == []


async def test_the_first_answer_wins_and_late_ones_are_ignored() -> None:
    person, events = Person(), list[RunEvent]()
    gate = Gate(person)  # type: ignore[arg-type]
    asking = asyncio.create_task(gate.ask(request("a"), events.append))
    dialog = await person.wait_for("a")
    assert gate.respond("a", PermissionReply(reply="reject"))
    dialog.set_result(ONCE)
    assert (await asking).reply == "reject"
    assert not gate.respond("a", ONCE)
    assert not gate.respond("unknown", ONCE)
    kinds = [type(event) for event in events]
    assert kinds == [PermissionRequested, PermissionResolved]


@pytest.mark.parametrize("failure", [RuntimeError("connection closed"), OSError("gone")])
async def test_a_dialog_that_fails_is_a_reject(failure: Exception) -> None:
    person = Person()
    gate = Gate(person)  # type: ignore[arg-type]
    asking = asyncio.create_task(gate.ask(request("a"), lambda event: None))
    (await person.wait_for("a")).set_exception(failure)
    assert (await asking).reply == "reject"


async def test_a_reply_that_was_not_offered_is_no_yes() -> None:
    """`allow_always` for one of our own files would be kept for good; it is not on offer there."""
    person = Person()
    gate = Gate(person)  # type: ignore[arg-type]
    asking = asyncio.create_task(gate.ask(request("a"), lambda event: None))
    dialog = await person.wait_for("a")
    assert not gate.respond("a", PermissionReply(reply="allow_always"))
    dialog.set_result(PermissionReply(reply="allow_always"))
    assert (await asking).reply == "reject"


async def test_without_dialogs_the_command_still_answers() -> None:
    person = Person()
    gate = Gate(person)  # type: ignore[arg-type]
    asking = asyncio.create_task(gate.ask(request("a"), lambda event: None))
    (await person.wait_for("a")).set_result(None)
    await asyncio.sleep(0)
    assert not asking.done()
    assert gate.respond("a", ONCE)
    assert (await asking).reply == "allow_once"


async def test_cancel_closes_the_question() -> None:
    """After a cancel nothing is pending, and watchers are told so."""
    person, events = Person(), list[RunEvent]()
    gate = Gate(person)  # type: ignore[arg-type]
    asking = asyncio.create_task(gate.ask(request("a"), events.append))
    await person.wait_for("a")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert gate.pending() == []
    assert isinstance(events[-1], PermissionResolved)
    assert events[-1].reply == "reject"
    assert not gate.respond("a", ONCE)


async def test_nobody_answers_in_time() -> None:
    gate = Gate(Person())  # type: ignore[arg-type]
    reply = await gate.ask(request("a"), lambda event: None, minutes=0.0005)
    assert reply.reply == "reject"
    assert "Nobody answered" in reply.feedback


async def test_a_question_settled_by_an_earlier_answer_is_not_asked() -> None:
    person = Person()
    gate = Gate(person)  # type: ignore[arg-type]
    needed = True
    first = asyncio.create_task(gate.ask(request("a"), lambda event: None))
    second = asyncio.create_task(gate.ask(request("b"), lambda event: None, still_needed=lambda: needed))
    dialog = await person.wait_for("a")
    needed = False
    dialog.set_result(ONCE)
    await first
    assert (await second).reply == "allow_once"
    assert person.shown == ["a"]
