"""`pytest`: which of its options load or write something, and when it only collects."""

import re
from collections.abc import Sequence
from typing import Final

from magent_lsp.permissions.tables import set_of

_RISKY: Final = set_of("""
    --config-file --inifile --override-ini --rootdir --confcutdir --basetemp --junitxml --junit-xml --log-file
    --debug --pastebin --pdbcls --cov-config --cov-report --pyargs --result-log --report-log --html
    --json-report-file --rsyncdir --tx --looponfail --resultlog
""")
"""They load config or code from elsewhere, write files, empty a folder or send the results away."""
_VALUED: Final = "kmrWn"
"""Short options with a harmless value."""
_COLLECTING: Final = set_of("""
    --collect-only --co -q -qq -v -vv -k -m --quiet --verbose --no-header --ignore --ignore-glob --deselect
    --color
""")


def pytest_words(name: str, words: Sequence[str]) -> Sequence[str]:
    """The words of a call of pytest, `python -m pytest` too, from its name on; empty for others."""
    if name in ("pytest", "py.test"):
        return words
    if re.fullmatch(r"(?:python|pypy)[\d.]*", name):
        if tuple(words[1:3]) == ("-m", "pytest"):
            return words[2:]
        if tuple(words[1:2]) == ("-mpytest",):
            return ["pytest", *words[2:]]
    return ()


def pytest_escape(words: Sequence[str]) -> str | None:
    """The argument with which pytest does more than run the tests; None if there is none."""
    for index, each in enumerate(words[1:], start=1):
        if each.startswith("@"):  # a file that holds more arguments
            return each
        if each.startswith("--"):
            if each.partition("=")[0] in _RISKY and each.partition("=")[2] not in ("term", "term-missing"):
                return each
        elif each.startswith("-") and (found := _short(each, words[index + 1 : index + 2])):
            return found
    return None


def _short(cluster: str, following: Sequence[str]) -> str | None:
    """`-p`, `-c` and `-o`, alone or in a cluster; `-p no:NAME` only leaves a plugin out."""
    for at, letter in enumerate(cluster[1:], start=1):
        if letter in _VALUED:
            return None
        if letter in "pco":
            value = cluster[at + 1 :] or next(iter(following), "")
            return None if letter == "p" and value.startswith("no:") else cluster
    return None


def pytest_collects(words: Sequence[str]) -> bool:
    """Whether pytest only lists the tests."""
    options = [each.partition("=")[0] for each in words[1:] if each.startswith("-") and len(each) > 1]
    return ("--collect-only" in options or "--co" in options) and set(options) <= _COLLECTING
