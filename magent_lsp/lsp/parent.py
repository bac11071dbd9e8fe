"""Notices that the editor's process is gone, for editors that die without closing the pipe."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable

logger = logging.getLogger(__name__)

SECONDS = 2
"""How often we look."""


class Parent:
    """Watches the process that the client named in `initialize`.

    One that is not there at the first look is one we cannot see (another container), not a dead one.
    """

    def __init__(self, process_id: int, gone: Callable[[], None]) -> None:
        self._process_id = process_id
        self._gone = gone
        self._timer: asyncio.TimerHandle | None = None
        if is_alive(process_id):
            self._wait()

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self._look)

    def _look(self) -> None:
        if is_alive(self._process_id):
            self._wait()
            return
        logger.warning("the editor's process %s is gone", self._process_id)
        self._gone()


def is_alive(process_id: int) -> bool:
    """Whether a process exists; where this cannot be asked, it does."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
