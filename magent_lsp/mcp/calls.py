"""Calls that wait for their results."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

from magent_lsp.core.tool import Ask
from magent_lsp.mcp.definition import on_one_line
from magent_lsp.mcp.questions import CANCEL, elicit

Answer = Mapping[str, Any]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]

_GIVE_UP_SECONDS: Final = 0.3
"""For the word to the server that a call is cancelled."""


class Call:
    """One call: its time, and what the server says and asks meanwhile."""

    def __init__(self, seconds: float, report: Callable[[str], None], ask: Ask | None) -> None:
        self.ask = ask
        self._seconds = seconds
        self._report = report
        self._clock: asyncio.Timeout | None = None
        self._questions: set[asyncio.Task[Answer]] = set()
        """What the server asks the person because of it; they end with it."""

    async def result(self, request: Callable[[Progress], Coroutine[Any, Any, Answer]]) -> Answer:
        """What the request gives; TimeoutError if nothing is heard for too long."""
        try:
            async with asyncio.timeout(self._seconds) as self._clock:
                return await _given_up(request(self._progress))
        finally:
            self._clock = None
            for question in self._questions:
                question.cancel()

    async def answer(self, server: str, params: Mapping[str, Any]) -> Answer:
        """Ask the person what the server wants to know."""
        question = asyncio.create_task(elicit(server, params, self.ask))
        self._questions.add(question)
        self._allow(None)  # the time that a person takes does not count
        try:
            await asyncio.wait([question])
        finally:
            question.cancel()
            self._questions.discard(question)
            self._allow(self._seconds)
        return CANCEL if question.cancelled() else question.result()

    async def _progress(self, done: float, total: float | None, message: str | None) -> None:
        """The server shows that it lives: it may take as long again."""
        if self._clock is None:
            return
        if not self._questions:
            self._allow(self._seconds)
        amount = f"{done:g}/{total:g}" if total else f"{done:g}"
        self._report(f"{on_one_line(message)} ({amount})" if message else amount)

    def _allow(self, seconds: float | None) -> None:
        clock = self._clock
        if clock is not None and not clock.expired():
            clock.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)


async def _given_up(work: Coroutine[Any, Any, Answer]) -> Answer:
    """The outcome of a request; one that is given up tells the server, and is not waited for long."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(_forget)
            task.cancel()
            await asyncio.wait([task], timeout=_GIVE_UP_SECONDS)


def _forget(task: "asyncio.Task[Any]") -> None:
    """Take the exception of a task that nobody waits for."""
    if not task.cancelled():
        task.exception()
