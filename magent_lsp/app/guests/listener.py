"""Takes other agents in: a socket that only its owner can reach, with a note beside it."""

import asyncio
import contextlib
import logging
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from magent_lsp.app.guests.house import House
from magent_lsp.app.guests.peer import Peer, refuse
from magent_lsp.mcp import doors
from magent_lsp.mcp.doors import Door
from magent_lsp.store.lock import Owner

logger = logging.getLogger(__name__)

MOST: Final = 32
"""Connections at a time; each further one is told so and closed."""

CLOSE_SECONDS: Final = 3
"""How long the calls of those who are in may take to end."""

LONGEST_PATH: Final = 100
"""Bytes of the path of a unix socket, of which systems take 104 to 108."""


class Listener:
    """Listens from `open` to `close`."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._folder = house.app.dirs.guests
        self._token = secrets.token_urlsafe(24)
        self._note: Path | None = None
        self._door: Door | None = None
        self._server: asyncio.Server | None = None
        self._peers: dict[asyncio.Task[None], Peer] = {}

    async def open(self, folders: Sequence[Path]) -> None:
        """Begin to listen for agents in these folders; OSError if that cannot be."""
        try:
            await self._open(folders)
        except OSError:
            await self.close()
            raise

    async def _open(self, folders: Sequence[Path]) -> None:
        self._house.app.hide({"GUESTS_TOKEN": self._token})
        name = await asyncio.to_thread(doors.prepare, self._folder)
        path: Path | None = self._folder / f"{name}.sock"
        if not hasattr(socket, "AF_UNIX") or len(str(path).encode()) > LONGEST_PATH:
            path = None
        if path is not None:
            self._server = await asyncio.start_unix_server(self._meet, path)
            path.chmod(0o600)
        else:
            self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self._note = self._folder / f"{name}.json"
        self._door = Door(
            owner=await asyncio.to_thread(Owner.ours),
            folders=tuple(folders),
            client=self._house.client_name,
            opened=time.time(),
            token=self._token,
            path=path,
            port=None if path is not None else self._server.sockets[0].getsockname()[1],
        )
        await asyncio.to_thread(doors.tell, self._note, self._door)
        logger.info("agents of other programs are let in at %s", path or f"port {self._door.port}")

    async def tell(self, folders: Sequence[Path]) -> None:
        """Tell of these folders from now on; agents that stand in one of them stay, others are sent out."""
        door, note = self._door, self._note
        if door is None or note is None or door.folders == tuple(folders):
            return
        self._door = replace(door, folders=tuple(folders))
        for task, peer in list(self._peers.items()):
            if peer.folder is not None and peer.folder not in folders:
                task.cancel()
        self.renew()
        await asyncio.to_thread(doors.tell, note, self._door)

    def renew(self) -> None:
        """Folders or rules may be others now: they count from the next call on, also for those who are in."""
        for peer in list(self._peers.values()):
            peer.renew()

    async def close(self) -> None:
        """Let nobody in any more, and send everybody out."""
        if self._note is not None:
            doors.forget(self._note)
        if self._server is not None:
            self._server.close()
        peers = list(self._peers)
        for peer in peers:
            peer.cancel()
        if peers:
            await asyncio.wait(peers, timeout=CLOSE_SECONDS)

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._peers) >= MOST:
            refuse(writer, f"The editor serves {MOST} other agents already, which is the most.")
            return
        peer = Peer(self._house, reader, writer, self._token, self._told)
        task = asyncio.create_task(self._serve(peer, writer), name="guest")
        self._peers[task] = peer
        task.add_done_callback(lambda task: self._peers.pop(task, None))

    async def _serve(self, peer: Peer, writer: asyncio.StreamWriter) -> None:
        try:
            await peer.converse()
        except Exception:
            logger.exception("a guest could not be served")
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    def _told(self) -> Door:
        assert self._door is not None
        return self._door
