"""An edit on its way to the client, and the way there."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from lsprotocol import types

from magent_lsp.core.edits import FileEdit


class Caller(Protocol):
    """Sends requests to the client; `seconds` bounds the wait for the answer."""

    async def call(
        self,
        method: str,
        params: Any = None,
        *,
        seconds: float | None,
        msg_id: str | None = None,
        sent: Callable[[], None] | None = None,
    ) -> Any:
        """The answer; `sent` is called when the request goes. Raises TimeoutError and JsonRpcException."""
        ...

    def take_back(self, msg_id: str) -> bool:
        """Do not send a request that has not gone yet; whether it was one."""
        ...


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """An edit on its way."""

    edit: FileEdit
    uri: str
    """As the client spells it."""
    expected: str
    """The whole text the edit gives."""
    label: str
    change: Callable[[], types.WorkspaceEdit]
    """The request's content, with the document's version at that moment."""
    unchanged: Callable[[], bool]
    """Whether the document still is what the edit was computed on, as far as the client has told."""
    landed: Callable[[], Awaitable[bool]] | None = None
    """Other evidence, asked for once the client says that it took the edit."""
