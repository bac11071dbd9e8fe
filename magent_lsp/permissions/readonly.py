"""The table of commands that only read: what the built-in defaults allow without asking."""

from collections.abc import Mapping, Sequence
from typing import Final

from magent_lsp.permissions.escapes import escape_of
from magent_lsp.permissions.git import git_reads
from magent_lsp.permissions.pytest_calls import pytest_collects, pytest_words
from magent_lsp.permissions.tables import set_of, words_of

ANY: Final = None
"""Any option but the dangerous ones."""

PROGRAMS: Final[Mapping[str, frozenset[str] | None]] = {
    **dict.fromkeys(
        words_of("""
    ls cat head tail wc nl tac rev cut tr paste comm cmp diff grep egrep fgrep rg sort file stat du df
    echo pwd which whoami id uname date basename dirname realpath readlink seq true false test [ : cd
    md5sum sha1sum sha256sum sha512sum cksum b2sum strings od hexdump find fd sed tree jq printf type
    base64 fold expand column join nproc tty groups uptime expr
"""),
        ANY,
    ),
    "arch": frozenset(),  # with options and operands it runs a program, on macOS
    "uniq": set_of("-c -d -D -i -u -z --count --repeated --unique --ignore-case"),
    "hostname": frozenset({"-f", "-s", "-i", "-I", "--fqdn", "--short"}),
}
"""Programs with the options they may have."""

NO_OPERANDS: Final = frozenset({"arch", "hostname", "tty", "uptime"})
"""Programs whose operand would change something."""
ONE_OPERAND: Final = frozenset({"uniq"})
"""Programs whose second operand is written."""

VERSIONS: Final = set_of("""
    python python3 pip pip3 uv node npm npx bun deno go gcc g++ clang make cmake ninja java javac ruby gem
    php perl lua docker kubectl git emacs nvim vim tsc eslint ruff mypy pytest black
""")
"""Programs that may be asked for their version.

Not those that a file of the project turns into another program first: `yarnPath` of yarn, `packageManager` of
pnpm, `rust-toolchain.toml` of cargo, `.mvn/jvm.config`, `global.json` of dotnet, `.bundle/config`.
"""


def only_reads(words: Sequence[str], *, piped: bool = False) -> bool:
    """Whether a command, given as decoded words, is in the table and has no dangerous flag."""
    if not words:
        return False
    name = words[0]
    if name in VERSIONS and tuple(words[1:]) in (("--version",), ("-V",), ("version",)) and name != "docker":
        return True
    if escape_of(name, words, piped=piped):
        return False
    if tests := pytest_words(name, words):
        return pytest_collects(tests)
    if name == "git":
        return git_reads(words)
    if name == "command":
        return len(words) > 2 and words[1] in ("-v", "-V")
    if name not in PROGRAMS:
        return False
    return _fits(name, words[1:])


def _fits(name: str, arguments: Sequence[str]) -> bool:
    allowed = PROGRAMS[name]
    options = [each for each in arguments if each.startswith("-") and len(each) > 1]
    operands = [each for each in arguments if not each.startswith("-")]
    if allowed is not ANY and not set(options) <= allowed:
        return False
    if name == "date":
        return _shows_time(arguments)
    return not (name in NO_OPERANDS and operands) and not (name in ONE_OPERAND and len(operands) > 1)


def _shows_time(arguments: Sequence[str]) -> bool:
    """Whether `date` has no operand but a format: another one sets the clock."""
    valued = ""
    for each in arguments:
        if valued:
            valued = ""
        elif each in ("-d", "-f", "-r", "--date", "--file", "--reference"):
            valued = each
        elif not each.startswith(("+", "-")):
            return False
    return True
