"""What follows an answer that is waited for comes alone, in its order, and nothing is lost."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.lsp.pace import Pace


class Client:
    """What a client that is asked whether it has read an answer is asked, and its answers."""

    def __init__(self, *, busy: bool = False) -> None:
        self.busy = busy
        self.asked: list[Callable[[], None]] = []
        self.begun = asyncio.Event()
        """It has been asked."""
        self.insisted = asyncio.Event()
        """It has been asked three times."""

    def ask(self, then: Callable[[], None]) -> None:
        """Ask it."""
        self.asked.append(then)
        self.begun.set()
        if len(self.asked) == 3:
            self.insisted.set()
        if not self.busy:
            asyncio.get_running_loop().call_soon(then)


async def test_what_follows_an_answer_waits_and_such_answers_do_not() -> None:
    sent: list[str] = []
    paced = Pace(Client().ask)
    for name, answer in (("note", False), ("answer", True), ("another", True)):
        paced.take(partial(sent.append, name), waited_for=answer)
    assert sent == ["note", "answer", "another"]
    gone = asyncio.Event()
    paced.take(partial(sent.append, "question"), waited_for=False)
    paced.take(partial(sent.append, "third"), waited_for=True)
    assert sent == ["note", "answer", "another"], "the question would lie behind the answer"
    paced.take(gone.set, waited_for=False)
    await gone.wait()
    assert sent == ["note", "answer", "another", "question", "third"]


async def test_nothing_goes_until_the_client_has_read_the_answer() -> None:
    client = Client(busy=True)
    sent: list[str] = []
    paced = Pace(client.ask)
    paced.take(partial(sent.append, "answer"), waited_for=True)
    paced.take(partial(sent.append, "question"), waited_for=False)
    await client.insisted.wait()  # the first time may have been lost with the answer
    assert sent == ["answer"]
    client.asked[2]()
    assert sent == ["answer", "question"]
    paced.take(partial(sent.append, "more"), waited_for=False)
    assert sent == ["answer", "question", "more"]
    paced.take(partial(sent.append, "next"), waited_for=True)
    paced.take(partial(sent.append, "last"), waited_for=False)
    client.asked[1]()
    assert sent[-1] == "next", "that it has read one answer says nothing of the next"
    paced.flush()
    assert sent[-1] == "last"


@pytest.mark.parametrize("answering", [True, False], ids=["later", "never"])
async def test_a_client_that_does_not_answer_gets_all_the_same(
    monkeypatch: pytest.MonkeyPatch, answering: bool
) -> None:
    monkeypatch.setattr("magent_lsp.lsp.pace.LIMIT", 0.3)
    client = Client(busy=True)
    paced = Pace(client.ask)
    for _ in range(2):
        gone = asyncio.Event()
        paced.take(lambda: None, waited_for=True)
        paced.take(gone.set, waited_for=False)
        await gone.wait()
    assert paced._answers is False
    client.busy = not answering
    paced.take(lambda: None, waited_for=True)
    gone = asyncio.Event()
    paced.take(gone.set, waited_for=False)
    await gone.wait()
    assert paced._answers is answering, "who answers once is asked from then on"


async def test_a_client_that_has_answered_once_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Emacs that is stopped by C-z for an hour, say."""
    monkeypatch.setattr("magent_lsp.lsp.pace.LIMIT", 0.1)
    client = Client()
    paced = Pace(client.ask)
    gone = asyncio.Event()
    paced.take(lambda: None, waited_for=True)
    paced.take(gone.set, waited_for=False)
    await gone.wait()
    client.busy = True
    gone.clear()
    paced.take(lambda: None, waited_for=True)
    paced.take(gone.set, waited_for=False)
    await client.insisted.wait()
    assert not gone.is_set()
    client.asked[-1]()
    await gone.wait()


async def test_where_nothing_can_be_asked_a_pause_must_do() -> None:
    paced = Pace()
    gone = asyncio.Event()
    paced.take(lambda: None, waited_for=True)
    paced.take(gone.set, waited_for=False)
    assert not gone.is_set()
    await gone.wait()


async def test_what_follows_something_else_does_not_wait() -> None:
    sent: list[int] = []
    paced = Pace()
    for number in range(3):
        paced.take(partial(sent.append, number), waited_for=False)
    assert sent == [0, 1, 2]


@given(st.lists(st.booleans()), st.integers(0, 30))
async def test_all_is_sent_once_and_in_order_also_at_the_end(answers: list[bool], flushed: int) -> None:
    sent: list[int] = []
    paced = Pace()
    for number, answer in enumerate(answers):
        paced.take(partial(sent.append, number), waited_for=answer)
        assert sent == [*range(len(sent))]
        if number == flushed:
            paced.flush()
            assert sent == [*range(number + 1)]
    paced.flush()
    assert sent == [*range(len(answers))]


async def test_a_request_that_is_held_can_be_withdrawn() -> None:
    sent: list[str] = []
    paced = Pace()
    paced.take(partial(sent.append, "answer"), waited_for=True)
    for name in ("one", "two"):
        paced.take(partial(sent.append, name), waited_for=False, id=name)
    assert paced.withdraw("one")
    assert not paced.withdraw("answer"), "it has gone"
    gone = asyncio.Event()
    paced.take(partial(sent.append, "note"), waited_for=False)
    paced.take(gone.set, waited_for=False)
    await gone.wait()
    assert sent == ["answer", "two", "note"]


async def test_at_the_end_no_request_is_sent_whose_answer_nobody_would_hear() -> None:
    sent: list[str] = []
    paced = Pace()
    paced.take(partial(sent.append, "answer"), waited_for=True)
    paced.take(partial(sent.append, "edit"), waited_for=False, id="edit")
    paced.take(partial(sent.append, "note"), waited_for=False)
    paced.flush()
    assert sent == ["answer", "note"]


async def test_a_thread_may_send_too() -> None:
    sent: list[str] = []
    paced = Pace()
    await asyncio.to_thread(paced.take, partial(sent.append, "log"), waited_for=False)
    await asyncio.sleep(0)
    assert sent == ["log"]


async def test_what_is_logged_while_an_answer_is_sent_holds_nothing_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("magent_lsp.lsp.pace.LIMIT", 0.3)
    sent: list[str] = []
    paced = Pace(Client().ask)
    paced.take(partial(sent.append, "answer"), waited_for=True)
    await asyncio.sleep(0.1)  # what follows is asked about at once
    paced.take(lambda: paced.take(partial(sent.append, "log"), waited_for=False), waited_for=True)
    gone = asyncio.Event()
    paced.take(gone.set, waited_for=False)
    await gone.wait()
    await asyncio.sleep(0.6)  # past the limit
    paced.take(partial(sent.append, "another"), waited_for=True)
    assert sent == ["answer", "log", "another"]


async def test_a_client_that_was_busy_for_long_is_asked_when_it_can_have_read_the_answer() -> None:
    client = Client(busy=True)
    paced = Pace(client.ask)
    paced._answers = False
    paced.take(lambda: None, waited_for=True)
    paced.take(lambda: None, waited_for=False)
    assert not client.asked, "in one piece with the answer it would be lost as well"
    await client.begun.wait()
    assert len(client.asked) == 1


async def test_no_answer_waits_for_a_request_that_was_withdrawn() -> None:
    sent: list[str] = []
    paced = Pace(Client(busy=True).ask)
    paced.take(partial(sent.append, "answer"), waited_for=True)
    paced.take(partial(sent.append, "question"), waited_for=False, id="question")
    paced.withdraw("question")
    paced.take(partial(sent.append, "another"), waited_for=True)
    assert sent == ["answer", "another"]
