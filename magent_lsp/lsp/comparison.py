"""Shows an edit that waits for permission, in a client that can show two texts beside each other."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pygls.exceptions import JsonRpcException

from magent_lsp.core.request import Comparison, PermissionRequest
from magent_lsp.lsp.convert import to_uri
from magent_lsp.lsp.parcel import Caller

logger = logging.getLogger(__name__)

SHOW_DIFF = "magent/showDiff"

_LARGE = 2_000_000
"""Characters of both texts from which on they are not sent only to be looked at."""


@asynccontextmanager
async def shown(
    request: PermissionRequest, caller: Caller, spell: Callable[[str], str]
) -> AsyncIterator[None]:
    """Have the client show the edit of a request while the person decides; `spell` gives its own URIs."""
    comparison = request.comparison
    if comparison is None or len(comparison.before) + len(comparison.after) > _LARGE:
        yield
        return
    showing = asyncio.create_task(
        _show(request, comparison, caller, spell), name=f"diff {request.request_id}"
    )
    try:
        yield
    finally:
        showing.cancel()


async def _show(
    request: PermissionRequest, comparison: Comparison, caller: Caller, spell: Callable[[str], str]
) -> None:
    params = {
        "uri": spell(to_uri(comparison.path)),
        "original": comparison.before,
        "modified": comparison.after,
        "title": request.title,
        "requestId": request.request_id,
    }
    try:
        await caller.call(SHOW_DIFF, params, seconds=None)
    except (JsonRpcException, OSError) as error:
        # It is only a picture: the question is asked all the same.
        logger.warning("the client could not show an edit: %s", error)
