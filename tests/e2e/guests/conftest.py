"""An editor that lets other programs' agents in."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.guest import SECRET, SERVED, door
from tests.support.lsp_client import EVENTS, LspClient, editor


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A short one: the path of a socket must be, and that of pytest's is not beside other workers."""
    with tempfile.TemporaryDirectory(prefix="guest-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[LspClient]:
    """An editor that lets guests in, with a file that is open and not saved."""
    async with editor(
        tmp_path,
        settings=SERVED,
        client={**EVENTS, "input": True},
        files={"a.py": "x = 1\n", "b.py": "b = 1\n", ".env": "KEY=hush\n"},
        environment={"OPENAI_API_KEY": SECRET},
    ) as client:
        client.open("a.py", "x = 1\ny = 2\n")
        client.always = "Allow once"
        await door(tmp_path)
        yield client
