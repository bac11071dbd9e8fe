"""The editor's tools as an MCP server on standard input and output; the part that knows the library."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from magent_lsp import __version__
from magent_lsp.core.halves import whole
from magent_lsp.mcp.link import Answer, Link, NoEditor

logger = logging.getLogger(__name__)

NAME: Final = "magent-lsp"
READERS: Final = ("read", "search", "think")
CHANGERS: Final = ("edit", "delete", "move", "execute")
ROOTS_SECONDS: Final = 5
BEAT_SECONDS: Final = 10
"""While a call waits for the person, its caller hears so this often."""


class Outlet:
    """Serves one MCP client."""

    def __init__(self, link: Link, tools: Sequence[Mapping[str, Any]], instructions: str) -> None:
        """`tools` are listed as long as no editor is there."""
        self._link = link
        self._listed = self._usual = list(tools)
        self._entered = 0
        self._asked_for_roots = False
        self._server: Server[Any] = Server(
            NAME,
            version=__version__,
            title="The user's editor",
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def serve(self) -> None:
        """Serve until the client leaves."""
        options = self._server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with stdio_server() as (read, write):
            await self._server.run(read, write, options)

    async def _list(self, context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        await self._meet(context)
        self._listed = await self._tools()
        return ListToolsResult(tools=[_tool(each) for each in self._listed], cache_scope="private", ttl_ms=0)

    async def _call(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        await self._meet(context)
        beat = _Beat(context)
        try:
            answer = await self._link.call(params.name, params.arguments or {}, beat.say)
        except NoEditor as error:
            answer = Answer(text=str(error), failed=True)
        finally:
            beat.stop()
        if self._link.entered != self._entered and self._listed != await self._tools():
            await context.session.send_tool_list_changed()
        return _result(answer)

    async def _tools(self) -> list[Mapping[str, Any]]:
        try:
            tools = list(await self._link.tools())
        except NoEditor as error:
            logger.info("%s", error)
            return self._usual
        self._entered = self._link.entered
        return tools

    async def _meet(self, context: Any) -> None:
        """Learn who calls, and where from, before the editor is looked for."""
        about = context.session.client_params
        if about is not None:
            self._link.name = about.client_info.name
        capabilities = context.session.client_capabilities
        if self._asked_for_roots or capabilities is None or capabilities.roots is None:
            return
        self._asked_for_roots = True
        with contextlib.suppress(Exception):  # an older way, which a client may have declared only
            async with asyncio.timeout(ROOTS_SECONDS):
                found = await context.session.list_roots()
            self._link.places += [path for root in found.roots if (path := _path(str(root.uri)))]


class _Beat:
    """Tells a caller again and again what its call waits for."""

    def __init__(self, context: Any) -> None:
        self._session = context.session
        self._words = ""
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    def say(self, words: str) -> None:
        """What it waits for now."""
        self._words = words
        if self._task is None:
            self._task = asyncio.create_task(self._go_on(), name="progress")

    def stop(self) -> None:
        """The call has ended."""
        if self._task is not None:
            self._task.cancel()

    async def _go_on(self) -> None:
        with contextlib.suppress(Exception):  # nobody listens any more
            while True:
                self._count += 1
                await self._session.report_progress(self._count, None, self._words)
                await asyncio.sleep(BEAT_SECONDS)


def _tool(each: Mapping[str, Any]) -> Tool:
    reads, changes = each["kind"] in READERS, each["kind"] in CHANGERS
    hints = ToolAnnotations(
        read_only_hint=reads, destructive_hint=changes, open_world_hint=each["kind"] in ("fetch", "execute")
    )
    return Tool(
        name=each["name"], description=each["description"], input_schema=each["schema"], annotations=hints
    )


def _result(answer: Answer) -> CallToolResult:
    content: list[ContentBlock] = [TextContent(type="text", text=whole(answer.text))]
    content += [
        ImageContent(type="image", data=image["data"], mime_type=image["mediaType"])
        for image in answer.images
    ]
    return CallToolResult(content=content, is_error=answer.failed)


def _path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(url2pathname(unquote(parts.path))) if parts.scheme == "file" and parts.path else None
