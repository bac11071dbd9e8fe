"""Runs a language server, and hands out in one piece the answer that names a run and all to another message.

    python one_piece.py window/showMessageRequest magent-lsp serve

So comes what a busy machine or a slow line brings together.
"""

import json
import subprocess
import sys
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


def main(until: bytes, command: list[str]) -> int:
    """Pass everything on until the server ends; its exit code. The last message of the piece has `until`."""
    server = subprocess.Popen(command, stdin=sys.stdin.buffer, stdout=subprocess.PIPE)
    assert server.stdout is not None
    held, holding = b"", False
    for data, message in _messages(server.stdout):
        result = message.get("result")
        if isinstance(result, dict) and "runId" in result:
            holding = True
        elif until in data:
            holding = False
        held += data
        if not holding:
            sys.stdout.buffer.write(held)
            sys.stdout.buffer.flush()
            held = b""
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].encode(), sys.argv[2:]))
