"""One connection of a guest: what it says, what it is told; a broken or bad one harms nobody."""

import asyncio
import hmac
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from magent_lsp import __version__
from magent_lsp.app.guests.house import House
from magent_lsp.app.guests.visit import Visit
from magent_lsp.core.errors import MagentError
from magent_lsp.core.messages import ToolMessage
from magent_lsp.core.tool import Tool
from magent_lsp.mcp.doors import Door
from magent_lsp.mcp.frames import LARGEST, PROTOCOL, BadFrame, frames, pack

logger = logging.getLogger(__name__)

HELLO_SECONDS: Final = 10
"""Who says nothing is let go after this."""
STOP_SECONDS: Final = 2
"""How long the calls of one who is sent out may take to end."""
STRANGERS: Final = 4_000
"""Bytes of the first message."""
MOST_CALLS: Final = 16
"""Calls at a time."""
MOST_UNREAD: Final = 32_000_000
"""Bytes that a guest may leave unread before it is let go."""

_ODD: Final = re.compile(r"[^\w .:@/()+-]+")


class Peer:
    """Serves one connection to its end."""

    def __init__(
        self,
        house: House,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        token: str,
        door: Callable[[], Door],
    ) -> None:
        self._house = house
        self._reader, self._writer = reader, writer
        self._token = token
        self._door = door
        self._most = STRANGERS
        self._calls: dict[int, asyncio.Task[None]] = {}
        self.folder: Path | None = None
        """Where the guest stands, once it was let in."""
        self._visit: Visit | None = None

    async def converse(self) -> None:
        """Take messages until the guest leaves, then end its calls and its run."""
        try:
            messages = frames(self._reader, lambda: self._most)
            self._visit = await self._admit(messages)
            if self._visit is not None:
                await self._listen(messages, self._visit)
        except BadFrame as error:
            self._send("refused", why=str(error))
        except asyncio.CancelledError:
            await self._see_off()
            raise
        finally:
            for call in list(self._calls.values()):
                call.cancel()
            if self._visit is not None:
                await self._visit.end()

    def renew(self) -> None:
        """Folders or rules may be others now: they count from the next call on."""
        if self._visit is not None:
            self._visit.renew()

    async def _see_off(self) -> None:
        """The door closes: what is at work is ended, and its caller told what became of it."""
        if self._visit is not None:
            self._visit.stop()
        if self._calls:
            await asyncio.wait(list(self._calls.values()), timeout=STOP_SECONDS)
        self._send("refused", why="The editor lets no other agents in any more.")

    async def _admit(self, messages: AsyncIterator[Mapping[str, Any]]) -> Visit | None:
        """The visit of one who may come in; None, with the reason told, for others."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = await anext(messages, None)
        except TimeoutError:
            return None
        if hello is None:
            return None
        why, folder = await self._look_at(hello)
        if folder is None:
            self._send("refused", why=why)
            return None
        self._most, self.folder = LARGEST, folder
        await self._house.app.load()
        self._send("welcome", folder=str(folder), version=__version__)
        return Visit(self._house, shown_name(hello.get("name")), folder, lambda: self._door().folders)

    async def _look_at(self, hello: Mapping[str, Any]) -> tuple[str, Path | None]:
        """Why somebody is not let in, or the workspace folder in which they stand."""
        if hello["kind"] != "hello" or not isinstance(hello.get("token"), str):
            return "The first message must be `hello`, with a token.", None
        if not hmac.compare_digest(hello["token"].encode("utf-8", "replace"), self._token.encode()):
            return "The token is wrong.", None
        if hello.get("protocol") != PROTOCOL:
            theirs = str(hello.get("version"))[:40]
            return (
                f"The editor runs magent-lsp {__version__}, and this is {theirs}, which speaks another "
                "version of the protocol: install the same one for both, and restart them.",
                None,
            )
        place = str(hello.get("place") or "")
        folder = await asyncio.to_thread(self._standing, Path(place))
        return f"No workspace folder of the editor holds {place!r}.", folder

    def _standing(self, place: Path) -> Path | None:
        """The folder in which a place lies, unless the innermost one there lets nobody in."""
        door = self._door()
        innermost = replace(door, folders=self._house.app.folders).holder(place)
        return innermost if innermost in door.folders else None

    async def _listen(self, messages: AsyncIterator[Mapping[str, Any]], visit: Visit) -> None:
        async for message in messages:
            number = message.get("id")
            if not isinstance(number, int) or isinstance(number, bool):
                raise BadFrame("A message without an `id`.")
            match message["kind"]:
                case "cancel":
                    if (call := self._calls.get(number)) is not None:
                        call.cancel()
                case "call" | "tools" if number in self._calls:
                    raise BadFrame(f"The id {number} is in use.")
                case "tools":
                    self._send("tools", id=number, tools=await self._tools(visit.folder))
                case "call":
                    self._begin(number, message, visit)
            # A burst of messages must not keep the calls that it began from being carried out.
            await asyncio.sleep(0)

    async def _tools(self, folder: Path) -> list[dict[str, Any]]:
        await asyncio.to_thread(self._house.app.snapshot, folder)
        try:
            return [described(tool) for tool in self._house.app.guest_tools(folder)]
        except MagentError as error:
            logger.warning("nothing is offered to other agents: %s", error)
            return []

    def _begin(self, number: int, message: Mapping[str, Any], visit: Visit) -> None:
        if len(self._calls) >= MOST_CALLS:
            why = f"Nothing was done: {MOST_CALLS} calls at a time are the most. Wait for one of them to end."
            self._send("result", id=number, text=why, images=[], failed=True)
            return
        task = asyncio.create_task(self._call(number, message, visit), name=f"guest's call {number}")
        self._calls[number] = task
        task.add_done_callback(lambda _: self._calls.pop(number, None))

    async def _call(self, number: int, message: Mapping[str, Any], visit: Visit) -> None:
        name, arguments = message.get("name"), message.get("arguments")

        def waiting(words: str) -> None:
            self._send("waiting", id=number, words=words)

        result = await visit.call(str(name)[:200], arguments, waiting)
        self._send("result", id=number, **_answer(result))

    def _send(self, kind: str, **fields: Any) -> None:
        if self._writer.is_closing():
            return
        self._writer.write(pack(kind, **fields))
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            logger.warning("a guest reads nothing: it is let go")
            self._writer.transport.abort()


def refuse(writer: asyncio.StreamWriter, why: str) -> None:
    """Turn somebody away, with a reason."""
    writer.write(pack("refused", why=why))
    writer.close()


def shown_name(value: object) -> str:
    """How a guest is called here: what it says of itself, as far as that is a name."""
    text = _ODD.sub("", value)[:40].strip(" .:@/()+-") if isinstance(value, str) else ""
    return text or "another agent"


def described(tool: Tool) -> dict[str, Any]:
    """A tool for a guest."""
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.parameters,
        "kind": tool.kind,
    }


def _answer(result: ToolMessage) -> dict[str, Any]:
    images = [{"mediaType": image.media_type, "data": image.data} for image in result.images]
    return {"text": result.text, "images": images, "failed": result.status != "completed"}
