"""Which files common commands read and write: the reading of the table."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from magent_lsp.permissions.arguments import Arguments, parse_arguments
from magent_lsp.permissions.file_table import FILE_COMMANDS, FileCommand, Role
from magent_lsp.permissions.file_use import FileUse
from magent_lsp.permissions.git_files import git_files
from magent_lsp.permissions.line import Command
from magent_lsp.permissions.pytest_calls import pytest_words
from magent_lsp.permissions.words import Word, word


def uses(name: str, command: Command) -> Iterator[FileUse]:
    """The files that a command of the table names; nothing for others."""
    if name == "git":
        yield from git_files(command.words)
        return
    if tests := pytest_words(name, [each.text for each in command.words]):
        name, command = "pytest", replace(command, words=_tests(command.words[-len(tests) :]))
    table = FILE_COMMANDS.get(name)
    if table is None:
        return
    if name == "find":
        yield from _find(command)
    elif name == "dd":
        yield from _dd(command)
    elif name == "man":
        pages = (each for each in command.words[1:] if "/" in each.text)
        yield from (FileUse(word=each, write=False, read=True) for each in pages)
    elif name in ("curl", "wget"):
        yield from _options_used(table, parse_arguments(command.words[1:], table.options))
        yield from _file_urls(command)
    else:
        arguments = parse_arguments(command.words[1:], table.options)
        yield from _options_used(table, arguments)
        yield from _operands_used(name, table, arguments, command)


def _tests(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words with `FILE::TEST` cut to the file."""
    return tuple(word(each.text.partition("::")[0]) if "::" in each.text else each for each in words)


def _options_used(table: FileCommand, arguments: Arguments) -> Iterator[FileUse]:
    for value in arguments.values(*table.read_options):
        yield FileUse(word=value, write=False, read=True)
    for value in arguments.values(*table.write_options):
        yield FileUse(word=value, write=True, read=False)


def _operands_used(
    name: str, table: FileCommand, arguments: Arguments, command: Command
) -> Iterator[FileUse]:
    if table.role == "none":
        return
    skip = 0 if table.instead and arguments.has(*table.instead) else table.skip
    operands = arguments.operands[skip:]
    deep = "*" in table.deep or (bool(table.deep) and arguments.has(*table.deep))
    if name in ("sed", "gsed") and arguments.has("-i", "-I", "--in-place"):
        yield from (FileUse(word=each, write=True, read=True) for each in operands)
    elif table.role == "read":
        if deep and not operands and not command.piped:
            operands = (word("."),)
        peers = operands if name in ("diff", "colordiff") else ()
        yield from (FileUse(word=each, write=False, read=True, deep=deep, peers=peers) for each in operands)
        if len(peers) == 2:
            yield from (FileUse(word=each, write=False, read=True) for each in _within(*peers))
    elif table.role == "write":
        yield from (FileUse(word=each, write=True, read=False) for each in operands)
    elif table.role == "in-out":
        yield from (
            FileUse(word=each, write=index == 1, read=index == 0) for index, each in enumerate(operands)
        )
    else:
        yield from _copied(table.role, arguments, operands, deep)


def _within(one: Word, other: Word) -> Iterator[Word]:
    """`diff` of a folder and a file takes the file of that name in the folder."""
    for folder, file in ((one, other), (other, one)):
        name = file.text.rstrip("/").rpartition("/")[2]
        if folder.exact and file.literal and name not in ("", ".", ".."):
            head = folder.text.rstrip("/")
            yield replace(folder, text=f"{head}/{name}", glob=f"{folder.glob.rstrip('/')}/{word(name).glob}")


def _copied(role: Role, arguments: Arguments, operands: tuple[Word, ...], deep: bool) -> Iterator[FileUse]:
    """`cp`, `mv`, `ln`: a target may be a folder, in which the source's name is then written."""
    targets = list(arguments.values("-t", "--target-directory"))
    if not targets and len(operands) > 1:
        targets, operands = [operands[-1]], operands[:-1]
    for source in operands:
        yield FileUse(word=source, write=role == "move", read=True, deep=deep)
    for target in targets:
        yield FileUse(word=target, write=True, read=False)
        for source in operands:
            base = source.text.rstrip("/").rpartition("/")[2]
            if base and base not in (".", ".."):
                inside = target.text.rstrip("/") + "/" + base
                yield FileUse(
                    word=Word(
                        text=inside, glob=target.glob + "/" + base, exact=source.exact and target.exact
                    ),
                    write=True,
                    read=False,
                )
    if role == "link" and not targets:
        for source in operands:
            yield FileUse(word=word(source.text.rpartition("/")[2] or "."), write=True, read=False)


_FIND_LEADING: Final = re.compile(r"-(?:[HLPEXdfsx]+|O\d*|D|-)")
"""Options of `find` before its folders: of GNU, of the BSDs and of macOS."""


def _find(command: Command) -> Iterator[FileUse]:
    """The folders that `find` looks into, and files its tests and actions name."""
    words = command.words[1:]
    starts = True
    for index, each in enumerate(words):
        if starts and _FIND_LEADING.fullmatch(each.text):
            continue
        if each.text.startswith(("-", "(", "!", ")")):
            starts = False
        elif starts and not each.text.startswith("-"):
            yield FileUse(word=each, write=False, read=True)
        before = words[index - 1].text if index else ""
        if before in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            yield FileUse(word=each, write=True, read=False)
        elif before in ("-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"):
            yield FileUse(word=each, write=False, read=True)


def _file_urls(command: Command) -> Iterator[FileUse]:
    """`curl file:///x` reads a file of this machine."""
    for each in command.words[1:]:
        start = each.text.lower().find("file:")
        if start >= 0:
            path = "/" + each.text[start + 5 :].lstrip("/").removeprefix("localhost/").lstrip("/")
            yield FileUse(word=word(path) if each.literal else each, write=False, read=True)


def _dd(command: Command) -> Iterator[FileUse]:
    for each in command.words[1:]:
        key, equals, value = each.text.partition("=")
        if equals and key in ("if", "of"):
            yield FileUse(word=word(value) if each.literal else each, write=key == "of", read=key == "if")
