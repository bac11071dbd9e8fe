"""Which files common commands read and write: a table, and its reading."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from magent_lsp.permissions.arguments import Arguments, Options, parse_arguments
from magent_lsp.permissions.file_use import FileUse
from magent_lsp.permissions.git_files import git_files
from magent_lsp.permissions.line import Command
from magent_lsp.permissions.pytest_calls import pytest_words
from magent_lsp.permissions.words import Word, word

Role = Literal["read", "write", "copy", "move", "link", "in-out", "none"]


@dataclass(frozen=True, kw_only=True)
class FileCommand:
    """What the arguments of a command are."""

    role: Role
    """`read`, `write`: every operand; `copy`: the last is written; `move`: all; `in-out`: the second."""
    options: Options = field(default_factory=Options)
    skip: int = 0
    """Leading operands that are no files, such as the pattern of `grep`."""
    instead: tuple[str, ...] = ()
    """Options that stand for the skipped operands."""
    read_options: tuple[str, ...] = ()
    write_options: tuple[str, ...] = ()
    deep: tuple[str, ...] = ()
    """Options with which it reads whole folders; `*`: always."""


def _options(short: str = "", long: str = "", words: str = "") -> Options:
    return Options(
        short=short, long=frozenset(f"--{name}" for name in long.split()), words=frozenset(words.split())
    )


def _read(
    short: str = "",
    long: str = "",
    *,
    read_options: tuple[str, ...] = (),
    write_options: tuple[str, ...] = (),
    deep: tuple[str, ...] = (),
) -> FileCommand:
    return FileCommand(
        role="read",
        options=_options(short, long),
        read_options=read_options,
        write_options=write_options,
        deep=deep,
    )


_GREP: Final = FileCommand(
    role="read",
    options=_options(
        "efmABCdD",
        "regexp file max-count after-context before-context context include exclude exclude-from exclude-dir"
        " label binary-files color directories devices group-separator",
    ),
    skip=1,
    instead=("-e", "-f", "--regexp", "--file"),
    read_options=("-f", "--file", "--exclude-from"),
    deep=("-r", "-R", "--recursive", "--dereference-recursive", "-d", "--directories"),
)
_RG: Final = FileCommand(
    role="read",
    options=_options(
        "efgtTmABCjrEMd",
        "regexp file glob iglob type type-not max-count after-context before-context context threads replace"
        " encoding max-columns max-depth sort sortr pre pre-glob ignore-file color colors path-separator"
        " max-filesize engine type-add type-clear dfa-size-limit regex-size-limit context-separator"
        " field-match-separator",
    ),
    skip=1,
    instead=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
    read_options=("-f", "--file", "--ignore-file"),
    deep=("*",),
)
_FD: Final = FileCommand(
    role="read",
    options=_options(
        "eEtdSoxXjcC",
        "extension exclude type max-depth min-depth exact-depth size owner changed-within changed-before"
        " color threads ignore-file base-directory search-path max-results format path-separator",
    ),
    skip=1,
    read_options=("--search-path", "--base-directory", "-C", "--ignore-file"),
)
_COPY: Final = FileCommand(
    role="copy",
    options=_options("tS", "target-directory suffix"),
    deep=("-r", "-R", "-a", "--recursive", "--archive"),
)
_MODE: Final = FileCommand(role="write", options=_options("", "reference"), skip=1, instead=("--reference",))

FILE_COMMANDS: Final[Mapping[str, FileCommand]] = {
    **dict.fromkeys(("cat", "tac", "less", "more", "nl", "rev", "strings", "zcat", "bat", "batcat"), _read()),
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "cksum", "b2sum"), _read()
    ),
    **dict.fromkeys(("head", "tail"), _read("nc", "lines bytes pid sleep-interval max-unchanged-retries")),
    "ls": _read(
        "wTI", "width tabsize hide ignore block-size color time sort format indicator-style quoting-style"
    ),
    "dir": _read(),
    "wc": _read("", "files0-from total", read_options=("--files0-from",)),
    "stat": _read("cf", "format printf"),
    "file": _read(
        "fFmeP",
        "files-from separator magic-file exclude",
        read_options=("-f", "--files-from", "-m", "--magic-file"),
    ),
    "du": _read(
        "dtBX",
        "max-depth threshold block-size exclude exclude-from files0-from time-style",
        read_options=("--files0-from",),
    ),
    "tree": _read("LPIoH", "filelimit timefmt charset sort"),
    "od": _read("AjNStw", "address-radix skip-bytes read-bytes format width"),
    "hexdump": _read("efns", read_options=("-f",)),
    "date": FileCommand(
        role="none",
        options=_options("dfrs", "date file reference set"),
        read_options=("-f", "--file", "-r", "--reference"),
    ),
    **dict.fromkeys(("pytest", "py.test"), _read("kmrWnpco", "ignore ignore-glob deselect color")),
    **dict.fromkeys(("fd", "fdfind"), _FD),
    "base64": _read("w", "wrap"),
    "base32": _read("w", "wrap"),
    "cut": _read("bcdf", "bytes characters delimiter fields output-delimiter"),
    "paste": _read("d", "delimiters"),
    "join": _read("aejotv12"),
    "column": _read("scoNRTEHWOl", "separator output-separator table-columns output-width"),
    "fold": _read("w", "width"),
    "expand": _read("t", "tabs"),
    "sort": _read(
        "kStTo",
        "key buffer-size field-separator temporary-directory output files0-from parallel "
        "batch-size compress-program random-source",
        write_options=("-o", "--output"),
        read_options=("--files0-from",),
    ),
    "diff": _read(
        "UCxXIFDW",
        "unified context exclude exclude-from ignore-matching-lines label width from-file to-file",
        deep=("-r", "--recursive"),
        read_options=("--from-file", "--to-file", "-X", "--exclude-from"),
    ),
    **dict.fromkeys(("comm", "cmp", "diff3", "sdiff", "colordiff", "vimdiff"), _read("in")),
    **dict.fromkeys(("readlink", "realpath"), _read("z", "relative-to relative-base")),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    "rgrep": FileCommand(role="read", options=_GREP.options, skip=1, instead=_GREP.instead, deep=("*",)),
    "rg": _RG,
    **dict.fromkeys(("ag", "ack"), FileCommand(role="read", options=_options("ABCmg"), skip=1, deep=("*",))),
    "sed": FileCommand(
        role="read",
        options=_options("efl", "expression file line-length"),
        skip=1,
        instead=("-e", "-f", "--expression", "--file"),
        read_options=("-f", "--file"),
    ),
    **dict.fromkeys(
        ("awk", "gawk", "mawk", "nawk"),
        FileCommand(
            role="read",
            options=_options("Ffvie", "field-separator file assign include source"),
            skip=1,
            instead=("-f", "-e", "--file", "--source"),
            read_options=("-f", "--file", "-i", "--include"),
        ),
    ),
    "jq": FileCommand(
        role="read",
        options=_options("fL", "from-file indent"),
        skip=1,
        instead=("-f", "--from-file"),
        read_options=("-f", "--from-file"),
    ),
    "yq": FileCommand(role="read", options=_options("", "from-file"), skip=1),
    "xxd": FileCommand(role="in-out", options=_options("clgons")),
    "uniq": FileCommand(role="in-out", options=_options("fsw", "skip-fields skip-chars check-chars")),
    **dict.fromkeys(("cp", "install", "rsync", "scp", "ditto"), _COPY),
    "mv": FileCommand(role="move", options=_COPY.options),
    "ln": FileCommand(role="link", options=_COPY.options),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "tee", "srm", "trash"), FileCommand(role="write")),
    "touch": FileCommand(role="write", options=_options("drt", "date reference time")),
    "truncate": FileCommand(role="write", options=_options("sr", "size reference")),
    "mkdir": FileCommand(role="write", options=_options("m", "mode context")),
    "mkfifo": FileCommand(role="write", options=_options("m", "mode")),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl"), _MODE),
    **dict.fromkeys(
        ("tar", "bsdtar"),
        FileCommand(
            role="read",
            options=_options(
                "fCTXbHVgIK",
                "file directory files-from exclude-from exclude format label"
                " use-compress-program checkpoint-action transform",
            ),
            deep=("*",),
        ),
    ),
    **dict.fromkeys(("zip", "7z", "7za", "cpio", "pax"), FileCommand(role="read", deep=("*",))),
    **dict.fromkeys(
        ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lzma"), FileCommand(role="write")
    ),
    "patch": FileCommand(
        role="write",
        options=_options("piodBrDVYz", "strip input output directory reject-file"),
        read_options=("-i", "--input"),
        write_options=("-o", "--output"),
    ),
    "split": FileCommand(role="in-out", options=_options("abClnt")),
    **dict.fromkeys(
        ("vi", "vim", "nvim", "nano", "emacs", "ed", "ex"), FileCommand(role="write", options=_options("c"))
    ),
    "curl": FileCommand(
        role="none",
        options=_options(
            "oTKcbDEFdHuXAe",
            "output upload-file config cookie-jar cookie"
            " dump-header cert key data header user request form data-binary output-dir",
        ),
        read_options=("-T", "--upload-file", "-K", "--config", "-E", "--cert", "--key"),
        write_options=("-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header"),
    ),
    "wget": FileCommand(
        role="none",
        options=_options(
            "OoaiPU",
            "output-document output-file append-output input-file directory-prefix post-file body-file",
        ),
        read_options=("-i", "--input-file", "--post-file", "--body-file"),
        write_options=(
            "-O",
            "-o",
            "-a",
            "-P",
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
        ),
    ),
    "find": FileCommand(role="none"),
    "man": FileCommand(role="none"),
    "dd": FileCommand(role="none"),
}

NO_FILES: Final = frozenset(
    {"echo", "printf", "pwd", "true", "false", ":", "seq", "date", "basename", "dirname", "expr"}
)
"""Their arguments are texts, whatever they look like."""

READ_ALL: Final = frozenset({"xargs", "parallel"})
"""The files come from the input."""


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
    if name == "diff" and operands and all(_is_folder(each.text) for each in operands):
        table = replace(table, deep=("*",))
    deep = "*" in table.deep or (bool(table.deep) and arguments.has(*table.deep))
    if name == "sed" and arguments.has("-i", "--in-place"):
        yield from (FileUse(word=each, write=True, read=True) for each in operands)
    elif table.role == "read":
        if deep and not operands and not command.piped:
            operands = (word("."),)
        yield from (FileUse(word=each, write=False, read=True, deep=deep) for each in operands)
    elif table.role == "write":
        yield from (FileUse(word=each, write=True, read=False) for each in operands)
    elif table.role == "in-out":
        yield from (
            FileUse(word=each, write=index == 1, read=index == 0) for index, each in enumerate(operands)
        )
    else:
        yield from _copied(table.role, arguments, operands, deep)


def _is_folder(text: str) -> bool:
    """Whether a name looks like one of a folder: `diff` compares all that two of them hold."""
    name = text.rstrip("/").rpartition("/")[2]
    return text.endswith("/") or "." not in name or name in (".", "..")


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


def _find(command: Command) -> Iterator[FileUse]:
    """The folders that `find` looks into, and files its tests and actions name."""
    words = command.words[1:]
    starts = True
    for index, each in enumerate(words):
        if each.text.startswith(("-", "(", "!", ")")) and each.text not in ("-H", "-L", "-P"):
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
