"""What is to end with us, also when nobody can end it any more: after `kill -9` of this process."""

import contextlib
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from magent_lsp.tools.child import child

_SHELL: Final = "/bin/sh"
_WATCH: Final = 'read _; kill -s TERM -- "-$0"; sleep 1; kill -s KILL -- "-$0"'
"""Waits for the end of a pipe of which only we hold the other end."""


@contextlib.asynccontextmanager
async def leash(group: int) -> AsyncIterator[None]:
    """While the block runs, the end of this process, however it comes, ends the process group."""
    if os.name != "posix":
        yield
        return
    env = {"PATH": os.defpath}
    argv = [_SHELL, "-c", _WATCH, str(group)]
    async with child(argv, cwd=Path("/"), env=env, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL) as watcher:
        try:
            yield
        finally:
            # At once, and before its pipe ends: what the group has left in the background may go on.
            with contextlib.suppress(ProcessLookupError):
                watcher.kill()
            await watcher.wait()
