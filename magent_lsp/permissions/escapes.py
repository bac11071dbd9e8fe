"""Flags with which a harmless program writes, deletes or runs something: never allowed by a broad pattern."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.arguments import names_option
from magent_lsp.permissions.git import git_escape
from magent_lsp.permissions.pytest_calls import pytest_escape, pytest_words
from magent_lsp.permissions.tables import set_of

VERSION: Final = "0123456789."
"""Signs at the end of a name such as `python3.11`."""
MIN_LONG: Final = 3
"""`--` and one letter: the shortest abbreviation of a long option."""


@dataclass(frozen=True, kw_only=True)
class Escape:
    """A flag that needs a rule which names it."""

    token: str
    """The argument to blame."""
    code: bool = False
    """Whether it runs code that cannot be looked into."""


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The dangerous options of a program."""

    short: str = ""
    long: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Whole arguments; a final `*` stands for any ending."""
    code: bool = False


def _flags(short: str = "", long: str = "", words: str = "", *, code: bool = False) -> Flags:
    return Flags(
        short=short, long=tuple(f"--{name}" for name in long.split()), words=tuple(words.split()), code=code
    )


FLAGS: Final[Mapping[str, Flags]] = {
    "find": _flags(words="-exec* -ok* -delete -fprint* -fls"),
    "fd": _flags("xX", "exec exec-batch"),
    "fdfind": _flags("xX", "exec exec-batch"),
    "rg": _flags("z", "pre hostname-bin search-zip", code=True),
    "base64": _flags("o", "output"),
    "sort": _flags("o", "output compress-program files0-from"),
    "strings": _flags(words="@*"),
    "jobs": _flags("x", code=True),
    "history": _flags("warncds"),
    "sdiff": _flags("o", "output"),
    "tree": _flags("oR"),
    "tar": _flags(
        "I",
        "checkpoint-action to-command use-compress-program info-script new-volume-script rmt-command"
        " rsh-command",
    ),
    "zip": _flags("TT", "unzip-command"),
    "ssh": _flags("oF", code=True),
    "scp": _flags("oSF", code=True),
    "sftp": _flags("oSF", code=True),
    "rsync": _flags("e", "rsh rsync-path", code=True),
    "man": _flags("PHCM", "pager html config-file", code=True),
    "less": _flags("oOk", "log-file lesskey-file lesskey-src lesskey-content", "+*"),
    "more": _flags(words="+*"),
    "date": _flags("s", "set"),
    "file": _flags("Cf", "compile files-from"),
    "hostname": _flags("Fb", "file boot"),
    "curl": _flags("oOKJ", "output remote-name remote-name-all config output-dir"),
    "wget": _flags("", "use-askpass execute post-file", "-e*", code=True),
    "xxd": _flags("r", "", "-revert"),
    "yq": _flags("i", "inplace"),
    "jq": _flags("Lf", "from-file library-path"),
    "printf": _flags("v"),
    "journalctl": _flags("", "rotate vacuum-size vacuum-time vacuum-files flush setup-keys cursor-file"),
    "dmesg": _flags("CcDEn", "clear read-clear console-on console-off console-level"),
    "make": _flags("", "eval", "SHELL=* .SHELLFLAGS=*"),
    "go": _flags(words="-exec* --exec* -toolexec* --toolexec* -vettool* --vettool*"),
    "cargo": _flags("", "config"),
    "gcc": _flags(words="-wrapper* -fplugin* -specs*"),
    "vim": _flags("cS", "cmd", "+*", code=True),
    "vi": _flags("cS", "cmd", "+*", code=True),
    "nvim": _flags("cSl", "cmd", "+*", code=True),
    "emacs": _flags("fl", "eval execute load funcall batch", "-eval -batch -script*", code=True),
    "gdb": _flags("x", "eval-command command", "-ex*", code=True),
    "mysql": _flags("e", "execute", code=True),
    "sqlite3": _flags(words="-cmd -init .shell .system"),
    "pip": _flags("", "index-url extra-index-url"),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn"),
        _flags(
            "C",
            "prefix dir cwd script-shell shell node-options userconfig globalconfig git modules-folder"
            " scripts-prepend-node-path use-yarnrc",
            "-prefix* -script-shell* -node-options* -userconfig* -globalconfig*",
            code=True,
        ),
    ),
}

ALWAYS: Final = frozenset({"tee", "ed", "ex", "split", "csplit", "mkfifo", "install", "truncate"})
"""Programs that do nothing but write: a pattern must name more than the program."""

BUILTINS: Final = set_of("""
    . source alias unalias trap enable bind complete compopt compgen hash fc shopt mapfile readarray let
