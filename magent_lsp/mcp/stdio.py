"""Servers on standard input and output: JSON lines, whatever else they print.

The library's own transport is not used: it ends at the first byte that is no UTF-8, takes lines of any
length, gives the server variables of our own environment, and leaves it running when this process is killed.
"""

import asyncio
import contextlib
import logging
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
from mcp.shared.message import SessionMessage

from magent_lsp.core.errors import ToolError
from magent_lsp.mcp.messages import Sieve, read_message
from magent_lsp.tools.child import child, kill
from magent_lsp.tools.leash import leash
from magent_lsp.tools.output import clean

logger = logging.getLogger(__name__)

LONGEST: Final = 8_000_000
"""Bytes of one message, and of what is no message between two."""
_GOODBYE: Final = 0.3
"""Seconds for a server to leave by itself when its input ends."""
_LARGE: Final = 500_000
"""Bytes of a message that is parsed in a thread, as it takes a while."""
_LAST_SECONDS: Final = 1
_CHUNK: Final = 1 << 16
_LOOKED_AT: Final = 16_000
"""Bytes of a line of text in which secrets are looked for; far more than is shown of it."""
_SHOWN: Final = 500
_LOGGED: Final = 50
"""Lines of error output that are logged at most in a second."""


class Pipes:
    """A running server: its streams, and how it is with it."""

    def __init__(self, process: Process, name: str, redact: Callable[[str], str]) -> None:
        self.process = process
        self.name = name
        self.redact = redact
        self._said = b""
        """The last line of its error output that is not empty."""
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
        said = self._shown(self._said)
        return f"{how}; it said: {said}" if said else how

    async def listen(self) -> None:
        """Hand the server's messages in, until its output ends."""
        assert self.process.stdout is not None
        noise, sieve = 0, Sieve()
        async with self._inward:
            try:
                async for line in _lines(self.process.stdout):
                    large = len(line) >= _LARGE
                    message = await asyncio.to_thread(read_message, line) if large else read_message(line)
                    if message is None:
                        noise += len(line) + 1
                        self._skip(line, noise)
                        continue
                    noise = 0
                    if sieve.passes(message):
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
        """Put its error output into our log, and read on whatever it is: the server would wait for us."""
        assert self.process.stderr is not None
        clock = asyncio.get_running_loop().time
        since, logged, left_out = clock(), 0, 0
        async for line in _cut_lines(self.process.stderr):
            if not line.strip():
                continue
            self._said = line
            if clock() - since >= 1:
                self._leave_out(left_out)
                since, logged, left_out = clock(), 0, 0
            if logged < _LOGGED:
                logged += 1
                logger.info("MCP server %r: %s", self.name, self._shown(line))
            else:
                left_out += 1
        self._leave_out(left_out)
        self.silent.set()

    def close(self) -> None:
        """Let go of the streams."""
        for stream in (self.read, self.write, self._inward, self._outward):
            stream.close()

    def _leave_out(self, count: int) -> None:
        if count:
            logger.info("MCP server %r: %d further lines of its error output", self.name, count)

    def _shown(self, line: bytes) -> str:
        """A line as it may be shown."""
        text = self.redact(clean(line[:_LOOKED_AT].decode("utf-8", "replace"))).rstrip()
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def _skip(self, line: bytes, noise: int) -> None:
        if noise == len(line) + 1 and line.strip():
            logger.info("MCP server %r prints what is no message: %s", self.name, self._shown(line))
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


async def _cut_lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines without their end, of which what is too long is left out."""
    kept = b""
    while data := await stream.read(_CHUNK):
        first, *more = data.split(b"\n")
        kept += first[: _LOOKED_AT - len(kept)]
        for line in more:
            yield kept
            kept = line[:_LOOKED_AT]
        await asyncio.sleep(0)  # a server that writes without end must not have the loop for itself
    if kept:
        yield kept
