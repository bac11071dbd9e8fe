"""Programs that are run to their end: what they print, how they end, and that they end with us."""

import asyncio
import contextlib
import os
import signal
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from magent_lsp.tools import process_tree
from magent_lsp.tools.child import child, kill
from magent_lsp.tools.leash import leash
from magent_lsp.tools.transcript import Pump, Transcript

_REPORT_EVERY = 0.25
_REPORT_BYTES = 4_000
_SETTLE = 0.05


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a command ended, and what it printed."""

    code: int
    """The exit code; negative: the signal that ended it."""
    timed_out: bool
    text: str
    """Standard output and error, in the order they were printed."""
    missing: int = 0
    """Bytes left out of the text, at offset `at`."""
    at: int | None = None
    file: Path | None = None
    """Holds the whole output; the caller removes it when it is not wanted."""
    group: int | None = None
    """The process group of background children that still run."""
    held: bool = False
    """Whether background children may go on printing into the file."""


@dataclass(frozen=True, kw_only=True)
class Captured:
    """How a program ended, and what it printed to each of its outputs."""

    code: int
    out: bytes
    err: bytes


@dataclass(frozen=True, kw_only=True)
class Piped:
    """A running program and its outputs."""

    process: Process
    out: asyncio.StreamReader
    err: asyncio.StreamReader
    hang_up: Callable[[], None]
    """End both outputs, although a background child may still hold them."""


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    keep: int,
    file: Path | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Finished:
    """Run a command to its end, its outputs merged; at most `keep` bytes of head and of tail in memory.

    A background child does not hold the call open: its later output goes on into `file`. `report` gets the
    latest output, at most four times a second. Raises ToolError if the command cannot be started; then, and
    when it is cancelled, there is no file.
    """
    read_end, write_end = os.pipe()
    transcript = Transcript(keep, file)
    pump = Pump(read_end, transcript)
    timed_out = False
    try:
        async with child(argv, cwd=cwd, env=env, stdout=write_end) as process, leash(process.pid):
            os.close(write_end)
            write_end = -1
            pump.start()
            try:
                async with asyncio.timeout(timeout), asyncio.TaskGroup() as tasks:
                    progress = tasks.create_task(_show_progress(transcript, report))
                    await process.wait()
                    progress.cancel()
            except TimeoutError:
                timed_out = True
                await kill(process)
            await _settle(pump, transcript)
        transcript.freeze()
        text, missing, at = transcript.text()
        return Finished(
            code=process.returncode if process.returncode is not None else -signal.SIGKILL,
            timed_out=timed_out,
            text=text,
            missing=missing,
            at=at,
            file=transcript.file,
            group=process.pid if await _stays(process.pid, pump) else None,
            held=not pump.ended.is_set(),
        )
    except BaseException:
        await asyncio.to_thread(transcript.discard)
        raise
    finally:
        if write_end >= 0:
            os.close(write_end)
            os.close(read_end)


@contextlib.asynccontextmanager
async def piped(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b""
) -> AsyncIterator[Piped]:
    """A program whose outputs are read as they come; killed if it still runs when the block ends."""
    source = await asyncio.to_thread(_file_with, stdin) if stdin else DEVNULL
    ends: list[int] = []
    try:
        for _ in range(2):
            ends += os.pipe()
        out, out_transport = await _reader(ends.pop(0))
        err, err_transport = await _reader(ends.pop(1))

        def hang_up() -> None:
            out_transport.close()
            err_transport.close()

        try:
            async with child(argv, cwd=cwd, env=env, stdin=source, stdout=ends[0], stderr=ends[1]) as process:
                while ends:
                    os.close(ends.pop())
                yield Piped(process=process, out=out, err=err, hang_up=hang_up)
        finally:
            hang_up()
    finally:
        for end in ends if source == DEVNULL else [*ends, source]:
            os.close(end)


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    limit: int = 1_000_000,
) -> Captured:
    """Run a program and keep the first `limit` bytes of each output; raises TimeoutError."""
    async with (
        asyncio.timeout(timeout),
        piped(argv, cwd=cwd, env=env, stdin=stdin) as running,
        leash(running.process.pid),
    ):
        readers = [asyncio.create_task(first(stream, limit)) for stream in (running.out, running.err)]
        try:
            code = await running.process.wait()
            await asyncio.wait(readers, timeout=_SETTLE * 2)
            running.hang_up()
            out, err = await asyncio.gather(*readers)
        finally:
            for reader in readers:
                reader.cancel()
    return Captured(code=code, out=out, err=err)


async def _show_progress(transcript: Transcript, report: Callable[[str], None]) -> None:
    shown = 0
    while True:
        await asyncio.sleep(_REPORT_EVERY)
        if transcript.total != shown:
            shown = transcript.total
            report(transcript.last(_REPORT_BYTES))


async def _settle(pump: Pump, transcript: Transcript) -> None:
    """Wait until the output is complete: its end came, or what still holds the pipe is quiet or too loud."""
    for _ in range(6):
        before = transcript.total
        try:
            async with asyncio.timeout(_SETTLE):
                await pump.ended.wait()
                return
        except TimeoutError:
            if transcript.total == before:
                return


async def _stays(group: int, pump: Pump) -> bool:
    """Whether background children go on; what the command's own end takes with it gets a moment (bwrap's)."""
    for _ in range(1 if not pump.ended.is_set() else 20):
        if not await asyncio.to_thread(process_tree.runs, group):
            return False
        await asyncio.sleep(0.01)
    return True


async def _reader(pipe: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    return reader, transport


async def first(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read a stream to its end and keep its beginning."""
    kept = bytearray()
    while data := await stream.read(1 << 16):
        kept += data[: limit - len(kept)]
    return bytes(kept)


def _file_with(data: bytes) -> int:
    """A descriptor from which a child reads the data; in memory where the system can."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("magent-stdin")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    with os.fdopen(os.dup(descriptor), "wb") as writer:
        writer.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
