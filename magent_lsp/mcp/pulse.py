"""Whether a server that runs still answers."""

import asyncio
from typing import Final

LIST_SECONDS: Final = 15
WARY_SECONDS: Final = 3
"""For a server that has left something unanswered."""


class Pulse:
    """What is known of it; shared by all that ask the server."""

    def __init__(self, *, wary: bool) -> None:
        """`wary`: another process of the same server has hung."""
        self.hung = asyncio.Event()
        """It does not answer any more, and must end."""
        self.waiting = 0
        """Calls that wait for it, some of which may be what keeps it busy."""
        self._wary = wary

    @property
    def wary(self) -> bool:
        """Whether it should be asked if it is still there."""
        return self._wary

    def heard(self) -> None:
        """It has answered."""
        self._wary = False

    def given_up(self) -> None:
        """Something that it was asked is not waited for any more."""
        self._wary = True

    def patience(self) -> float:
        """Seconds to wait for a list of its tools."""
        return min(LIST_SECONDS, WARY_SECONDS) if self._wary or self.waiting else LIST_SECONDS

    def missed(self) -> bool:
        """It did not list its tools; False if that is since it works on a call."""
        self._wary = True
        if self.waiting:
            return False
        self.hung.set()
        return True
