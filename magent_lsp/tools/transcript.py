"""What a command prints: head and tail in bounded memory, the whole in a file."""

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import BinaryIO

MAX_FILE_BYTES = 1 << 30
"""A command that never stops printing must not fill the disk."""

_CHUNK = 1 << 16


class Transcript:
    """The output of one command; written by the pump's thread, read by the event loop."""

    def __init__(self, keep: int, file: Path | None) -> None:
        self.file = file
        """Holds the whole output; None if there is none or it could not be written."""
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._frozen = False
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """Bytes printed so far."""
        return self._total

    def add(self, data: bytes) -> None:
        """Take more output; once frozen, only into the file."""
        with self._lock:
            if self._frozen:
                return
            self._total += len(data)
            room = self._keep - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            self._tail += data[-self._keep :]
            if len(self._tail) > 2 * self._keep:
                del self._tail[: -self._keep]

    def open(self) -> BinaryIO | None:
        """Make the file, unless there is none or it cannot be written."""
        with self._lock:
            if self.file is None:
                return None
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except OSError:
                self.file = None
                return None
            return os.fdopen(descriptor, "wb", buffering=0)

    def discard(self) -> None:
        """Let there be no file, neither now nor when the pump is late to make one."""
        with self._lock:
            if self.file is not None:
                with contextlib.suppress(OSError):
                    self.file.unlink()
                self.file = None

    def freeze(self) -> None:
        """Let the text stay as it is, whatever background children go on printing."""
        with self._lock:
            self._frozen = True

    def text(self) -> tuple[str, int, int | None]:
        """The text, how many bytes are missing in it, and at which offset (None: nowhere)."""
        with self._lock:
            head, tail = bytes(self._head), bytes(self._tail[-self._keep :])
            missing = self._total - len(head) - len(tail)
        if not missing:
            return _decode(head + tail), 0, None
        start = _decode(_without_partial_end(head))
        return start + _decode(_without_partial_start(tail)), missing, len(start)

    def last(self, size: int) -> str:
        """The last part of the text, for showing progress."""
        with self._lock:
            recent = bytes((self._head[-size:] + self._tail)[-size:])
        return _decode(_without_partial_start(recent))


class Pump(threading.Thread):
    """Reads a pipe to its end, into a transcript and its file.

    A thread, so that neither a full disk nor a flood holds up the event loop; and it outlives the call
    when background children keep the pipe, so that they are not killed by writing to a closed one.
    """

    def __init__(self, pipe: int, transcript: Transcript) -> None:
        super().__init__(name="magent-output", daemon=True)
        self.ended = asyncio.Event()
        """Set, in the event loop, when nobody holds the other end of the pipe any more."""
        self._pipe = pipe
        self._transcript = transcript
        self._loop = asyncio.get_running_loop()

    def run(self) -> None:
        """Read until nobody can write any more."""
        file = self._transcript.open()
        written = 0
        try:
            while data := os.read(self._pipe, _CHUNK):
                if file is not None and written < MAX_FILE_BYTES:
                    written += len(data)
                    try:
                        file.write(data)
                    except OSError:
                        self._transcript.file = None
                        file.close()
                        file = None
                self._transcript.add(data)
        finally:
            os.close(self._pipe)
            if file is not None:
                file.close()
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self.ended.set)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _without_partial_start(data: bytes) -> bytes:
    """Without the rest of a character whose beginning was cut off."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _without_partial_end(data: bytes) -> bytes:
    """Without the beginning of a character whose rest was cut off."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if needed > back else data
    return data
