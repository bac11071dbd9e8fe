"""What a command is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magent_lsp.lsp.commands.arguments import Arguments

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


@dataclass(frozen=True)
class Command:
    """An editor command: checked arguments in, plain JSON out."""

    name: str
    arguments: type[Arguments]
    run: "Callable[[Edge, Any], Awaitable[Any]]"
