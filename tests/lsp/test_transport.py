"""Framing: what is LSP comes through whole, what is not ends the connection."""

import asyncio
import os
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.lsp.transport import ThreadWriter, frames


async def read(data: bytes, cuts: Sequence[int] = ()) -> list[bytes]:
    """The bodies found in bytes that arrive in pieces."""
    stream = asyncio.StreamReader()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    async def feed() -> None:
        for start, end in pairwise(places):
            stream.feed_data(data[start:end])
            await asyncio.sleep(0)
        stream.feed_eof()

    feeding = asyncio.create_task(feed())
    found = [body async for body in frames(stream)]
    await feeding
    return found


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(0, 300), max_size=5))
def test_messages_come_through_however_they_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    assert asyncio.run(read(b"".join(frame(body) for body in bodies), cuts)) == bodies


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 2\r\n\r\n",
        b"Content-Length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: x\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
    ],
)
async def test_headers_may_be_spelled_in_other_ways(head: bytes) -> None:
    assert await read(head + b"{}") == [b"{}"]


@pytest.mark.parametrize(
    "data",
    [
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: 99999999999\r\n\r\n{}",
        b"Content-Length: 2 2\r\n\r\n{}",
        b"hello\r\n",
        b"x" * 200_000,
        b"Content-Length: 5\r\n\r\n{}",
        b"Content-Length: 2\r\n",
    ],
)
async def test_anything_else_ends_the_stream(data: bytes) -> None:
    assert await read(data) == []


async def test_nothing_behind_a_bad_header_is_read() -> None:
    good = frame(b"{}")
    assert await read(good + b"Host: x\r\n" + good) == [b"{}"]


def test_the_writer_never_blocks_and_keeps_the_order() -> None:
    source, target = os.pipe()
    lost: list[bool] = []
    writer = ThreadWriter(os.fdopen(target, "wb", buffering=0), lambda: lost.append(True))
    big = b"x" * 1_000_000
    writer.write(big)
    writer.write(b"end")
    writer.close()
    with os.fdopen(source, "rb") as reader:
        assert reader.read() == big + b"end"
    writer.drain(5)
    assert lost == []


def test_the_writer_tells_when_nobody_reads_any_more() -> None:
    source, target = os.pipe()
    os.close(source)
    lost: list[bool] = []
    writer = ThreadWriter(os.fdopen(target, "wb", buffering=0), lambda: lost.append(True))
    writer.write(b"x")
    writer.drain(5)
    assert lost == [True]
