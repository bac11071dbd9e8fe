"""One connection to a server, from its start to its end, kept by one task as the library wants it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from magent_lsp import __version__
from magent_lsp.core.errors import ToolError, UserError
from magent_lsp.core.tool import Ask
from magent_lsp.mcp.calls import Call
from magent_lsp.mcp.catalogue import Catalogue
from magent_lsp.mcp.definition import Definition, on_one_line
from magent_lsp.mcp.entry import Entry
from magent_lsp.mcp.http import Watch, http
from magent_lsp.mcp.pulse import Pulse
from magent_lsp.mcp.requests import Requests
from magent_lsp.mcp.stdio import Pipes, stdio
from magent_lsp.mcp.words import in_words

logger = logging.getLogger(__name__)

START_SECONDS: Final = 60
"""A server that has not listed its tools by then is given up."""
END_SECONDS: Final = 2

_LOST: Final = frozenset({"Connection closed", "Session terminated", "Server returned an error response"})
"""What the library says when the server, or only its memory of us, is gone; codes do not tell them apart."""

_HUNG: Final = "it did not answer any more"

State = Literal["starting", "ready", "ended"]


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a server may know of us, and we do with what it says."""

    cwd: Path
    folders: Callable[[], Sequence[Path]]
    """The workspace folders, which it may ask for."""
    environment: Mapping[str, str]
    redact: Callable[[str], str]


