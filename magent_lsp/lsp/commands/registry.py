"""All commands, and how one is executed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from magent_lsp.core.errors import CallerError
from magent_lsp.lsp.commands import chats, files, lists, permissions, runs, sessions, trust
from magent_lsp.lsp.commands.arguments import check, one_object
from magent_lsp.lsp.commands.spec import Command

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

COMMANDS: Mapping[str, Command] = {
    command.name: command
    for module in (runs, permissions, trust, lists, sessions, files, chats)
    for command in module.COMMANDS
}


async def execute(edge: "Edge", name: str, arguments: Sequence[Any] | None) -> Any:
    """Run a command of `workspace/executeCommand`; CallerError for bad arguments."""
    command = COMMANDS.get(name)
    if command is None:
        raise CallerError(f"There is no command {name!r}.")
    checked = check(name, command.arguments, one_object(name, arguments))
    return await command.run(edge, checked)
