"""An agent of another program: a real `magent-lsp mcp` process, driven by the `mcp` library's client.

async with editor(home, settings=SERVED) as client:
    async with guest(home) as agent:
        assert (await agent.use("read_file", path="a.py")).text
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Implementation, ListRootsResult, Root, TextContent

from magent_lsp.mcp import doors
from magent_lsp.mcp.doors import Door
from tests.support.lsp_client import LspClient, server_environment

SERVED = {"serveMcp": True}
SECRET = "sk-test-secret-value-123456"
"""The person's key, in the tests that look for it."""
NAME = "claude-code"


@dataclass(frozen=True)
class Got:
    """What a call came to."""

    text: str
    failed: bool
    result: CallToolResult


@dataclass
class GuestClient:
    """The agent's end."""

    session: ClientSession
    log: Path
    """What its `magent-lsp mcp` said on stderr."""
    heard: list[str] = field(default_factory=list)
    """Methods of notifications that came."""

    async def use(self, tool: str, *, progress: Any = None, **arguments: Any) -> Got:
        """Call a tool."""
        result = await self.session.call_tool(tool, arguments, progress_callback=progress)
        assert isinstance(result, CallToolResult)
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        return Got("".join(texts), result.is_error, result)

    async def tools(self) -> list[str]:
        """The names of the tools that are listed."""
        return [tool.name for tool in (await self.session.list_tools()).tools]


@asynccontextmanager
async def guest(
    home: Path,
    *words: str,
    cwd: Path | None = None,
    name: str = NAME,
    roots: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[GuestClient]:
    """An agent in the workspace `ws` of `home`, or in `cwd`."""
    log = home / f"mcp-{name}.txt"
    heard: list[str] = []

    async def list_roots(context: Any) -> ListRootsResult:
        assert roots is not None
        return ListRootsResult(roots=[Root(uri=roots.as_uri())])  # type: ignore[arg-type]

    async def note(message: Any) -> None:
        heard.append(getattr(message, "method", type(message).__name__))

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "magent_lsp", "mcp", *words],
        env=server_environment(home, **(environment or {})),
        cwd=str(cwd or home / "ws"),
    )
    with log.open("a") as errors:
        async with (
            stdio_client(parameters, errlog=errors) as (read, write),
            ClientSession(
                read,
                write,
                client_info=Implementation(name=name, version="1.0"),
                list_roots_callback=list_roots if roots is not None else None,
                message_handler=note,
            ) as session,
        ):
            await session.initialize()
            yield GuestClient(session, log, heard)


async def door(home: Path, *, count: int = 1, seconds: float = 20) -> Door:
    """The newest door of a home, as soon as there are so many; AssertionError if there never are."""
    folder = home / "state" / "guests"
    await holds(lambda: len(doors.doors(folder)) >= count, seconds)
    return max(doors.doors(folder), key=lambda each: each.opened)


async def holds(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something holds that only looking can tell; AssertionError if it never does."""

    def look() -> bool:
        end = time.monotonic() + seconds
        while not (found := condition()) and time.monotonic() < end:
            time.sleep(0.02)
        return found

    assert await asyncio.to_thread(look)


async def asked(client: LspClient) -> dict[str, Any]:
    """The one permission request that waits."""
    await client.until(
        lambda: client.questions or any("waits for your permission" in text for _, text in client.messages)
    )
    (request,) = await client.command("magent.pending")
    assert isinstance(request, dict)
    return request


def ended(client: LspClient) -> list[dict[str, Any]]:
    """How the runs ended, in order."""
    return [each["event"] for each in client.events if each["event"]["type"] == "run_finished"]


async def over(client: LspClient, count: int = 1) -> list[dict[str, Any]]:
    """How the runs ended, when so many have."""
    found: list[dict[str, Any]] = await client.until(
        lambda: found if len(found := ended(client)) >= count else None
    )
    return found


def edit(agent: GuestClient, **more: Any) -> Any:
    """The usual edit, of `a.py`."""
    return agent.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 42", **more)


def text_of(client: LspClient, name: str = "a.py") -> str:
    """What a buffer holds."""
    assert client.folder is not None
    return client.buffers[(client.folder / name).as_uri()].text
