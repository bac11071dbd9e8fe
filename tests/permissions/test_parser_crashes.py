"""No text ends the process: the native parser can be made to crash, so we never hand it such a text."""

import subprocess
import sys

import pytest

from tests.support.permissions import bash

# Found by fuzzing: each of these ends a process that gives it to the grammar as it is.
CRASHES = [
    "{\U000d40e2",
    "{\U000a304a",
    "{\U00100ba3'\U000c821f",
    "\U000cf418\U0003b7f6<\tf{\U00063719[*",
]

JUDGE = """
import sys
from tests.support.permissions import bash
for command in sys.stdin.read().split("\\0"):
    print(bash(command).verdict)
"""


def test_characters_outside_of_the_scanner_s_table() -> None:
    """A model, or a file it read, could otherwise end the server with eight bytes."""
    kinds = [
        f"{start}{chr(code)}{end}"
        for start in ("{", "${", "$((", "<<", "a[", "")
        for end in ("", "}", ",b}")
        for code in (0x80, 0xE9, 0x3B1, 0x4E2D, 0xFFFD, 0x1F600, 0xA304A, 0x10FFFF)
    ]
    commands = [*CRASHES, *kinds]
    done = subprocess.run(
        [sys.executable, "-c", JUDGE], input="\0".join(commands), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.returncode
    assert len(done.stdout.split()) == len(commands)


@pytest.mark.parametrize(
    "command",
    [
        "cat <<'é'\nü\ncat <<'E'\né\nrm x\nE\n",
        "cat <<é\nü\nrm x\né\n",
        "cat <<'ab'\né\nab\nrm x\n",
        "cat <<'xx'\né\nrm x\nxx\n",
    ],
)
def test_a_here_document_beside_foreign_letters_is_never_simply_allowed(command: str) -> None:
    """Delimiters of one length must not be taken for each other, or a command could hide in a body."""
    assert bash(command).verdict != "allow"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("echo grüße", "allow"),
        ("cat 'naïve file.txt'", "allow"),
        ("ls 日本語", "allow"),
        ("grep ключ f.txt", "allow"),
        ("rm 日本語", "deny"),
        ("echo é && rm x", "deny"),
        ("échoue x", "ask"),
        ("éA=1 rm x", "deny"),
        ("echo é > /etc/ü", "ask"),
    ],
)
def test_foreign_letters_are_letters(command: str, verdict: str) -> None:
    assert bash(command).verdict == verdict
