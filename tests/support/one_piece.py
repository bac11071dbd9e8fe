"""Runs a language server, and hands out in one piece what a busy machine or a slow line brings together.

    python one_piece.py window/showMessageRequest magent-lsp serve
    python one_piece.py 0.1 magent-lsp serve

The first keeps the answer that names a run until a message with that text is there; the second keeps all
until nothing came for so many seconds.
"""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO


def _messages(stream: BinaryIO) -> Iterator[tuple[bytes, dict[str, object]]]:
    """The bytes and the content of each message."""
    head = b""
    while line := stream.readline():
        head += line
        if line == b"\r\n":
            length = next(int(part.split(b":")[1]) for part in head.split(b"\r\n") if b"-Length" in part)
            body = stream.read(length)
            yield head + body, json.loads(body)
            head = b""


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def with_text(stream: BinaryIO, until: bytes) -> None:
    """Pass all on; the answer that names a run waits for a message with a text."""
    held, holding = b"", False
    for data, message in _messages(stream):
        result = message.get("result")
        if isinstance(result, dict) and "runId" in result:
            holding = True
        elif until in data:
            holding = False
        held += data
        if not holding:
            _write(held)
            held = b""


def with_next(stream: BinaryIO, seconds: float) -> None:
    """Pass all on once nothing came for so long."""
    came: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for data, _ in _messages(stream):
            came.put(data)
        came.put(b"")

    threading.Thread(target=read, daemon=True).start()
    held = b""
    while True:
        try:
            data = came.get(timeout=seconds if held else None)
        except queue.Empty:
            _write(held)
            held = b""
            continue
        if not data:
            _write(held)
            return
        held += data


def main(until: str, command: list[str]) -> int:
    """Pass everything on until the server ends; its exit code."""
    server = subprocess.Popen(command, stdin=sys.stdin.buffer, stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        seconds = float(until)
    except ValueError:
        with_text(server.stdout, until.encode())
    else:
        with_next(server.stdout, seconds)
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
