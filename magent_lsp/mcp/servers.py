"""All MCP servers of one client: started when a run needs them, ended with the workspace."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magent_lsp.core.errors import UserError
from magent_lsp.core.ports import Wish
from magent_lsp.core.tool import Tool
from magent_lsp.mcp import load
from magent_lsp.mcp.entry import Entry, expanded, read_entry
from magent_lsp.mcp.names import prefix_of
from magent_lsp.mcp.tool import make_tool

if TYPE_CHECKING:
    from magent_lsp.mcp.connection import Connection

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How it is with one server, for people."""

    name: str
    ok: bool
    words: str
    """One sentence without its end."""
    left_out: tuple[str, ...] = ()
    """Tools that cannot be offered, and why."""


class _Slot:
    """One server of one folder."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.connection: Connection | None = None
        self.fault = ""
        """Why it cannot even be started."""
        self.patient_until = 0.0
        """Runs wait for it until then, by the loop's clock."""
        self.told = ""
        """What people know of it already."""
        self.made: tuple[Mapping[str, Any], tuple[Tool, ...]] | None = None
        """The tools, and the definitions that they were made from."""

    @property
    def ready(self) -> bool:
        return self.connection is not None and self.connection.state == "ready"

    def tools(self) -> tuple[Tool, ...]:
        """Those that can be used now."""
        connection = self.connection
        if connection is None or connection.state != "ready":
            return ()
        if self.made is None or self.made[0] is not connection.tools:
            made = tuple(make_tool(connection, each) for each in connection.tools.values())
            self.made = (connection.tools, made)
        return self.made[1]

    def standing(self) -> Standing:
        entry, connection = self.entry, self.connection
        if entry.disabled:
            return Standing(name=entry.name, ok=True, words="disabled")
        if self.fault:
            return Standing(name=entry.name, ok=False, words=self.fault)
        if connection is None:
            return Standing(
                name=entry.name, ok=True, words="not started yet: the first prompt that can use it does"
            )
        if connection.state == "starting":
            words = f"{entry.place} has not answered yet; it goes on starting, and its tools come later"
            return Standing(name=entry.name, ok=False, words=words)
        if connection.state == "ended":
            return Standing(name=entry.name, ok=False, words=connection.why)
        count = len(connection.tools)
        words = f"{entry.place} runs, with {count} tool{'' if count == 1 else 's'}"
        return Standing(name=entry.name, ok=True, words=words, left_out=connection.left_out)


