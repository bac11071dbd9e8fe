"""Files that a git command names: what it shows of the disk, and what it moves, removes or makes there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.arguments import Arguments, Options, parse_arguments
from magent_lsp.permissions.file_use import FileUse
from magent_lsp.permissions.git import READERS, GitCall, take_apart
from magent_lsp.permissions.tables import words_of
from magent_lsp.permissions.words import Word, word


@dataclass(frozen=True, kw_only=True)
class _Form:
    """How the arguments of a subcommand are read."""

    options: Options
    reads: tuple[str, ...] = ()
    """Options whose value is a file that is read."""
    writes: tuple[str, ...] = ()


def _form(short: str, long: str = "", reads: str = "", writes: str = "") -> _Form:
    return _Form(
        options=Options(short=short, long=frozenset(f"--{name}" for name in long.split())),
        reads=words_of(reads),
        writes=words_of(writes),
    )


_LOOKING: Final = _form(
    "SGOLn", "author committer grep since until after before max-count skip date output", "-O"
)
_FORMS: Final[Mapping[str, _Form]] = {
    "grep": _form("efmABC", "max-depth threads", "-f"),
    "blame": _form("SL", "contents ignore-revs-file ignore-rev date", "-S --contents --ignore-revs-file"),
    "annotate": _form("SL", "contents ignore-revs-file", "-S --contents --ignore-revs-file"),
    "ls-files": _form("xX", "exclude exclude-from exclude-per-directory", "-X --exclude-from"),
    "commit": _form(
        "mFCct",
        "message file template author date fixup squash pathspec-from-file trailer",
        "-F --file -t --template --pathspec-from-file",
    ),
    "tag": _form("mFu", "message file local-user", "-F --file"),
    "config": _form("ft", "file type default comment", "-f --file"),
    "notes": _form("mFCc", "message file", "-F --file"),
    "merge": _form("mFsX", "message file strategy", "-F --file"),
    "add": _form("", "chmod pathspec-from-file", "--pathspec-from-file"),
    "archive": _form("o", "output prefix format", "", "-o --output"),
    "format-patch": _form("ov", "output-directory start-number reroll-count", "", "-o --output-directory"),
    "bundle": _form("", "version"),
    "submodule": _form("b", "branch name depth reference"),
    "clone": _form("bocuj", "branch origin config upload-pack depth jobs filter template reference"),
    "worktree": _form("bB", "reason"),
    "init": _form("b", "initial-branch template object-format"),
}
_MAGIC: Final = re.compile(r":(?:\([^)]*\)|[/!^]+)")
_NO_FILE_FIRST: Final = frozenset({"grep"})
"""Their first operand is a pattern."""


def git_files(words: Sequence[Word]) -> Iterator[FileUse]:
    """The files that a git command reads or writes beside its own store."""
    call = take_apart([each.text for each in words])
    rest = words[len(words) - len(call.arguments) :]
    form = _FORMS.get(call.subcommand, _LOOKING)
    arguments = parse_arguments(rest, form.options)
    for value in arguments.values(*form.reads):
        yield FileUse(word=value, write=False, read=True)
    for value in arguments.values(*form.writes):
        yield FileUse(word=value, write=True, read=False)
    yield from _changed(call, arguments)
    if call.subcommand in READERS or call.subcommand in ("archive", "stash"):
        yield from _shown(call, arguments)


def _named_after(address: Word) -> Word:
    """The folder that a copy of a repository gets if none is named."""
    name = address.text.rstrip("/").removesuffix("/.git").rpartition("/")[2].rpartition(":")[2]
    return word(name.removesuffix(".git") or ".") if address.exact else address


def _shown(call: GitCall, arguments: Arguments) -> Iterator[FileUse]:
    """What is outside the store: paths of the disk, and patterns that may cover a denied file."""
    loose = call.has("--no-index") or (
        call.subcommand == "grep" and call.has("--untracked", "--no-exclude-standard")
    )
    skip = call.subcommand in _NO_FILE_FIRST and not arguments.has("-e", "-f")
    operands = arguments.operands[1:] if skip else arguments.operands
    if call.subcommand == "diff" and len(operands) == 2:  # two paths, where there is no repository
        peers = tuple(operands)
        yield from (FileUse(word=each, write=False, read=True, peers=peers, loose=True) for each in operands)
    for each in operands:
        path = _path_of(each)
        if loose or path.wild or path is not each or _leaves(path.text):
            yield FileUse(word=path, write=False, read=True, deep=loose)
        folder, _, name = path.text.rpartition("/")
        if path.wild and name[:1] in ("*", "?"):  # git's wildcards take a leading dot too
            bare = name.lstrip("*?") if name.startswith("*") else f".{name[1:]}"
            yield FileUse(word=word(f"{folder}/{bare}" if folder else bare or "."), write=False, read=True)
    if loose and not operands:
        yield FileUse(word=word("."), write=False, read=True, deep=True)


def _path_of(each: Word) -> Word:
    """The path in a pathspec; its wildcards count, quoted or not. `REVISION:PATH` is nothing on the disk."""
    text = each.text
    magic = _MAGIC.match(text)
    path = text[magic.end() :] if magic else text
    if re.search(r"[*?\[]", path) or (magic and "icase" in magic[0]):
        glob = path.lower() if magic and "icase" in magic[0] else path
        return Word(text=path, glob=glob if not re.search(r"\[", glob) else "**", exact=each.exact, wild=True)
    return each if path == text else Word(text=path, glob=each.glob, exact=each.exact)


def _leaves(text: str) -> bool:
    return text.startswith(("/", "~")) or ".." in text.split("/")


def _changed(call: GitCall, arguments: Arguments) -> Iterator[FileUse]:
    """Files and folders of the workspace, or elsewhere, that the command changes."""
    operands = arguments.operands
    first = operands[0].text if operands else ""
    written: Sequence[Word] = ()
    if call.subcommand == "mv" or (call.subcommand == "rm" and not call.has("--cached")):
        written = operands
    elif call.subcommand == "format-patch" and not call.has("--stdout", "-o", "--output-directory"):
        written = (word("."),)
    elif call.subcommand == "init":
        written = operands[-1:] or (word("."),)
    elif call.subcommand == "clone":
        written = operands[1:2] or [_named_after(each) for each in operands[:1]]
    elif (call.subcommand, first) == ("submodule", "add"):
        written = operands[2:3] or [_named_after(each) for each in operands[1:2]]
    elif (call.subcommand, first) in (("worktree", "add"), ("bundle", "create")):
        written = operands[1:2]
    elif (call.subcommand, first) == ("worktree", "move"):
        written = operands[1:3]
    yield from (FileUse(word=each, write=True, read=False) for each in written)
