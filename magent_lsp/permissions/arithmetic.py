"""Places where the shell reads a text once more as code: arithmetic, subscripts, comparisons of numbers."""

import re
from collections.abc import Iterator
from typing import Final

_ARITHMETIC: Final = frozenset({"arithmetic_expansion", "subscript", "c_style_for_statement"})
_QUOTE: Final = re.compile(r"['\"]")
_ESCAPED_SUBSCRIPT: Final = re.compile(r"\[[^\]\[]*\\")
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


def _code_behind_quote(text: str) -> bool:
    """Whether a substitution stands behind a quote: the value of a quoted text is read once more as code."""
    quote = _QUOTE.search(text)
    return quote is not None and ("$(" in text[quote.end() :] or "`" in text[quote.end() :])


def hidden_code(kind: str, text: str, *, loose: bool) -> str | None:
    """Why a node may run what a text holds, as a sentence: `(( 'a[$(x)]' ))` runs `x`.

    `loose`: whether the line loops over values that are not known, which in arithmetic are code.
    """
    if kind == "expansion":
        found = _code_behind_quote(text) or _ESCAPED_SUBSCRIPT.search(text)
        return "An expansion may run a command that a text holds." if found else None
    counts = kind in _ARITHMETIC or text.startswith("((")
    if counts and (loose or "\\" in text or _code_behind_quote(text)):
        return "Arithmetic may run a command that a value holds."
    if kind == "test_command" and loose and _NUMERIC.search(text):
        return "A comparison of numbers may run a command that a value holds."
    return None
