"""The tools of a server as they are now, also when it changes them."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Final

from mcp.shared.exceptions import MCPError

from magent_lsp.core.errors import ToolError
from magent_lsp.mcp.definition import Definition, define_all, on_one_line
from magent_lsp.mcp.entry import Entry
from magent_lsp.mcp.pulse import LIST_SECONDS, Pulse
from magent_lsp.mcp.requests import Requests

logger = logging.getLogger(__name__)

_MOST_TOOLS: Final = 2_000
_MOST_PAGES: Final = 100


class Catalogue:
    """What a server offers; empty when that cannot be found out, so that nothing unseen runs."""

    def __init__(self, entry: Entry, requests: Requests, pulse: Pulse) -> None:
        self.tools: Mapping[str, Definition] = {}
        """By the server's names, in their order."""
        self.left_out: tuple[str, ...] = ()
        """Tools that cannot be offered, and why."""
        self._entry = entry
        self._requests = requests
        self._pulse = pulse
        self._stale = False
        self._others = False
        """Whether the server says that its tools are not those that we know."""
        self._work: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """List the tools; raises what goes wrong."""
        said = []
        async for item in self._requests.tools(_MOST_PAGES):
            said.append(item)
            if len(said) > _MOST_TOOLS:
                break
        self.tools, self.left_out = await asyncio.to_thread(define_all, self._entry, said, _MOST_TOOLS)

    def changed(self) -> None:
        """The server says that they are others now: list them again, however often it says so."""
        self._others = True
        self.look()

    def look(self) -> None:
        """List them again, in the background."""
        self._stale = True
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._read_again())

    async def settle(self) -> None:
        """Wait for a list that is on its way; ToolError if the server changes it all the time."""
        if self._work is None or self._work.done():
            return
        await asyncio.wait([self._work], timeout=2 * LIST_SECONDS)
        if not self._work.done():
            raise ToolError(f"The MCP server {self._entry.name!r} does not stop changing its tools.")

    async def refresh(self) -> None:
        """List them anew, where the server does not tell by itself when they change."""
        if self._pulse.wary or not self._requests.tells:
            self.look()
        with contextlib.suppress(ToolError):
            await self.settle()

    def close(self) -> None:
        """The connection is over."""
        if self._work is not None:
            self._work.cancel()

    async def _read_again(self) -> None:
        while self._stale and not self._pulse.hung.is_set():
            self._stale, others, self._others = False, self._others, False
            try:
                async with asyncio.timeout(self._pulse.patience()):
                    await self.read()
                self._pulse.heard()
            except TimeoutError:
                if self._pulse.missed() or others:
                    self._forget("it did not answer")
            except (MCPError, ValueError) as error:
                self._forget(on_one_line(error))
            except Exception as error:  # whatever they are now, they are not known
                logger.exception("the tools of MCP server %r cannot be taken", self._entry.name)
                self._forget(on_one_line(repr(error)))

    def _forget(self, why: str) -> None:
        logger.warning("MCP server %r did not list its tools again: %s", self._entry.name, why)
        self.tools, self.left_out = {}, (f"all, since it did not list them again: {why}",)
