"""One client on stdin and stdout."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from magent_lsp.event_loop import finish
from magent_lsp.lsp.transport import Stdio, ThreadWriter, frames, guard_stdio, read_in_thread

if TYPE_CHECKING:
    from magent_lsp.lsp.server import MagentServer

FLUSH_SECONDS = 1

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


def run_stdio(make: "Callable[[], MagentServer]") -> int:
    """Serve until the client leaves, its process ends, or a signal comes; returns the exit code."""
    if os.isatty(0):
        print(
            "magent-lsp waits for an editor's messages on stdin; `magent-lsp --help` says more.",
            file=sys.stderr,
        )
    pipes = guard_stdio()
    return finish(_serve(pipes, make))


async def _serve(pipes: Stdio, make: "Callable[[], MagentServer]") -> int:
    loop = asyncio.get_running_loop()
    server = make()
    stream = read_in_thread(pipes.stdin)

    def lost() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(server.disconnect)

    writer = ThreadWriter(pipes.stdout, lost)
    server.protocol.set_writer(writer)
    by_signal = on_signals(server.disconnect)
    server.beside_its_client = True
    try:
        await server.converse(frames(stream))
    finally:
        writer.close()
        writer.drain(FLUSH_SECONDS)
    return 128 + by_signal[0] if by_signal else server.exit_code


def on_signals(stop: Callable[[], None]) -> list[int]:
    """Call `stop` at a polite signal; the returned list then holds its number."""
    received: list[int] = []
    loop = asyncio.get_running_loop()

    def take(number: int) -> None:
        received.append(number)
        stop()

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None:
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, take, int(number))
    return received
