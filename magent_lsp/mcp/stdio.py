"""Servers on standard input and output: JSON lines, whatever else they print.

The library's own transport is not used: it ends at the first byte that is no UTF-8, takes lines of any
length, gives the server variables of our own environment, and leaves it running when this process is killed.
"""

import asyncio
import contextlib
import logging
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from magent_lsp.core.errors import ToolError
from magent_lsp.tools.leash import leash
from magent_lsp.tools.output import clean
from magent_lsp.tools.process import child, kill

logger = logging.getLogger(__name__)

LONGEST: Final = 8_000_000
"""Bytes of one message, and of what is no message between two."""
_GOODBYE: Final = 0.3
"""Seconds for a server to leave by itself when its input ends."""
_LARGE: Final = 500_000
"""Bytes of a message that is parsed in a thread, as it takes a while."""
_LAST_WORDS: Final = 20
_LAST_SECONDS: Final = 1
_CHUNK: Final = 1 << 16


class Pipes:
    """A running server: its streams, and how it is with it."""

    def __init__(self, process: Process, name: str, redact: Callable[[str], str]) -> None:
        self.process = process
        self.name = name
        self.redact = redact
        self.said: deque[str] = deque(maxlen=_LAST_WORDS)
        """The last lines of its error output."""
        self.fault = ""
        """Why the connection cannot go on, if it is not that the server ended."""
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()
        """Set when its error output has ended."""
        self._inward, self.read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.write, self._outward = anyio.create_memory_object_stream[SessionMessage](0)

    async def last_words(self) -> str:
        """How it ended, with its exit code and its last line if they come."""
        if not self.fault:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await self.process.wait()
                    await self.silent.wait()
        code = self.process.returncode
        how = self.fault or ("it ended" if code is None else f"it ended with exit code {code}")
        if code is not None and code < 0 and not self.fault:
            how = f"it was ended by signal {-code}"
        return f"{how}; it said: {self.said[-1]}" if self.said else how

    async def listen(self) -> None:
        """Hand the server's messages in, until its output ends."""
        assert self.process.stdout is not None
        noise = 0
        async with self._inward:
            try:
                async for line in _lines(self.process.stdout):
                    message = (
                        _message(line) if len(line) < _LARGE else await asyncio.to_thread(_message, line)
                    )
                    if message is None:
                        noise += len(line) + 1
                        self._skip(line, noise)
                    else:
                        noise = 0
                        await self._inward.send(SessionMessage(message))
            except ToolError as error:
                self.fault = str(error)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the session is over
            finally:
                self.ended.set()

    async def talk(self) -> None:
        """Write our messages to the server."""
        stdin = self.process.stdin
        assert stdin is not None
        async with self._outward:
            try:
                async for item in self._outward:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode("utf-8", "replace") + b"\n")
                    await stdin.drain()
            except (ConnectionError, RuntimeError):
                self.ended.set()

    async def log(self) -> None:
        """Put its error output into our log."""
        assert self.process.stderr is not None
        with contextlib.suppress(ToolError):
            async for line in _lines(self.process.stderr):
                text = self.redact(clean(line.decode("utf-8", "replace"))).rstrip()[:500]
                if text:
                    self.said.append(text)
                    logger.info("MCP server %r: %s", self.name, text)
        self.silent.set()

    def close(self) -> None:
        """Let go of the streams."""
        for stream in (self.read, self.write, self._inward, self._outward):
            stream.close()

    def _skip(self, line: bytes, noise: int) -> None:
        if noise == len(line) + 1 and line.strip():
            shown = self.redact(clean(line[:200].decode("utf-8", "replace")))
            logger.info("MCP server %r prints what is no message: %s", self.name, shown)
        if noise > LONGEST:
            raise ToolError("it prints what is no message of the protocol")


@contextlib.asynccontextmanager
async def stdio(
    argv: Sequence[str],
    *,
    name: str,
    cwd: Path,
    env: Mapping[str, str],
    redact: Callable[[str], str],
) -> AsyncIterator[Pipes]:
    """A server process; nothing that it started is left after the block. ToolError if it cannot be."""
    async with (
        child(argv, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process,
        leash(process.pid),
    ):
        pipes = Pipes(process, name, redact)
        tasks = [asyncio.create_task(work()) for work in (pipes.listen, pipes.talk, pipes.log)]
        try:
            yield pipes
        finally:
            await _end(process)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            pipes.close()
            _let_go(process)


async def _end(process: Process) -> None:
    """End the server: its input first, so that it can leave by itself."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_GOODBYE):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        await kill(process)


def _let_go(process: Process) -> None:
    """Close pipes that were not read to their end, which nothing public does."""
    transport = getattr(process, "_transport", None)
    if isinstance(transport, asyncio.SubprocessTransport):
        transport.close()


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines without their end; ToolError for one that is too long."""
    parts: list[bytes] = []
    size = 0
    while data := await stream.read(_CHUNK):
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield b"".join((*parts, line))
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > LONGEST:
            raise ToolError(f"it sent a message of more than {LONGEST // 1_000_000} MB")
    if size:
        yield b"".join(parts)


def _message(line: bytes) -> Any:
    """A message of the protocol; None for anything else, of which some servers print a lot."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None
