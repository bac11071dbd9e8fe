"""How a command is found and executed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from magent_lsp.core.errors import CallerError
from magent_lsp.lsp.commands import names
from magent_lsp.lsp.commands.arguments import check, one_object
from magent_lsp.lsp.commands.spec import Command

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


def _command(name: str, place: str) -> Command:
    """The command that a function is; the class of its arguments is what it declares."""
    module, _, function = place.partition(".")
    run = getattr(import_module(f"{__package__}.{module}"), function)
    return Command(name, run.__annotations__["arguments"], run)


COMMANDS: Mapping[str, Command] = {name: _command(name, place) for name, place in names.COMMANDS.items()}


async def execute(edge: "Edge", name: str, arguments: Sequence[Any] | None) -> Any:
    """Run a command of `workspace/executeCommand`; CallerError for bad arguments."""
    command = COMMANDS.get(name)
    if command is None:
        raise CallerError(f"There is no command {name!r}.")
    checked = check(name, command.arguments, one_object(name, arguments))
    if edge.editor.moments is not None:
        edge.editor.moments.begin()
    return await command.run(edge, checked)
