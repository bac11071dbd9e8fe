"""Which files common commands read and write: a table, and its reading."""

import re
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


def _options(
    short: str = "", long: str = "", words: str = "", *, numeric: str = "", flags: str = ""
) -> Options:
    """Only what surely takes the next word: a value read as an operand is looked at, not the other way round.

    So an option whose value is optional is none of them (`--color`, `--unified`), and one that is a flag on
    some systems (`-w` of `ls`, `-C` of `grep`) is `numeric`: only a number is its value.
    """
    return Options(
        short=short,
        long=frozenset(f"--{name}" for name in long.split()),
        words=frozenset(words.split()),
        numeric=frozenset(f"-{name}" if len(name) == 1 else f"--{name}" for name in numeric.split()),
        flags=frozenset(f"--{name}" for name in flags.split()),
    )


def _read(
    short: str = "",
    long: str = "",
    *,
    numeric: str = "",
    flags: str = "",
    read_options: tuple[str, ...] = (),
    write_options: tuple[str, ...] = (),
    deep: tuple[str, ...] = (),
) -> FileCommand:
    return FileCommand(
        role="read",
        options=_options(short, long, numeric=numeric, flags=flags),
        read_options=read_options,
        write_options=write_options,
        deep=deep,
    )


_GREP: Final = FileCommand(
    role="read",
    options=_options(
        "efmABCdD",
        "regexp file max-count after-context before-context context include exclude exclude-from exclude-dir"
        " label binary-files directories devices group-separator",
        numeric="m A B C max-count after-context before-context context",
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
        flags="ignore",
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
        flags="ignore",
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
        "wT",
        "width tabsize hide ignore block-size time sort format indicator-style quoting-style time-style",
        numeric="w T",
    ),
    "dir": _read(),
    "wc": _read("", "files0-from total", read_options=("--files0-from",)),
    "stat": _read("c", "format printf"),
    "file": _read(
        "fFmeP",
        "files-from separator magic-file exclude",
        read_options=("-f", "--files-from", "-m", "--magic-file"),
    ),
    "du": _read(
        "dtBX",
        "max-depth threshold block-size exclude exclude-from files0-from time-style",
        flags="time",
        read_options=("--files0-from", "-X", "--exclude-from"),
    ),
    "tree": _read(
        "LPIoH",
        "filelimit timefmt charset gitfile infofile hintro houtro",
        read_options=("--gitfile", "--infofile", "--hintro", "--houtro"),
    ),
    "od": _read("AjNSt", "address-radix skip-bytes read-bytes format", numeric="j N S skip-bytes read-bytes"),
    "hexdump": _read("efns", read_options=("-f",)),
    "date": FileCommand(
        role="none",
        options=_options("dfrs", "date file reference set"),
        read_options=("-f", "--file", "-r", "--reference"),
    ),
    **dict.fromkeys(("pytest", "py.test"), _read("kmrWnpco", "ignore ignore-glob deselect color")),
    **dict.fromkeys(("fd", "fdfind"), _FD),
    "base64": _read("wo", "wrap output", numeric="w wrap", write_options=("-o", "--output")),
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
        "exclude exclude-from ignore-matching-lines label width from-file to-file",
        numeric="U C W width",
        deep=("-r", "--recursive"),
        read_options=("--from-file", "--to-file", "-X", "--exclude-from"),
    ),
    "cmp": _read("in", "ignore-initial bytes", numeric="i n ignore-initial bytes"),
    "comm": _read("", "output-delimiter"),
    "sdiff": _read("wo", "width output", numeric="w width", write_options=("-o", "--output")),
    "colordiff": _read("", deep=("-r", "--recursive")),
    **dict.fromkeys(("diff3", "vimdiff"), _read()),
    "readlink": _read(),
    "realpath": _read("", "relative-to relative-base"),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    "rgrep": FileCommand(role="read", options=_GREP.options, skip=1, instead=_GREP.instead, deep=("*",)),
    "rg": _RG,
    **dict.fromkeys(("ag", "ack"), FileCommand(role="read", options=_options("ABCmg"), skip=1, deep=("*",))),
    **dict.fromkeys(
        ("sed", "gsed"),
        FileCommand(
            role="read",
            options=_options("efl", "expression file line-length", numeric="l line-length"),
            skip=1,
            instead=("-e", "-f", "--expression", "--file"),
            read_options=("-f", "--file"),
        ),
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
    **dict.fromkeys(("cp", "install"), _COPY),
    **dict.fromkeys(("rsync", "scp", "ditto"), replace(_COPY, options=_options())),
    "mv": FileCommand(role="move", options=_COPY.options),
    "ln": FileCommand(role="link", options=_COPY.options),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "tee", "srm", "trash"), FileCommand(role="write")),
    "touch": FileCommand(role="write", options=_options("drt", "date reference time")),
    "truncate": FileCommand(role="write", options=_options("sr", "size reference")),
    "mkdir": FileCommand(role="write", options=_options("m", "mode")),
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
