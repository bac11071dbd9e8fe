"""Ctrl-C and its relatives: the first one asks politely, the second one leaves."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from magent_lsp.headless.leave import leave

CANCELLED = 130
ENDINGS = ("SIGTERM", "SIGHUP", "SIGBREAK")


@contextmanager
def interrupts(
    cancel: Callable[[], object], *, names: Sequence[str] = ("SIGINT", *ENDINGS), twice_leaves: bool = True
) -> Iterator[None]:
    """Call `cancel` on the running loop at these signals, as far as the system has them, in the block."""
    loop = asyncio.get_running_loop()
    seen = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen > 1 and twice_leaves:
            leave(CANCELLED)
        loop.call_soon_threadsafe(cancel)

    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
