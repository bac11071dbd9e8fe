"""Coroutines that a thread makes for a task: closed where the task is gone before it could begin them.

A coroutine that nobody awaits is a warning in the log, and whatever it holds stays until it is collected.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Expected:
    """What threads have handed over for one block."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._made: list[Coroutine[Any, Any, Any]] = []
        self._over = False

    def take(self, made: Coroutine[Any, Any, Any]) -> None:
        with self._guard:
            if not self._over:
                self._made.append(made)
                return
        made.close()

    def end(self) -> None:
        with self._guard:
            self._over = True
        for made in self._made:
            if inspect.getcoroutinestate(made) == inspect.CORO_CREATED:
                made.close()


_EXPECTED: ContextVar[_Expected | None] = ContextVar("expected", default=None)


@contextmanager
def expecting() -> Iterator[None]:
    """Close what `handing_over` functions make on behalf of this block, and the block does not begin.

    Also what they make when the block is over: a thread cannot be cancelled.
    """
    expected = _Expected()
    token = _EXPECTED.set(expected)
    try:
        yield
    finally:
        _EXPECTED.reset(token)
        expected.end()


def handing_over(work: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, whose coroutines belong to the block in whose context it runs."""

    @functools.wraps(work)
    def made(*arguments: _P.args, **named: _P.kwargs) -> _R:
        result = work(*arguments, **named)
        expected = _EXPECTED.get()
        if expected is not None and inspect.iscoroutine(result):
            expected.take(result)
        return result

    return made
