"""A command line as a value: its simple commands, the files it names, and what is not known of it."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from magent_lsp.permissions.arithmetic import Names
from magent_lsp.permissions.words import Word

MAX_CHARS: Final = 10_000
MAX_ATOMS: Final = 200
MAX_LEVELS: Final = 100
MAX_NODES: Final = 4_000

Folders = frozenset[str | None]
"""The folders in which a command may run; None: unknown."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A simple command."""

    words: tuple[Word, ...]
    folders: Folders
    piped: bool = False
    """Whether it reads from a pipe, a here document or a file."""

    @cached_property
    def text(self) -> str:
        """The decoded words, joined by one blank."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A file that the line itself names: by a redirect or a test."""

    word: Word
    write: bool
    read: bool
    folders: Folders


@dataclass(kw_only=True)
class Line:
    """What a command line holds."""

    commands: list[Command] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    """Names of variables that are set and are not known to be harmless."""
    names: Names = field(default_factory=Names)
    """Variables that the line evaluates."""
    problems: list[str] = field(default_factory=list)
    """Why the line cannot be fully understood, as sentences."""
    suspects: list[tuple[str, ...]] = field(default_factory=list)
    """Word lists that may be commands, found without a grammar where it failed; only a deny counts."""

    def problem(self, text: str) -> None:
        """Note once why the line is not understood."""
        if text not in self.problems:
            self.problems.append(text)


def after_move(program: str, arguments: list[Word], folders: Folders) -> Folders:
    """The folders in which the shell may be after a `cd` that worked."""
    targets = list(move_targets(arguments))
    if program == "popd" or len(targets) > 1:
        return frozenset({None})
    if not targets:
        return frozenset({"~"}) if program == "cd" else frozenset({None})
    target = targets[0]
    if not target.literal or target.text == "-" or target.text.startswith(("+", "~+", "~-")):
        return frozenset({None})
    return frozenset(_join(folder, target.text) for folder in folders)


def move_targets(arguments: list[Word]) -> Iterator[Word]:
    """The operands of `cd`."""
    options = True
    for argument in arguments:
        if options and argument.text == "--":
            options = False
        elif not (options and argument.text in ("-P", "-L", "-e", "-@", "-n")):
            yield argument


def _join(folder: str | None, target: str) -> str | None:
    if target.startswith(("/", "~")):
        return target
    return None if folder is None else posixpath.join(folder, target)
