"""What is to end with us ends with us, also after `kill -9`."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

CODE = """
import asyncio, sys
from asyncio.subprocess import DEVNULL
from pathlib import Path
from magent_lsp.tools.leash import leash
from magent_lsp.tools.process import child

async def main():
    argv = ["sh", "-c", sys.argv[1]]
    async with child(argv, cwd=Path("/"), env={"PATH": "/usr/bin:/bin"}, stdout=DEVNULL) as process:
        async with leash(process.pid):
            print(process.pid, flush=True)
            await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("what", ["sleep 600", "trap '' TERM; sleep 600 & sleep 600"])
async def test_a_group_ends_when_its_owner_is_killed(what: str, tmp_path: Path) -> None:
    """A server that an editor's crash leaves behind would hold files and ports for ever."""
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CODE, what, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert owner.stdout is not None
    group = int(await owner.stdout.readline())
    assert running(group)
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    async with asyncio.timeout(5):
        while running(group):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def running(group: int) -> bool:
    """Whether a living process belongs to the group."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, found = path.read_bytes().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(found) == group and state not in b"ZX":
            return True
    return False
