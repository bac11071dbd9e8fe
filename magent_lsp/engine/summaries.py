"""The built-in slash commands by name, apart from what carries them out: for lists and completion."""

import re
from collections.abc import Container, Mapping
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

_COMMAND: Final = re.compile(r"/([A-Za-z0-9][\w:.-]*)(?:\s+(.*))?\Z", re.DOTALL)
"""`/usr/bin` and the like are no commands: a name is followed by a blank or by nothing."""


def command_in(prompt: str) -> tuple[str, str] | None:
    """Name and arguments of the command that a prompt is; None if it is none."""
    match = _COMMAND.match(prompt.strip())
    return (match[1], (match[2] or "").strip()) if match else None


BLOCKED: Final = "A hook blocked this prompt:"
"""Begins what is said to a person whose prompt must not reach the model."""


def needs_model(prompt: str, commands: Container[str]) -> bool:
    """Whether a prompt is neither a command of ours nor an unknown one; `commands` are those of files.

    Nothing of such commands is ever told to the model, neither what was typed nor what we answered: it is
    between us and the person, and would cost tokens with each later request.
    """
    command = command_in(prompt)
    return command is None or command[0] in commands


def described(commands: Mapping[str, Command]) -> list[tuple[str, str]]:
    """All commands by name with what they do; one of a file takes the place of a built-in one."""
    own = {name: command.description for name, command in commands.items()}
    return sorted({**SUMMARIES, **own}.items())
