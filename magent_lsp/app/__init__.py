"""Magent: the one object an edge holds, and what it is made of."""

from magent_lsp.app.magent import Magent, Started
from magent_lsp.app.status import RunInfo

__all__ = ["Magent", "RunInfo", "Started"]
