"""The moment for an edit, in a client that takes one only just after a code action was chosen."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from magent_lsp.core.request import Answer, Question

SECONDS: Final = 1.0
"""Kate takes edits for two seconds; the way there takes some of them."""

GO_AHEAD: Final = "Go ahead"
LEAVE: Final = "Leave it"


class Moments:
    """When edits of one client may be sent."""

    def __init__(
        self,
        ask: Callable[[Question], Awaitable[Answer | None]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        """Asks by code actions."""
        self._clock = clock
        self._ends = clock()

    def begin(self) -> None:
        """The person chose a code action just now."""
        self._ends = self._clock() + SECONDS

    async def wait(self, what: str) -> bool:
        """Wait for a moment, which the person is asked for; False: the person wants the edit left."""
        while self._clock() >= self._ends:
            answer = await self._ask(Question(title=what, message="", options=(GO_AHEAD, LEAVE)))
            if answer is None or answer.values != (GO_AHEAD,):
                return False
        return True
