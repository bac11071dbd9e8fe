"""What is to end with us ends with us, also after `kill -9`."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from magent_lsp.tools import process
from magent_lsp.tools.process_tree import send
from tests.support.processes import runs

CODE = """
import asyncio, sys
from asyncio.subprocess import DEVNULL
from pathlib import Path
from magent_lsp.tools.leash import leash
from magent_lsp.tools.child import child

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
    assert runs(group)
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    async with asyncio.timeout(20):
        while runs(group):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_what_a_command_leaves_in_the_background_goes_on_when_the_command_has_ended() -> None:
    """A development server that an agent has started is of use after the call."""
    ended = await process.run(
        ["sh", "-c", "sleep 600 & echo started"],
        cwd=Path("/"),
        env={"PATH": "/usr/bin:/bin"},
        timeout=10,
        keep=1_000,
    )
    assert ended.group is not None
    try:
        assert ended.text == "started\n"
        assert runs(ended.group)
    finally:
        send(signal.SIGKILL, ended.group, ())
