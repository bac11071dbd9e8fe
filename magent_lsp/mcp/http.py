"""Servers at an address: streamable HTTP."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import httpx2
from mcp.client.streamable_http import streamable_http_client

from magent_lsp.mcp.entry import Entry

CONNECT_SECONDS: Final = 10
LARGEST: Final = 8_000_000
"""Bytes of one answer or event."""


class Line(NamedTuple):
    """The streams of a connection, as the library makes them."""

    read: Any
    write: Any


class Watch:
    """Looks at the answers of a server: the last that was an error, and those that are too long."""

    status: int | None = None

    async def see(self, response: httpx2.Response) -> None:
        """Look at the head of an answer; a hook of the client."""
        if response.status_code >= 400 and response.request.method == "POST":  # a GET may be refused
            self.status = response.status_code
        if "json" in response.headers.get("content-type", "") and isinstance(
            response.stream, httpx2.AsyncByteStream
        ):
            response.stream = _Bounded(response.stream)  # the library reads all of it before it looks


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, up to a length."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > LARGEST:
                raise httpx2.StreamError(f"more than {LARGEST // 1_000_000} MB")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextlib.asynccontextmanager
async def http(entry: Entry, watch: Watch) -> AsyncIterator[Line]:
    """The streams of a server; whatever fails is raised as it comes."""
    assert entry.url is not None
    # a server may be silent for as long as a call may take
    patience = httpx2.Timeout(CONNECT_SECONDS, read=entry.timeout + 60)
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.headers), timeout=patience, event_hooks={"response": [watch.see]}
        ) as client,
        streamable_http_client(entry.url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield Line(*streams)
