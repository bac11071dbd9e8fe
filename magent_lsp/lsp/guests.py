"""Agents of other programs in one editor: let in as the settings say, their runs shown as any other."""

import asyncio
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from magent_lsp.core.errors import CallerError
from magent_lsp.core.events import RunEvent
from magent_lsp.core.request import RunRequest
from magent_lsp.lsp.watch import Watched

if TYPE_CHECKING:
    from magent_lsp.app import Magent, Started
    from magent_lsp.app.guests.listener import Listener
    from magent_lsp.engine.guest import Guest
    from magent_lsp.lsp.edge import Edge

LISTENER: Final = "magent_lsp.app.guests.listener"
"""Loaded when the settings want it: few people need it."""


class Guests:
    """The house that they come to."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge
        self._listener: Listener | None = None
        self._closed = False
        self._changing = asyncio.Lock()

    @property
    def app(self) -> "Magent":
        """What runs are made with."""
        return self._edge.app

    @property
    def client_name(self) -> str:
        """The editor's name; empty if it did not say."""
        return str(getattr(self._edge.server.protocol, "client_name", "") or "")

    def receive(self, request: RunRequest, guest: "Guest", listener: Callable[[RunEvent], None]) -> "Started":
        """Start a guest's run and show it; the listener hears each event. CallerError if it cannot be."""
        if self._closed:
            raise CallerError("The editor is shutting down.")
        started = self.app.start(request, guest)
        watch, title = self._edge.watch, f"Magent: {guest.name}"
        step = f"waiting for {guest.name}"
        watched = Watched(title=title, prompt=request.prompt, step=step, guest=True)
        watch.follow(started.run_id, watched)
        watch.listen(started.run_id, listener)
        return started

    def renew(self) -> None:
        """What was read of the settings is forgotten: the next call of each guest reads them again."""
        if self._listener is not None:
            self._listener.renew()

    async def follow(self) -> None:
        """Listen, or no more, as the settings of the workspace folders say; they are read already."""
        folders = [each for each in self.app.folders if self.app.snapshot(each).settings.serve_mcp]
        async with self._changing:
            if self._closed or (self._listener is None and not folders):
                return
            try:
                if self._listener is None:
                    module = await asyncio.to_thread(importlib.import_module, LISTENER)
                    listener: Listener = module.Listener(self)
                    await listener.open(folders)
                    self._listener = listener
                elif folders:
                    await self._listener.tell(folders)
                else:
                    leaving, self._listener = self._listener, None
                    await leaving.close()
            except OSError as error:
                self._edge.server.message(
                    types.MessageType.Warning, f"Magent: agents of other programs cannot be let in: {error}"
                )

    async def close(self) -> None:
        """Send everybody out; for good."""
        self._closed = True
        async with self._changing:
            if self._listener is not None:
                await self._listener.close()
