"""Our requests to a server, in the words of either era of the protocol.

The handshake comes first: many servers end at anything else (issues lific#57 and webclaw#107 among others). A
server that knows only the protocol without a handshake (2026-07-28) says so, and is asked in its own words.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from pydantic import TypeAdapter

_RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_LOST: Final = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT})


class Requests:
    """What we ask of one server."""

    def __init__(self, session: ClientSession, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._stateless = False

    @property
    def tells(self) -> bool:
        """Whether the server says by itself when its tools change."""
        capabilities = self._session.server_capabilities
        tools = capabilities.tools if capabilities else None
        return not self._stateless and tools is not None and bool(tools.list_changed)

    async def introduce(self) -> None:
        """Agree on a protocol; MCPError if there is none."""
        try:
            await self._session.initialize()
        except MCPError as error:
            if error.error.code in _LOST:
                raise
            try:
                await self._session.discover()
            except (MCPError, RuntimeError):
                raise error from None
            self._stateless = True

    async def tools(self, most_pages: int) -> AsyncIterator[Any]:
        """The items of `tools/list`, page by page, as they are: one bad tool must not hide the others."""
        capabilities = self._session.server_capabilities
        if capabilities is None or capabilities.tools is None:
            return
        cursor: str | None = None
        for _ in range(most_pages):
            page = await self._page(cursor)
            items = page.get("tools")
            for item in items if isinstance(items, list) else ():
                yield item
            before, cursor = cursor, page.get("nextCursor")
            if not isinstance(cursor, str) or cursor == before:
                return

    async def call(
        self, name: str, arguments: Mapping[str, Any], progress: Callable[..., Any]
    ) -> Mapping[str, Any]:
        """The result of `tools/call`; its output schema is left alone: its patterns could stop us."""
        if not self._stateless:
            return await self._dispatcher.send_raw_request(
                "tools/call", {"name": name, "arguments": dict(arguments)}, {"on_progress": progress}
            )
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        result = await self._session.send_request(
            types.CallToolRequest(params=params), _RESULT, progress_callback=progress
        )
        if isinstance(result, types.InputRequiredResult):
            raise ValueError("it wants further input in the middle of a call, which is not served")
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _page(self, cursor: str | None) -> Mapping[str, Any]:
        if not self._stateless:
            params = {"cursor": cursor} if cursor is not None else None
            return await self._dispatcher.send_raw_request("tools/list", params)
        page = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        return page.model_dump(by_alias=True, mode="json", exclude_none=True)
