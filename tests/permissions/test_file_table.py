"""The table of options against the programs that are here: a value that is none would hide a file."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from magent_lsp.permissions.file_table import FILE_COMMANDS
from magent_lsp.permissions.tables import words_of

GNU = words_of(
    "ls du wc stat sort od base64 cut paste join fold expand comm cmp diff diff3 sdiff grep sed column file"
    " hexdump realpath readlink date head tail cp mv ln mkdir touch"
)
"""Programs whose `--help` has a line for each option."""
_LONG = re.compile(r"(--[a-z0-9][a-z0-9-]*)(\[=|=| <|\s[A-Z]{2,})?")


def options(program: str) -> Iterator[tuple[str, str]]:
    """Each long option, and what its help says stands behind the name."""
    shown = subprocess.run(
        [program, "--help"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    for line in shown.stdout.splitlines():
        if line.lstrip().startswith("-"):
            names = re.split(r"\s{2,}(?![-<])", line.strip())[0]
            yield from ((each[1], each[2] or "") for each in _LONG.finditer(names))


@pytest.mark.parametrize("program", [each for each in GNU if shutil.which(each)])
def test_only_what_needs_a_value_takes_the_next_word(program: str) -> None:
    table = FILE_COMMANDS[program].options
    wrong = [
        (option, behind)
        for option, behind in options(program)
        if behind in ("", "[=")
        and option not in table.flags
        and any(each.startswith(option) for each in table.long)
    ]
    assert wrong == []