""")
"""Builtins that change what later words mean, or run code that is not on the line."""

INTERPRETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("-c",),
    "pypy": ("-c",),
    "perl": ("-e", "-E", "-n", "-p", "-i", "-M", "-m"),
    "ruby": ("-e", "-n", "-p", "-i", "-r"),
    "node": (
        "-e",
        "-p",
        "-r",
        "--eval",
        "--print",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
    ),
    "nodejs": ("-e", "-p", "-r", "--eval", "--print", "--require", "--import"),
    "bun": ("-e", "-p", "--eval", "--print", "-r", "--preload"),
    "deno": ("eval",),
    "tsx": ("-e", "-p", "-r", "--eval", "--print", "--require", "--import"),
    "ts-node": ("-e", "-p", "-r", "--eval", "--print", "--require"),
    "php": ("-r", "-B", "-R", "-E", "-d", "--run"),
    "lua": ("-e", "-l"),
    "luajit": ("-e", "-l"),
    "julia": ("-e", "-E", "-L", "--eval", "--print", "--load"),
    "Rscript": ("-e",),
    "R": ("-e",),
    "osascript": ("-e",),
    "tclsh": (),
    "guile": ("-c", "-e", "-l"),
    "sbcl": ("--eval", "--load"),
    "ghc": ("-e",),
    "groovy": ("-e",),
    "scala": ("-e",),
    "elixir": ("-e", "--eval"),
    "erl": ("-eval", "-run", "-s"),
    "pwsh": ("-c", "-Command", "-EncodedCommand"),
    "powershell": ("-c", "-Command", "-EncodedCommand"),
}
"""Programs that run code from the line by these options, or from their input without an operand."""

_VALUED: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("-X", "-W"),
    "pypy": ("-X", "-W"),
    "perl": ("-I",),
    "ruby": ("-I", "-C", "-E"),
    "php": ("-c",),
    "node": ("-C", "--conditions", "--title", "--input-type", "--env-file"),
}
"""Their options with a value that is no program."""
_INFORMATION: Final = frozenset({"--version", "-V", "-v", "--help", "-h", "version"})
_SED_SAFE: Final = re.compile(
    r"\s*(?:(?:\d+|\$|/[^/\n\\]*/)(?:,(?:\d+|\+\d+|\$|/[^/\n\\]*/))?\s*!?\s*)?"
    r"(?:[pdqnDPNgGhHx=]|q\d+|s([/|#,:])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI0-9]*)?\s*"
)
_AWK_RISKS: Final = re.compile(r"system|getline|close|\||>|@|ENVIRON|ARG[CV]|SYMTAB|FUNCTAB")
_JQ_RISKS: Final = re.compile(r"(?<![.\w\"])(?:import|include|env|input_filename)\b|\$(?:\s|#[^\n]*\n)*ENV")


def escape_of(name: str, words: Sequence[str], *, piped: bool = False) -> Escape | None:
    """The first dangerous flag of a command, whose base name is `name`; None if there is none."""
    base = name.rstrip(VERSION) or name
    if tests := pytest_words(name, words):
        return _pytest(tests)
    if name in BUILTINS:
        return Escape(token=name, code=True)
    if name in ALWAYS:
        return Escape(token=_first_operand(words) or name)
    if base in INTERPRETERS:
        return _interpreter(base, words)
    special = _SPECIAL.get(name)
    if special is not None and (found := special(words)):
        return found
    flags = FLAGS.get(name)
    return _listed(flags, words) if flags else None


def has_escapes(name: str) -> bool:
    """Whether a file with a strange name, matched by a wildcard, could become a dangerous flag."""
    return name in FLAGS or name in _SPECIAL or name.rstrip(VERSION) in INTERPRETERS


def _pytest(words: Sequence[str]) -> Escape | None:
    token = pytest_escape(words)
    return Escape(token=token) if token else None


def _first_operand(words: Sequence[str]) -> str | None:
    return next((each for each in words[1:] if not each.startswith("-")), None)


def _listed(flags: Flags, words: Sequence[str]) -> Escape | None:
    for each in words[1:]:
        if any(each.startswith(word[:-1]) if word.endswith("*") else each == word for word in flags.words):
            return Escape(token=each, code=flags.code)
        if each.startswith("--"):
            given = each.partition("=")[0]
            if len(given) >= MIN_LONG and any(names_option(given, name) for name in flags.long):
                return Escape(token=each, code=flags.code)
        elif each.startswith("-") and any(letter in flags.short for letter in each[1:]):
            return Escape(token=each, code=flags.code)
    return None


def _interpreter(base: str, words: Sequence[str]) -> Escape | None:
    valued = False
    for each in words[1:]:
        if valued:
            valued = False
            continue
        valued = each in _VALUED.get(base, ())
        if any(_gives(each, option) for option in INTERPRETERS[base]) or each == "-mtimeit":
            return Escape(token=each, code=True)
        if not each.startswith("-"):
            return None
        if each == "-":
            break
        if each in _INFORMATION or each == "-m":
            return Escape(token="timeit", code=True) if "timeit" in words else None
    return Escape(token=words[0], code=True)


def _gives(argument: str, option: str) -> bool:
    """Whether an argument is a code option, alone, with its code attached, or in a cluster."""
    if argument == option or (option.startswith("--") and argument.startswith(f"{option}=")):
        return True
    short = len(option) == 2 and option.startswith("-")
    return short and argument.startswith("-") and not argument.startswith("--") and option[1] in argument[1:]


def _sed(words: Sequence[str]) -> Escape | None:
    script_given = False
    operands = []
    index = 1
    while index < len(words):
        each = words[index]
        index += 1
        if each.startswith("--"):
            name = each.partition("=")[0]
            if any(names_option(name, risky) for risky in ("--in-place", "--file")):
                return Escape(token=each)
            if names_option(name, "--expression"):
                script_given = True
                script = (
                    each.partition("=")[2] if "=" in each else (words[index] if index < len(words) else "")
                )
                index += "=" not in each
                if not sed_safe(script):
                    return Escape(token=script)
            elif names_option(name, "--line-length"):
                index += "=" not in each
        elif each.startswith("-") and len(each) > 1:
            if any(letter in each for letter in "iIf"):  # `-I` edits in place on macOS
                return Escape(token=each)
            if "e" in each:
                script_given = True
                script = each.partition("e")[2] or (words[index] if index < len(words) else "")
                index += not each.partition("e")[2]
                if not sed_safe(script):
                    return Escape(token=script)
            elif each.endswith("l") and words[index : index + 1] and words[index].isdigit():
                index += 1  # the width; without one elsewhere
        else:
            operands.append(each)
    if not script_given and operands and not sed_safe(operands[0]):
        return Escape(token=operands[0])
    return None


def sed_safe(script: str) -> bool:
    """Whether a `sed` script surely only prints: no `w`, no `e`, nothing unusual."""
    return len(script) <= 1_000 and all(_SED_SAFE.fullmatch(part) for part in re.split(r"[;\n]", script))


def _awk(words: Sequence[str]) -> Escape | None:
    for each in words[1:]:
        if each.startswith("-") and not each.startswith(("-F", "-v", "--field", "--assign")):
            return Escape(token=each)
        if _AWK_RISKS.search(each):
            return Escape(token=each)
    return None


def _jq(words: Sequence[str]) -> Escape | None:
    """A filter that loads modules and data by name, or shows the environment."""
    return next((Escape(token=each) for each in words[1:] if _JQ_RISKS.search(each)), None)


def _git(words: Sequence[str]) -> Escape | None:
    token = git_escape(words)
    return Escape(token=token) if token else None


def _dd(words: Sequence[str]) -> Escape | None:
    return next((Escape(token=each) for each in words[1:] if each.startswith("of=")), None)


def _tar(words: Sequence[str]) -> Escape | None:
    """The old style, `tar xf`, hides letters in the first operand."""
    first = words[1] if len(words) > 1 else ""
    if first and not first.startswith("-") and "I" in first and first.isalpha():
        return Escape(token=first)
    return None


def _read(words: Sequence[str]) -> Escape | None:
    """`read PATH` sets a variable; those of lower case only matter where they are used."""
    names = (each for each in words[1:] if not each.startswith("-"))
    return next((Escape(token=each, code=True) for each in names if not each.islower()), None)


_SPECIAL: Final[Mapping[str, Callable[[Sequence[str]], Escape | None]]] = {
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "git": _git,
    "read": _read,
    "getopts": _read,
    "wait": _read,
    "dd": _dd,
    "jq": _jq,
    "tar": _tar,
    "bsdtar": _tar,
}
