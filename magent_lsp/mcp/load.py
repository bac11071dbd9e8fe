"""Loads the library with the first server: it takes a second or more, and few people need it."""

import asyncio
import gc
import importlib
import importlib.util
import logging
from types import ModuleType
from typing import Final

INSTALL: Final = "`pipx inject magent-lsp 'mcp>=2.3,<3'`, or in its environment `pip install 'mcp>=2.3,<3'`"

_CONNECTION: Final = "magent_lsp.mcp.connection"


def installed() -> bool:
    """Whether the library is there; nothing is loaded."""
    return importlib.util.find_spec("mcp") is not None


async def connection() -> ModuleType:
    """The module that uses the library."""
    return await asyncio.to_thread(_load)


def _load() -> ModuleType:
    # what a server does wrong is told in words; the library would write a traceback for each line
    for name in ("mcp", "client", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    collecting = gc.isenabled()
    gc.disable()  # collections during the import would stop the event loop
    try:
        return importlib.import_module(_CONNECTION)
    finally:
        if collecting:
            gc.enable()
