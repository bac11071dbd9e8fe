"""The built-in slash commands by name, apart from what carries them out: for lists and completion."""

from collections.abc import Mapping
from typing import Final

from magent_lsp.store.commands import Command

SUMMARIES: Final[Mapping[str, str]] = {
    "help": "what there is",
    "agents": "agents; `/agents NAME` changes this session's",
    "model": "this session's model; `/model NAME` changes it",
    "sessions": "past sessions of this folder",
    "todos": "the agent's list",
    "cost": "what this session used",
    "context": "what fills the model's window",
    "undo": "takes back the edits of this session's last run",
    "redo": "brings back what `/undo` took",
    "export": "the session as `markdown`, `json` or `text`",
    "permissions": "rules that were granted",
    "compact": "summarises the conversation to make room; `/compact FOCUS` says what matters",
    "summary": "what this session did, as for a pull request",
    "doctor": "what is configured and what is missing",
    "clear": "forgets the conversation, keeps the session",
    "done": "leaves plan mode",
}

TOLD: Final = frozenset({"undo", "redo"})
"""Commands whose answer the model sees too: it must know that its edits are gone. All other answers are for
people, and no part of the conversation: they would cost tokens with each later request."""


def described(commands: Mapping[str, Command]) -> list[tuple[str, str]]:
    """All commands by name with what they do; one of a file takes the place of a built-in one."""
    own = {name: command.description for name, command in commands.items()}
    return sorted({**SUMMARIES, **own}.items())
