"""Why a server cannot be used, in words."""

import asyncio
from collections.abc import Iterator

from mcp.shared.exceptions import MCPError

from magent_lsp.core.errors import MagentError
from magent_lsp.mcp.definition import on_one_line
from magent_lsp.mcp.entry import Entry


def in_words(error: BaseException, entry: Entry, status: int | None) -> str:
    """What went wrong with a connection; `status` is the last HTTP status that was an error."""
    found = next(_leaves(error), None)
    if isinstance(found, MagentError):
        return str(found).rstrip(".")
    if status is not None:
        more = "; look at its `headers`" if status in (401, 403) else ""
        return f"{entry.place} answers with HTTP {status}{more}"
    if isinstance(found, MCPError):
        return f"it refused to begin: {on_one_line(found.error.message)}"
    if entry.url is not None:
        return f"{entry.place} cannot be reached: {str(found) or type(found).__name__}"
    return f"it does not speak the protocol: {on_one_line(found)}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, but no cancellations."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    elif not isinstance(error, asyncio.CancelledError):
        yield error
