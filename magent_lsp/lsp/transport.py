"""How bytes get in and out: a guarded stdio, and a reader that accepts LSP framing only."""

import asyncio
import contextlib
import logging
import os
import queue
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO

logger = logging.getLogger(__name__)

CHUNK = 65_536
MAX_FRAME = 512 * 1024 * 1024
"""A larger message is not read into memory; the connection is closed instead."""

_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r?\n", re.IGNORECASE)
_OTHER = re.compile(rb"content-type:[^\r\n]*\r?\n", re.IGNORECASE)


async def frames(
    stream: asyncio.StreamReader, most: Callable[[], int] = lambda: MAX_FRAME
) -> AsyncIterator[bytes]:
    """The bodies of LSP's messages, until the stream ends, is no longer LSP, or one is larger than `most`.

    Headers must be LSP's own: a lenient reader would skip the lines of HTTP that it does not know, find
    `Content-Length` among them, and let any web page `POST` a message to a TCP port.
    """
    length: int | None = None
    while True:
        try:
            line = await stream.readline()
            if not line:
                return
            if not line.strip(b"\r\n"):
                if length is not None:
                    yield await stream.readexactly(length)
                length = None
                continue
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        except ValueError:  # a line longer than any header
            line = b""
        if match := _LENGTH.fullmatch(line):
            length = int(match.group(1))
        elif not _OTHER.fullmatch(line):
            length = sys.maxsize
        if length is not None and length > most():
            logger.warning("the client sent something that is no LSP message: connection closed")
            return


class Stdio:
    """The protocol's own stdin and stdout, after fd 0 and 1 were given harmless replacements."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.stdin = stdin
        self.stdout = stdout


def guard_stdio() -> Stdio:
    """Take stdin and stdout for the protocol alone.

    From now on whatever writes to fd 1, in Python, in C or in a child process, lands on stderr, and
    whatever reads fd 0 finds it empty.
    """
    if sys.platform == "win32":
        import msvcrt

        for fd in (0, 1):
            msvcrt.setmode(fd, os.O_BINARY)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    private_in, private_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(null, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return Stdio(os.fdopen(private_in, "rb", buffering=0), os.fdopen(private_out, "wb", buffering=0))


def read_in_thread(source: BinaryIO) -> asyncio.StreamReader:
    """A stream fed by a daemon thread: works for pipes, files and terminals on every system.

    A thread that sits in `read` cannot be stopped, so it is one that does not keep the process alive.
    """
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()

    def feed() -> None:
        try:
            while chunk := source.read(CHUNK):
                loop.call_soon_threadsafe(stream.feed_data, chunk)
        except (OSError, ValueError):
            pass
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(stream.feed_eof)

    threading.Thread(target=feed, name="stdin", daemon=True).start()
    return stream


class ThreadWriter:
    """Writes in a daemon thread, in order, so that a client that does not read never blocks the loop."""

    def __init__(self, target: BinaryIO, lost: Callable[[], None]) -> None:
        self._target = target
        self._lost = lost
        """Called in the writer's thread when the other end is gone."""
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queue one message."""
        self._queue.put(data)

    def close(self) -> None:
        """Write no more than what is queued; see `drain`."""
        self._queue.put(None)

    def drain(self, seconds: float) -> None:
        """Wait, bounded, until all that was queued before `close` is written."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            while (data := self._queue.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[self._target.write(view) or 0 :]
        except (OSError, ValueError):
            self._lost()
        finally:
            with contextlib.suppress(OSError):
                self._target.close()


class SocketWriter:
    """Sends WebSocket text frames one after the other."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        """Queue one message."""
        self._queue.put_nowait(data.decode("utf-8"))

    def close(self) -> None:
        """Send no more than what is queued."""
        self._queue.put_nowait(None)

    async def run(self) -> None:
        """Send until closed; the owner runs this as a task."""
        while (text := await self._queue.get()) is not None:
            await self._socket.send(text)
