"""API keys that a command prints, for people who keep them in a keyring."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

from magent_lsp.core.errors import ModelError

_SECONDS = 10
_LONGEST = 8192


async def key_from_command(command: str, environ: Mapping[str, str], *, seconds: float = _SECONDS) -> str:
    """The first line that a shell command prints; never logged. ModelError if there is none in time."""
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            output, complaint = await process.communicate()
    except TimeoutError as error:
        raise _failed(f"did not end within {seconds:g} s; does it ask for a passphrase?") from error
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()
    if process.returncode:
        lines = complaint.decode(errors="replace").strip().splitlines() or ["it printed no error"]
        raise _failed(f"ended with code {process.returncode}: {lines[-1][:200]}")
    lines = output[:_LONGEST].decode(errors="replace").strip().splitlines()
    if not lines:
        raise _failed("printed nothing; it has to print the key")
    return lines[0].strip()


def _failed(why: str) -> ModelError:
    return ModelError(f"`apiKeyCommand` {why}", kind="unconfigured")


def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
