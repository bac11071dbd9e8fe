"""Of the questions whether a client has read, none is kept for ever, and only one that counts is told of."""

from concurrent.futures import Future
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.lsp.looks import MOST, Looks


class Client:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: dict[str, Future[Any]] = {}
        self.forgotten: list[str] = []
        self.looks = Looks(self.ask, self.forgotten.append)

    def ask(self, id: str) -> "Future[Any]":
        self.asked[id] = Future()
        return self.asked[id]


@given(st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=80))
def test_each_answer_counts_once_and_settles_all_that_are_older(steps: list[int | None]) -> None:
    """None asks; a number answers the question of that number, if nobody has."""
    client, told = Client(), list[int]()
    waiting: list[int] = []
    for step in steps:
        ids = list(client.asked)
        if step is None:
            waiting = [*waiting, len(ids)][-MOST:]
            client.looks.look(partial(told.append, len(ids)))
        elif step < len(ids) and not client.asked[ids[step]].done():
            expected = [*told, step] if step in waiting else list(told)
            waiting = [each for each in waiting if each > step] if step in waiting else waiting
            client.asked[ids[step]].set_result(None)
            assert told == expected
        ids = list(client.asked)
        assert [number for number, id in enumerate(ids) if id in client.looks] == waiting
        assert set(client.forgotten) == {id for number, id in enumerate(ids) if number not in waiting}


def test_at_the_end_no_answer_counts() -> None:
    client, told = Client(), list[str]()
    client.looks.look(partial(told.append, "read"))
    client.looks.clear()
    for question in client.asked.values():
        question.set_result(None)
    assert told == []
