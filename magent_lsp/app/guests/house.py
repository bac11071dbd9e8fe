"""What guests need of the edge that takes them in."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from magent_lsp.core.events import RunEvent
from magent_lsp.core.request import RunRequest

if TYPE_CHECKING:
    from magent_lsp.app import Magent, Started
    from magent_lsp.engine.guest import Guest


class House(Protocol):
    """An edge with an editor, and a person who sees what goes on."""

    @property
    def app(self) -> "Magent":
        """What runs are made with."""
        ...

    @property
    def client_name(self) -> str:
        """The editor's name; empty if it is not known."""
        ...

    def receive(self, request: RunRequest, guest: "Guest", listener: Callable[[RunEvent], None]) -> "Started":
        """Start a guest's run and show it; the listener hears each event. CallerError if it cannot be."""
        ...
