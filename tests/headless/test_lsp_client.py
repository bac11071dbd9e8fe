"""The demo's wire: a server that is slow, dead or odd must end in a sentence, not in silence."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from magent_lsp.headless.lsp_client import Connection, Handler, ServerError, connect

SERVER = """
import json, sys, time
def read():
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length"): length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else sys.exit(3)
def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body); sys.stdout.buffer.flush()
"""

Start = Callable[..., AbstractAsyncContextManager[Connection]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    @asynccontextmanager
    async def started(code: str, handlers: dict[str, Handler] | None = None) -> AsyncIterator[Connection]:
        command = (sys.executable, "-c", SERVER + code)
        with (tmp_path / "log").open("wb") as log:
            async with connect(
                command, handlers or {}, cwd=tmp_path, environ=os.environ, log=log, grace=0.3
            ) as server:
                yield server

    return started


async def test_an_error_is_raised_in_the_servers_words(start: Start) -> None:
    code = "m = read(); send(id=m['id'], error={'code': -32602, 'message': 'position: is missing'}); read()"
    async with start(code) as server:
        with pytest.raises(ServerError, match="position: is missing"):
            await server.request("magent.ask")


async def test_a_server_that_dies_fails_what_waits(start: Start) -> None:
    async with start("read(); sys.exit(1)") as server:
        with pytest.raises(ServerError, match="ended before it answered"):
            await server.request("initialize")
        assert server.ended.is_set()


async def test_a_server_that_does_not_answer_is_given_up(start: Start) -> None:
    async with start("read(); read(); read()") as server:
        with pytest.raises(ServerError, match=r"'initialize' within 0\.05 s"):
            await server.request("initialize", seconds=0.05)


async def test_requests_of_the_server_are_served_in_their_turn(start: Start) -> None:
    async def double(params: int) -> int:
        return params * 2

    code = (
        "m = read(); send(id='a', method='double', params=21); send(id='b', method='unknown');"
        "first, second = read(), read();"
        "send(id=m['id'], result=[first['result'], second['error']['code']]); read()"
    )
    async with start(code, {"double": double}) as server:
        assert await server.request("go") == [42, -32601]


async def test_a_server_that_does_not_go_is_made_to(start: Start) -> None:
    code = "m = read(); send(id=m['id'], result=None); time.sleep(600)"
    async with start(code) as server:
        assert await server.close(grace=0.3) < 0
