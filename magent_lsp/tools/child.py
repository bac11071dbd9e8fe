"""Child processes: the only place that starts them.

Every child has its own session and process group and no terminal, cannot ask for passwords on one, and is
awaited. When a call is cancelled or runs out of time, all that the child started ends with it: politely
first, for good after GRACE seconds.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from magent_lsp.core.errors import ToolError
from magent_lsp.tools import process_tree

GRACE = 0.5
"""Seconds between the polite signal and the other one."""


@contextlib.asynccontextmanager
async def child(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: int,
    stderr: int = STDOUT,
    stdin: int = DEVNULL,
) -> AsyncIterator[Process]:
    """A child process; none of its tree is left when the block fails, is cancelled, or ends before it.

    Raises ToolError if it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env={**env, "GIT_TERMINAL_PROMPT": "0"},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"{argv[0]!r} cannot be started in {str(cwd)!r}: {error}.") from error
    try:
        yield process
    except BaseException:
        await kill(process)
        raise
    if process.returncode is None:
        await kill(process)


async def kill(process: Process) -> None:
    """End a child and all that it started, also what moved to another session; returns when it is reaped."""
    members = process_tree.Members([], [])
    try:
        async with asyncio.timeout(GRACE):
            members = await asyncio.to_thread(process_tree.members, process.pid)
            process_tree.send(signal.SIGTERM, process.pid, members.outside)
            await process.wait()
            while process_tree.exists(process.pid):  # noqa: ASYNC110 - the system tells nobody of that
                await asyncio.sleep(0.01)
    except TimeoutError:
        pass
    finally:
        # Also those that were in the group a moment ago: the polite signal may have made them leave it.
        everyone = members.inside + members.outside
        process_tree.send(signal.SIGKILL, process.pid, everyone)
        for member in everyone:
            os.close(member)
        await process.wait()
