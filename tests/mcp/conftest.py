"""Servers as the app has them, without an editor."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from magent_lsp.core.ports import Wish
from magent_lsp.core.tool import Proposal, Tool, ToolResult
from magent_lsp.mcp.servers import Servers, Standing
from tests.support.tool_context import context_for

ODD = Path(__file__).parents[1] / "support" / "mcp_odd.py"


def odd(*words: str, **more: Any) -> dict[str, Any]:
    """An entry of the server made by hand."""
    return {"command": sys.executable, "args": [str(ODD), *words], **more}


@dataclass
class House:
    """The servers of a folder, and what they were heard to say."""

    servers: Servers
    folder: Path
    told: list[str] = field(default_factory=list)
    learned: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})

    async def tools(
        self, needed: Callable[[str], bool] = lambda prefix: True, **servers: Any
    ) -> dict[str, Tool]:
        """What a run gets."""
        wish = Wish(
            folder=self.folder,
            servers=servers,
            needed=needed,
            environment=self.environment,
            tell=self.told.append,
        )
        return {tool.name: tool for tool in await self.servers.gather(wish)}

    async def use(self, tool: Tool, **arguments: Any) -> ToolResult:
        """Call a tool as if it were allowed."""
        context = context_for(self.folder)
        proposal = await tool.run(tool.input.model_validate(arguments), context)
        assert isinstance(proposal, Proposal)
        assert proposal.act is not None
        return await proposal.act()

    @property
    def standing(self) -> dict[str, Standing]:
        """How it is with each."""
        return {each.name: each for each in self.servers.standings(self.folder)}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    learned: dict[str, str] = {}
    servers = Servers(
        environ={"HOME": str(tmp_path), "MY_TOKEN": "s3cr3t-value"},
        folders=lambda: (tmp_path,),
        redact=lambda text: text.replace("s3cr3t-value", "[redacted]"),
        learn=learned.update,
    )
    yield House(servers, tmp_path, learned=learned)
    async with asyncio.timeout(20):
        await servers.close()


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether a process is no more; one that was killed this moment is looked at again."""

    def ended(pid: int) -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return True
        return stat.rpartition(b")")[2].split()[0] in b"ZX"

    def check(pid: int) -> bool:
        end = time.monotonic() + 5
        while not ended(pid) and time.monotonic() < end:
            time.sleep(0.01)  # a process that the kernel is ending gives no sign
        return ended(pid)

    return check
