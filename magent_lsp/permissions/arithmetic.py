"""Places where the shell reads a text once more as code: arithmetic, subscripts, comparisons of numbers."""

import re
from collections.abc import Iterator
from typing import Final

_ARITHMETIC: Final = frozenset({"arithmetic_expansion", "subscript", "c_style_for_statement"})
_CODE_IN_ARITHMETIC: Final = re.compile(r"\\|['\"].*(?:\$\(|`)", re.DOTALL)
"""The shell reads the value of a quoted text in arithmetic once more, with the substitutions in it."""
_CODE_IN_EXPANSION: Final = re.compile(r"['\"].*(?:\$\(|`)|\[[^\]]*\\", re.DOTALL)
_NUMERIC: Final = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s|\w\[['\"\\$]")

_ASSIGNED: Final = re.compile(
    r"(?<!\w)([A-Za-z_]\w*)\s*(?:\[[^\]\[]{0,100}\]\s*)?(?:(?:[-+*/%&^|]|<<|>>)?=(?!=)|\+\+|--)"
    r"|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_OFFSET: Final = re.compile(r"\[|:[^-=?+]")

EVALUATED: Final = _ARITHMETIC | {"expansion", "compound_statement", "test_command"}
"""Kinds of nodes to look at."""


def variables_set(kind: str, text: str) -> Iterator[str]:
    """The names, other than those of counters, that a node sets: `((PATH = 1))`, `[[ 'PATH=1' -eq 1 ]]`."""
    counts = kind in _ARITHMETIC or text.startswith("((")
    if counts or (_OFFSET if kind == "expansion" else _NUMERIC).search(text):
        for before, behind in _ASSIGNED.findall(text):
            name = before or behind
            if not name.islower():
                yield name


def hidden_code(kind: str, text: str, *, loose: bool) -> str | None:
    """Why a node may run what a text holds, as a sentence: `(( 'a[$(x)]' ))` runs `x`.

    `loose`: whether the line loops over values that are not known, which in arithmetic are code.
    """
    if kind == "expansion":
        found = _CODE_IN_EXPANSION.search(text)
        return "An expansion may run a command that a text holds." if found else None
    counts = kind in _ARITHMETIC or text.startswith("((")
    if counts and (loose or _CODE_IN_ARITHMETIC.search(text)):
        return "Arithmetic may run a command that a value holds."
    if kind == "test_command" and loose and _NUMERIC.search(text):
        return "A comparison of numbers may run a command that a value holds."
    return None
