"""The way from `magent-lsp mcp` to the editor of a running server: found, and found again when it broke."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from magent_lsp import __version__
from magent_lsp.core.errors import MagentError
from magent_lsp.mcp import doors
from magent_lsp.mcp.doors import Door
from magent_lsp.mcp.frames import LARGEST, PROTOCOL, BadFrame, frames, pack

logger = logging.getLogger(__name__)

LONGEST_ANSWER: Final = 64_000_000
"""Bytes: a few pictures."""
CONNECT_SECONDS: Final = 10
BROKEN: Final = (
    "The connection to the editor broke before this was done, so it is not known whether it had an effect: "
    "look at the file first."
)
AGENT: Final = "guest"
"""Our agent whose permissions say what another program's may do."""


class NoEditor(MagentError):
    """There is no editor that could be used; says what to do."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a call."""

    text: str
    failed: bool = False
    images: Sequence[Mapping[str, str]] = ()
    """`mediaType` and `data`, in Base64."""


@dataclass(eq=False)
class _Line:
    """One connection."""

    writer: asyncio.StreamWriter
    reading: "asyncio.Task[None] | None" = None
    waiting: dict[int, "asyncio.Future[Mapping[str, Any]]"] = field(default_factory=dict)
    told: dict[int, Callable[[str], None]] = field(default_factory=dict)
    why: str = ""
    """Why it was closed, if the server said so."""

    def answer(self, number: Any, message: Mapping[str, Any]) -> None:
        """Hand an answer to whoever waits for it."""
        waiting = self.waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def send(self, kind: str, **fields: Any) -> None:
        """Say something; what the other end does not take is not kept waiting for."""
        with contextlib.suppress(OSError):
            self.writer.write(pack(kind, **fields))


class Link:
    """Calls tools in the editor that has a folder open."""

    def __init__(self, folder: Path, places: Sequence[Path], tell: Callable[[str], None]) -> None:
        """`folder` is where doors are told of; `tell` says something to the person, on stderr."""
        self.places = list(places)
        """Where the caller stands; the first for which there is an editor counts."""
        self.name = ""
        """What the caller calls itself."""
        self._folder = folder
        self._tell = tell
        self._line: _Line | None = None
        self._connecting = asyncio.Lock()
        self._ids = itertools.count(1)
        self._said = ""
        self.entered = 0
        """How often an editor was found: whenever this grows, the tools may be others."""

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools that the editor offers; NoEditor."""
        answer = await self._ask("tools")
        if answer["kind"] != "tools":
            raise NoEditor(str(answer["text"]))
        tools: Sequence[Mapping[str, Any]] = answer["tools"]
        return tools

    async def call(self, name: str, arguments: Mapping[str, Any], waiting: Callable[[str], None]) -> Answer:
        """Use a tool; `waiting` is told in words what it waits for. NoEditor; cancelled with the caller."""
        if (size := len(pack("call", name=name, arguments=arguments))) > LARGEST:
            text = f"Nothing was done: {size:,} bytes are too many for one call; {LARGEST:,} are the most."
            return Answer(text=text, failed=True)
        answer = await self._ask("call", waiting, name=name, arguments=arguments)
        return Answer(text=answer["text"], failed=answer["failed"], images=answer["images"])

    async def close(self) -> None:
        """Leave."""
        if self._line is not None:
            self._drop(self._line)

    async def _ask(
        self, kind: str, waiting: Callable[[str], None] | None = None, **fields: Any
    ) -> Mapping[str, Any]:
        line = await self._connected()
        number = next(self._ids)
        answer = line.waiting[number] = asyncio.get_running_loop().create_future()
        if waiting is not None:
            line.told[number] = waiting
        line.send(kind, id=number, **fields)
        try:
            found: Mapping[str, Any] = await answer
            return found
        except asyncio.CancelledError:
            line.send("cancel", id=number)
            raise
        finally:
            line.waiting.pop(number, None)
            line.told.pop(number, None)

    async def _connected(self) -> _Line:
        async with self._connecting:
            if self._line is None:
                self._line = await self._connect()
            return self._line

    async def _connect(self) -> _Line:
        found = await asyncio.to_thread(doors.doors, self._folder)
        why = ""
        for place in self.places:
            chosen = await asyncio.to_thread(doors.choose, found, place)
            if len(chosen) > 1:
                self._say(f"{len(chosen)} editors have {place} open; the tools work in {chosen[0][0].words}")
            for door, _ in chosen:
                try:
                    return await self._enter(door, place)
                except (OSError, TimeoutError) as error:
                    said = str(error) or "it does not answer"
                    why = (
                        f"The server of {door.words}, cannot be reached ({said}). If that lasts, restart it."
                    )
                except NoEditor as error:
                    why = str(error)
        raise NoEditor(why or self._what_to_do(found))

    async def _enter(self, door: Door, place: Path) -> _Line:
        if door.protocol != PROTOCOL:
            raise NoEditor(
                f"The server of {door.words} is magent-lsp {door.version}, and this is {__version__}, which "
                "speaks another version of the protocol: install the same one for both, and restart them."
            )
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await _open(door)
            line = _Line(writer)
            try:
                line.send(
                    "hello",
                    protocol=PROTOCOL,
                    version=__version__,
                    token=door.token,
                    name=self.name,
                    place=str(place),
                )
                messages = frames(reader, lambda: LONGEST_ANSWER)
                first = await anext(messages, None)
                if first is None or first["kind"] != "welcome":
                    why = first.get("why") if first is not None else "it hung up"
                    raise NoEditor(f"The server of {door.words} does not let this in: {why}")
            except (BadFrame, NoEditor) as error:
                writer.close()
                raise NoEditor(str(error)) from error
            except BaseException:
                writer.close()
                raise
        logger.info("in %s, in the folder %s", door.words, first.get("folder"))
        self.entered += 1
        line.reading = asyncio.create_task(self._read(line, messages), name="editor")
        return line

    async def _read(self, line: _Line, messages: Any) -> None:
        try:
            async for message in messages:
                number = message.get("id")
                if message["kind"] == "waiting" and number in line.told:
                    line.told[number](str(message.get("words")))
                elif message["kind"] in ("result", "tools"):
                    line.answer(number, message)
                elif message["kind"] == "refused":
                    line.why = f"{message.get('why')} "
                    return
        except BadFrame as error:
            logger.warning("the editor's server said something odd: %s", error)
        finally:
            self._drop(line)

    def _drop(self, line: _Line) -> None:
        """Forget a connection; the next call looks for an editor anew."""
        if self._line is line:
            self._line = None
        line.writer.close()
        for answer in line.waiting.values():
            if not answer.done():
                answer.set_result(
                    {"kind": "result", "text": f"{line.why}{BROKEN}", "failed": True, "images": ()}
                )
        if line.reading is not None and line.reading is not asyncio.current_task():
            line.reading.cancel()

    def _what_to_do(self, found: Sequence[Door]) -> str:
        others = [str(folder) for door in found for folder in door.folders]
        elsewhere = f" Open in editors are only: {', '.join(others)}." if others else ""
        return (
            f"There is no editor that has {self.places[0]} open and lets other agents in.{elsewhere} Ask the "
            "user to open that folder in an editor that runs `magent-lsp serve`, with the setting "
            "`serveMcp: true`, and call again."
        )

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._tell(text)


async def _open(door: Door) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if door.path is not None:
        return await asyncio.open_unix_connection(door.path)
    return await asyncio.open_connection("127.0.0.1", door.port)
