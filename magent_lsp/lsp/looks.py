"""Questions by which we find out whether a client has read what was sent before them."""

import concurrent.futures
import uuid
from collections.abc import Callable
from typing import Any, Final

MOST: Final = 30
"""So many are kept at most."""


class Looks:
    """Those that are not answered yet, the oldest first.

    `ask` sends one under the id it gets, `forget` waits no more for the answer to it. Lost ones are forgotten
    as soon as a later one is answered, or there are many.
    """

    def __init__(
        self,
        ask: Callable[[str], "concurrent.futures.Future[Any]"],
        forget: Callable[[str], Any],
    ) -> None:
        self._ask = ask
        self._forget = forget
        self._ids: dict[str, None] = {}

    def __contains__(self, id: Any) -> bool:
        return id in self._ids

    def look(self, then: Callable[[], None]) -> None:
        """Ask; `then` is called once the client has answered this one."""
        id = str(uuid.uuid4())
        self._ids[id] = None
        if len(self._ids) > MOST:
            self._forget_oldest()

        def answered(_: Any) -> None:
            if id not in self._ids:
                return
            while id in self._ids:
                self._forget_oldest()
            then()

        self._ask(id).add_done_callback(answered)

    def clear(self) -> None:
        """Let no answer count any more."""
        self._ids.clear()

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._ids))
        del self._ids[oldest]
        self._forget(oldest)