class Connection:
    """A server and its tools."""

    def __init__(self, entry: Entry, around: Around, *, wary: bool = False) -> None:
        """`wary`: it takes the place of one that hung."""
        self.entry = entry
        self.state: State = "starting"
        self.why = ""
        """Why it ended, in words."""
        self.late = False
        """It ended since it did not answer."""
        self.settled = asyncio.Event()
        """Set when it is ready or has ended."""
        self._around = around
        self._requests: Requests | None = None
        self._over = asyncio.Event()
        self._calls: list[Call] = []
        self._pulse = Pulse(wary=wary)
        self._catalogue: Catalogue | None = None
        self._watch = Watch()
        self._task = asyncio.create_task(self._live(), name=f"MCP server {entry.name}")

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, report: Callable[[str], None], ask: Ask | None
    ) -> Mapping[str, Any]:
        """The result of `tools/call`; ToolError in words. A call that is cancelled is cancelled there too."""
        requests = self._requests
        if requests is None or self.state != "ready" or self.hung:
            raise ToolError(self._gone())
        call = Call(self.entry.timeout, report, ask)
        self._calls.append(call)
        self._pulse.waiting += 1
        answered = False
        try:
            result = await call.result(lambda progress: requests.call(name, arguments, progress))
            answered = True
            return result
        except TimeoutError:
            server, seconds = self.entry.name, self.entry.timeout
            raise ToolError(
                f"The MCP server {server!r} did not answer within {seconds:g} s; the call was cancelled."
            ) from None
        except MCPError as error:
            answered = True
            raise ToolError(await self._failed(error)) from None
        except ValueError as error:
            words = on_one_line(error)
            raise ToolError(f"The MCP server {self.entry.name!r} gave no proper result: {words}") from None
        finally:
            self._calls.remove(call)
            self._pulse.waiting -= 1
            self._feel(answered)

    def _feel(self, answered: bool) -> None:
        """See in the background whether a server that left a call unanswered hangs, before it is needed."""
        if answered:
            self._pulse.heard()
        elif self.state == "ready" and self._catalogue is not None:
            self._pulse.given_up()
            self._catalogue.look()

    @property
    def hung(self) -> bool:
        """Whether it ran, and is ended since it did not answer any more."""
        return self._pulse.hung.is_set()

    @property
    def tools(self) -> Mapping[str, Definition]:
        """Its tools by its own names, in an order that stays."""
        return self._catalogue.tools if self._catalogue is not None else {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Tools that cannot be offered, and why."""
        return self._catalogue.left_out if self._catalogue is not None else ()

    async def current(self, name: str) -> Definition | None:
        """The definition of a tool as it is now; waits for a new list if there is one on its way.

        ToolError if the server hangs.
        """
        if self._catalogue is not None:
            await self._catalogue.settle()
        if self.hung:
            raise ToolError(self._gone())
        return self.tools.get(name)

    async def refresh(self) -> None:
        """See that the tools are those of now, before a run is shown them."""
        if self.state == "ready" and self._catalogue is not None:
            await self._catalogue.refresh()

    async def close(self) -> None:
        """End it, and all that it started; bounded."""
        self._over.set()
        if self.state != "starting":
            await asyncio.wait([self._task], timeout=END_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=END_SECONDS)

    # -- its life -----------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            async with self._transport() as (link, pipes):
                dispatcher = JSONRPCDispatcher(link.read, link.write)
                session = self._session(dispatcher)
                async with session:
                    requests = Requests(session, dispatcher)
                    ended = asyncio.create_task(pipes.ended.wait()) if pipes else None
                    try:
                        await self._start(requests, ended, pipes)
                        await self._wait(ended)
                    finally:
                        if ended is not None:
                            ended.cancel()
                if pipes is not None and pipes.ended.is_set() and not self.hung:
                    self.why = await pipes.last_words()
        except asyncio.CancelledError:
            self.why = self.why or "it was ended"
            raise
        except TimeoutError:
            self.late = True
            self.why = "it did not answer in time"
        except Exception as error:
            self.why = self.why or in_words(error, self.entry, self._watch.status)
        finally:
            self.state, self._requests = "ended", None
            self.why = self._around.redact(self.why or "it was ended")
            if self._catalogue is not None:
                self._catalogue.close()
            self.settled.set()
            logger.info("MCP server %r: %s", self.entry.name, self.why)

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Pipes | None]]:
        entry, around = self.entry, self._around
        if entry.command is None:
            async with http(entry, self._watch) as line:
                yield line, None
            return
        cwd = around.cwd / entry.cwd if entry.cwd else around.cwd
        async with stdio(
            [entry.command, *entry.args],
            name=entry.name,
            cwd=cwd,
            env={**around.environment, **entry.env},
            redact=around.redact,
        ) as pipes:
            yield pipes, pipes

    def _session(self, dispatcher: JSONRPCDispatcher[Any]) -> ClientSession:
        return ClientSession(
            dispatcher=dispatcher,
            client_info=types.Implementation(name="magent-lsp", version=__version__),
            list_roots_callback=self._roots,
            elicitation_callback=self._elicit,
            message_handler=self._hear,
            logging_callback=self._log,
        )

    async def _start(
        self, requests: Requests, ended: "asyncio.Task[Any] | None", pipes: Pipes | None
    ) -> None:
        """Shake hands and list the tools; a server that ends meanwhile is not waited for."""
        work = asyncio.create_task(self._introduce(requests))
        try:
            async with asyncio.timeout(max(START_SECONDS, self.entry.patience)):
                waiting: list[asyncio.Task[Any]] = [work, *([ended] if ended else [])]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if not work.done() and pipes is not None:
                    raise UserError(await pipes.last_words())
            try:
                await work
            except MCPError as error:
                if pipes is not None and pipes.ended.is_set():
                    raise UserError(await pipes.last_words()) from error
                raise
        finally:
            work.cancel()
            await asyncio.wait([work], timeout=END_SECONDS)
        self._requests, self.state = requests, "ready"
        self.settled.set()

    async def _introduce(self, requests: Requests) -> None:
        await requests.introduce()
        self._catalogue = Catalogue(self.entry, requests, self._pulse)
        await self._catalogue.read()

    async def _wait(self, ended: "asyncio.Task[Any] | None") -> None:
        signs = [asyncio.create_task(each.wait()) for each in (self._over, self._pulse.hung)]
        try:
            tasks: list[asyncio.Task[Any]] = [*signs, *([ended] if ended else [])]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for sign in signs:
                sign.cancel()
        if self.hung:  # at once: its end takes a while, and a new one need not wait for it
            self.state, self.why = "ended", _HUNG

    # -- what it says and asks ----------------------------------------------------------------------

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification) and self._catalogue is not None:
            self._catalogue.changed()

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        text = self._around.redact(str(params.data))[:500]
        logger.debug("MCP server %r says (%s): %s", self.entry.name, params.level, text)

    async def _roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        roots = [
            types.Root.model_validate({"uri": folder.as_uri(), "name": folder.name})
            for folder in self._around.folders()
        ]
        return types.ListRootsResult(roots=roots)

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        call = next((each for each in reversed(self._calls) if each.ask is not None), None)
        if call is None:
            return types.ElicitResult(action="decline")
        said = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        return types.ElicitResult.model_validate(dict(await call.answer(self.entry.name, said)))

    # -- in words -----------------------------------------------------------------------------------

    def _gone(self) -> str:
        why = self.why or (_HUNG if self.hung else "")
        why = f": {why}" if why else ""
        return (
            f"The MCP server {self.entry.name!r} does not run{why}. It is started again with the next prompt."
        )

    async def _failed(self, error: MCPError) -> str:
        name, message = self.entry.name, error.error.message
        if error.error.code == types.PARSE_ERROR:
            return f"The MCP server {name!r} failed at this call: {on_one_line(message, 2000)}"
        if message not in _LOST:
            return f"The MCP server {name!r} refused this call: {on_one_line(message, 2000)}"
        self._over.set()
        await asyncio.wait([self._task], timeout=END_SECONDS)
        why = self.why or message
        return (
            f"The MCP server {name!r} was lost during this call ({why}); what it did of it is not known. "
            "It is started again with the next prompt."
        )
