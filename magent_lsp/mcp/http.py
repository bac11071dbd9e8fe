"""Servers at an address: streamable HTTP."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from magent_lsp.mcp.entry import Entry

CONNECT_SECONDS: Final = 10
LARGEST_EVENT: Final = 8_000_000


class Line:
    """A connection to an address, and what went wrong with it."""

    def __init__(self, streams: Any) -> None:
        self.read, self.write = streams[0], streams[1]


class Errors:
    """The last answer that was an error."""

    status: int | None = None

    async def see(self, response: httpx2.Response) -> None:
        """Note what a response says; a hook of the client."""
        if response.status_code >= 400:
            self.status = response.status_code


@contextlib.asynccontextmanager
async def http(entry: Entry, errors: Errors) -> AsyncIterator[Line]:
    """The streams of a server; whatever fails is raised as it comes."""
    assert entry.url is not None
    # a server may be silent for as long as a call may take
    patience = httpx2.Timeout(CONNECT_SECONDS, read=entry.timeout + 60)
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.headers), timeout=patience, event_hooks={"response": [errors.see]}
        ) as client,
        streamable_http_client(entry.url, http_client=client, max_sse_event_size=LARGEST_EVENT) as streams,
    ):
        yield Line(streams)
