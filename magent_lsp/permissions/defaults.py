"""The built-in rules, on which all others stand."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from magent_lsp.permissions.rules import Layer, Source, parse_permission
from magent_lsp.permissions.tools import OUTSIDE, TOOLS

DEFAULTS: Final[Mapping[str, Any]] = {
    **{name: standing.permission for name, standing in TOOLS.items()},
    f"{OUTSIDE}*": "ask",
}

SOURCE: Final = Source(name="built-in defaults")


@lru_cache(maxsize=1)
def default_layer() -> Layer:
    """The layer below all others."""
    rules, _ = parse_permission(DEFAULTS, SOURCE)
    return Layer(name="default", rules=rules)
