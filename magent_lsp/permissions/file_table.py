"""What the arguments of common commands are: which are files, and whether those are read or written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from magent_lsp.permissions.arguments import Options

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
        flags="binary",
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
        flags="info",
        read_options=("--gitfile", "--infofile", "--hintro", "--houtro"),
    ),
    "od": _read("AjNSt", "address-radix skip-bytes read-bytes format", numeric="j N S skip-bytes read-bytes"),
    "hexdump": _read("efns", read_options=("-f",)),
    "date": FileCommand(
        role="none",
        options=_options("dfrs", "date file reference set"),
        read_options=("-f", "--file", "-r", "--reference"),
    ),
    **dict.fromkeys(
        ("pytest", "py.test"), _read("kmrWnpco", "ignore ignore-glob deselect color", flags="co")
    ),
    **dict.fromkeys(("fd", "fdfind"), _FD),
    "base64": _read("wo", "wrap output", numeric="w wrap", write_options=("-o", "--output")),
    "base32": _read("w", "wrap"),
    "cut": _read("bcdf", "bytes characters delimiter fields output-delimiter"),
    "paste": _read("d", "delimiters"),
    "join": _read("aejotv12"),
    "column": _read("scoNRTEHWOl", "separator output-separator table-columns output-width", flags="table"),
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
                flags="checkpoint",
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
            flags="head",
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
