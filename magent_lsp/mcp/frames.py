"""How the server and `magent-lsp mcp` speak with each other: JSON objects behind their length.

A guest says `hello` {protocol, version, token, name, place}, and is told `welcome` {folder} or `refused`
{why}. Then it asks, with an `id` of its own: `tools`, answered by `tools` {tools}; `call` {name, arguments},
answered by any number of `waiting` {words} and one `result` {text, images, failed}; `cancel`, of a call, is
not answered.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

PROTOCOL: Final = 1
"""Grows when one side would no longer understand the other."""

LARGEST: Final = 4_000_000
"""Bytes that a guest may say at once."""

_HEAD: Final = 4


class BadFrame(Exception):
    """What came is no frame; the connection cannot go on."""


def pack(kind: str, **fields: Any) -> bytes:
    """One frame."""
    body = json.dumps({"kind": kind, **fields}).encode()
    return len(body).to_bytes(_HEAD, "big") + body


async def frames(stream: asyncio.StreamReader, most: Callable[[], int]) -> AsyncIterator[Mapping[str, Any]]:
    """The frames that come, until the stream ends; BadFrame for all else, and for more than `most` bytes."""
    while True:
        try:
            size = int.from_bytes(await stream.readexactly(_HEAD), "big")
            if size > most():
                raise BadFrame(f"A message of {size:,} bytes is more than the {most():,} that are taken.")
            body = await stream.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            return
        yield _read(body)


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise BadFrame("That is no JSON.") from None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise BadFrame("That is no message.")
    return value