class Servers:
    """The servers; a `ToolSource`."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        folders: Callable[[], Sequence[Path]],
        redact: Callable[[str], str],
        learn: Callable[[Mapping[str, str]], None],
    ) -> None:
        """`environ` is what entries may name variables of; `learn` gets values that must never be shown,
        by names that say what they are.
        """
        self._environ = environ
        self._folders = folders
        self._redact = redact
        self._learn = learn
        self._slots: dict[Path, dict[str, _Slot]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def gather(self, wish: Wish) -> tuple[Tool, ...]:
        """Their tools in a stable order; starts what does not run, waits a bounded time, never raises."""
        if self._closed or not load.installed():
            return ()
        slots = self._chosen(wish)
        await self._start(slots, wish)
        await self._settle(slots)
        await asyncio.gather(*(slot.connection.refresh() for slot in slots if slot.connection and slot.ready))
        hung = [slot for slot in slots if slot.connection is not None and slot.connection.hung]
        await self._start(hung, wish)
        await self._settle(hung)
        for slot in slots:
            self._tell(slot, wish.tell)
        return tuple(tool for slot in slots for tool in slot.tools())

    def known(self, folder: Path | None) -> tuple[Tool, ...]:
        """The tools of the servers that run for a folder."""
        slots = self._slots.get(folder, {}) if folder is not None else {}
        return tuple(tool for _, slot in sorted(slots.items()) for tool in slot.tools())

    def standings(self, folder: Path | None) -> tuple[Standing, ...]:
        """How it is with each server of a folder that was wanted so far."""
        slots = self._slots.get(folder, {}) if folder is not None else {}
        return tuple(slot.standing() for _, slot in sorted(slots.items()))

    def keep(self, folders: Iterable[Path]) -> None:
        """End the servers of all other folders, in the background."""
        for folder in self._slots.keys() - {*folders}:
            for slot in self._slots.pop(folder).values():
                self._end(slot)

    async def close(self) -> None:
        """End all."""
        self._closed = True
        self.keep(())
        if self._ending:
            await asyncio.wait(self._ending)

    # -- which --------------------------------------------------------------------------------------

    def _chosen(self, wish: Wish) -> list[_Slot]:
        """The servers that a run needs, by name; those that are no more, or are something else now, end."""
        slots = self._slots.setdefault(wish.folder, {})
        for name in slots.keys() - wish.servers.keys():
            self._end(slots.pop(name))
        taken: dict[str, str] = {}
        chosen = []
        for name in sorted(wish.servers):
            slot = self._slot(slots, name, wish.servers[name])
            prefix = slot.entry.prefix
            if (other := taken.setdefault(prefix, name)) != name:
                slot.fault = f"rules cannot tell it from {other!r}: the tools of both begin with `{prefix}`"
            if not slot.entry.disabled and wish.needed(prefix):
                chosen.append(slot)
        return chosen

    def _slot(self, slots: dict[str, _Slot], name: str, value: Any) -> _Slot:
        fault = ""
        try:
            entry = expanded(read_entry(name, value), self._environ)
        except UserError as error:
            entry, fault = Entry(name=name, prefix=prefix_of(name)), str(error)
        slot = slots.get(name)
        if slot is None or slot.entry != entry:
            told = ""
            if slot is not None:
                self._end(slot)
                told = slot.told
            slot = slots[name] = _Slot(entry)
            slot.told = told
            self._learn({**entry.env, **_headers(entry.headers)})
        slot.fault = fault
        return slot

    # -- starting and ending ------------------------------------------------------------------------

    async def _start(self, slots: Sequence[_Slot], wish: Wish) -> None:
        wanted = [slot for slot in slots if not slot.fault and (slot.connection is None or not _lives(slot))]
        if not wanted:
            return
        module = await load.connection()
        for slot in wanted:
            if self._closed or _lives(slot):  # another run was faster
                continue
            before = slot.connection
            if before is not None and before.hung:
                wish.tell(
                    f"MCP server {slot.entry.name!r}: it did not answer any more, and is started again."
                )
                self._end(slot)
            around = module.Around(
                cwd=wish.folder,
                folders=self._folders,
                environment=wish.environment,
                redact=self._redact,
            )
            slot.connection = module.Connection(slot.entry, around, wary=before is not None and before.hung)
            now = asyncio.get_running_loop().time()
            slot.patient_until = now + (0 if before is not None and before.late else slot.entry.patience)

    async def _settle(self, slots: Sequence[_Slot]) -> None:
        """Wait until each is ready or has failed, as long as its entry allows."""
        waiting = [
            asyncio.create_task(_until(slot.connection.settled, slot.patient_until))
            for slot in slots
            if slot.connection is not None and not slot.connection.settled.is_set()
        ]
        try:
            if waiting:
                await asyncio.wait(waiting)
        finally:
            for task in waiting:
                task.cancel()

    def _end(self, slot: _Slot) -> None:
        if slot.connection is not None:
            task = asyncio.create_task(slot.connection.close(), name=f"end MCP server {slot.entry.name}")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    # -- telling ------------------------------------------------------------------------------------

    def _tell(self, slot: _Slot, tell: Callable[[str], None]) -> None:
        """Say what is wrong with a server, once."""
        standing = slot.standing()
        words = "" if standing.ok else standing.words
        left_out = "; ".join(standing.left_out[:5])
        if left_out:
            words = f"tools that cannot be offered: {left_out}"
        if words and words != slot.told:
            tell(f"MCP server {slot.entry.name!r}: {words}.")
        slot.told = words


def _lives(slot: _Slot) -> bool:
    connection = slot.connection
    return connection is not None and connection.state != "ended" and not connection.hung


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by names like those of variables; of `Bearer x` the `x`."""
    found = {}
    for name, value in headers.items():
        variable = name.replace("-", "_").upper()
        variable = "AUTHORIZATION_TOKEN" if variable in ("AUTHORIZATION", "PROXY_AUTHORIZATION") else variable
        found[variable] = value.rpartition(" ")[2]
    return found


async def _until(event: asyncio.Event, when: float) -> None:
    try:
        async with asyncio.timeout_at(when):
            await event.wait()
    except TimeoutError:
        return
