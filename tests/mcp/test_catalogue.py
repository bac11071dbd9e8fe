"""What a server offers now: what cannot be found out is not offered any more."""

from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from magent_lsp.mcp.catalogue import Catalogue
from magent_lsp.mcp.entry import read_entry
from magent_lsp.mcp.pulse import Pulse
from magent_lsp.mcp.requests import Requests


class Wire:
    """The library's end of a connection: the first list arrives, and then something goes wrong."""

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = None
        self._next = error

    async def send_raw_request(self, method: str, params: Any) -> Any:
        if self._error is not None:
            raise self._error
        self._error = self._next
        return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}


@pytest.mark.parametrize(
    "error", [MCPError(code=-1, message="no"), ValueError("odd"), TypeError("odd"), RecursionError("deep")]
)
async def test_whatever_goes_wrong_old_definitions_do_not_stay_in_force(error: Exception) -> None:
    session: Any = SimpleNamespace(
        server_capabilities=SimpleNamespace(tools=SimpleNamespace(list_changed=True))
    )
    wire: Any = Wire(error)
    catalogue = Catalogue(read_entry("srv", {"command": "x"}), Requests(session, wire), Pulse(wary=False))
    await catalogue.read()
    assert list(catalogue.tools) == ["echo"]
    catalogue.changed()
    await catalogue.settle()
    assert catalogue.tools == {}
    (why,) = catalogue.left_out
    assert "did not list them again" in why
