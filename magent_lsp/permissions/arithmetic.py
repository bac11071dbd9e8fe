"""Places where the shell reads a text once more as code: arithmetic, subscripts, offsets, comparisons.

There the value of a name is evaluated like what is written: `a[$(x)]` runs `x`, `PATH=1` sets `PATH`. So
only numbers and counters of the line itself are understood.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

_COUNTS: Final = (
    r"""\$\( (?:[^()'"`\\;&<>$]*\|)? \s* (?:wc\s+-[lwcm] (?:\s*<[^()|;&<>`$]+)? | nproc | date\s\+%s) \s*\)"""
)
COUNT: Final = re.compile(_COUNTS, re.VERBOSE)
"""A substitution of which the output is a number."""
_TOKEN: Final = re.compile(
    rf"""
    (?P<number>\d+\#[\w@]* | \d\w* | \$[?\#$!] | \$\{{\#[\w@*]*\}} | {_COUNTS})
    | (?P<name>[A-Za-z_]\w*+)(?!\$)
    | \$(?P<value>[A-Za-z_]\w*+)(?![\[$]) | \$\{{(?P<braced>[A-Za-z_]\w*)\}}(?![\w\[$])
    | (?P<sign>[-+*/%<>=!&|^~?:,()\[\];\s]+)
    """,
    re.VERBOSE,
)
_SET: Final = re.compile(
    r"(?<![\w$])([A-Za-z_]\w*)\s*(?:\[[^\]\[]{0,100}\]\s*)?(?:(?:[-+*/%&^|]|<<|>>)?=(?!=)|\+\+|--)"
    r"|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_COUNTER: Final = re.compile(r"(?!_*\d*$|npm_|.*_proxy$)[a-z_0-9]+")
"""Names without a meaning to the shell or to programs."""
_INTEGER: Final = re.compile(r"[-+]?\d+")
_INTEGERS: Final = re.compile(r"[-+]?\d+|\{-?\d+\.\.-?\d+(?:\.\.-?\d+)?\}|\$\(seq(?:\s+-?\d+){1,3}\s*\)")
_EXPANSION: Final = re.compile(r"\$\{(?P<sign>[#!]?)(?P<name>\w+|[-@*#?$!])?(?P<rest>.*)\}", re.DOTALL)
_QUOTE: Final = re.compile(r"['\"]")
_HIDDEN: Final = re.compile(r"`|\$(?:[(\[]|\{(?!\w+\}))")
_ESCAPED_SUBSCRIPT: Final = re.compile(r"\[[^\]\[]*\\")

EVALUATED: Final = frozenset(
    {"arithmetic_expansion", "subscript", "c_style_for_statement", "expansion", "compound_statement"}
)
"""Kinds of nodes to look at."""


ANY: Final = "*"
"""Stands for a name that is not known."""


@dataclass(kw_only=True)
class Names:
    """The variables that a line evaluates."""

    used: set[str] = field(default_factory=set)
    """In arithmetic, by its name or by its value."""
    counted: set[str] = field(default_factory=set)
    """Set by arithmetic, or by a loop over integers."""
    texts: set[str] = field(default_factory=set)
    """Given values that may be other than integers."""

    def add(self, text: str) -> bool:
        """Read a text as arithmetic; False: it may do something, or its value is not known."""
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                return False
            at = token.end()
            if name := token["name"] or token["value"] or token["braced"]:
                if not _COUNTER.fullmatch(name):
                    return False
                self.used.add(name)
        for before, behind in _SET.findall(text):
            self.counted.add(before or behind)
        return True

    def loop(self, name: str, values: Iterable[str]) -> None:
        """A loop sets a variable."""
        (self.counted if all(map(_INTEGERS.fullmatch, values)) else self.texts).add(name)

    def join(self, other: "Names") -> None:
        """Add those of another line that runs in the same shell."""
        self.used |= other.used
        self.counted |= other.counted
        self.texts |= other.texts

    @property
    def numbers(self) -> set[str]:
        """Names whose value is a number."""
        return set() if ANY in self.texts else self.counted - self.texts

    @property
    def unknown(self) -> set[str]:
        """Names in arithmetic whose value may be code."""
        return self.used - self.numbers


def evaluated(kind: str, text: str) -> str | None:
    """The part of a node that the shell reads as arithmetic, None: no part."""
    if kind == "arithmetic_expansion":
        return text[3:-2] if text.startswith("$((") else text[2:-1]
    if kind == "compound_statement":
        return text[2:-2] if text.startswith("((") else None
    if kind == "subscript":
        index = text.partition("[")[2].removesuffix("]")
        return None if index in ("@", "*") else index
    return _offset(text)


def hidden_code(text: str) -> bool:
    """Whether an expansion may run what a text in it holds: the value of a quoted text is read as code."""
    quote = _QUOTE.search(text)
    found = quote is not None and _HIDDEN.search(text, quote.end())
    return bool(found) or _ESCAPED_SUBSCRIPT.search(text) is not None


def _offset(text: str) -> str | None:
    """The subscript and the offset of `${x[1]:2}`."""
    match = _EXPANSION.fullmatch(text)
    if match is None or not (match["sign"] or match["name"]):
        return text
    rest, parts = match["rest"], []
    if rest.startswith("["):
        index, rest = _subscript(rest)
        if index not in ("@", "*"):
            parts.append(index)
    if rest.startswith(":") and rest[1:2] not in ("-", "=", "?", "+"):
        parts.append(rest[1:])
    return ";".join(parts) if parts else None


def _subscript(text: str) -> tuple[str, str]:
    """What stands in the brackets at the beginning, and what behind them."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if not depth:
            return text[1:at], text[at + 1 :]
    return text, ""
