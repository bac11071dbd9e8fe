"""What gives variables a value: assignments, declarations, builtins, redirects."""

import re
from collections.abc import Sequence
from typing import Final

from magent_lsp.permissions.arithmetic import ANY, Names
from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import Word

HARMLESS_NAMES: Final = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|CI|TERM|COLUMNS|LINES|DEBIAN_FRONTEND"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|RUST_BACKTRACE|GIT_TERMINAL_PROMPT|SOURCE_DATE_EPOCH"
)
"""Variables that change how a command speaks, not what it does or loads."""
_ELSEWHERE: Final = re.compile(r"^['\":]*[/~]|\.\.|\$|`")
_OWN_FILE: Final = re.compile(r"(?:^|[\s;&|()<>])\{([A-Za-z_]\w*(?:\[.*)?)\}$", re.DOTALL)
_COUNTER: Final = re.compile(r"[a-z]+")

_DECLARATIONS: Final = set_of("export declare typeset local readonly")
_SETTERS: Final = set_of("read mapfile readarray getopts printf wait")
"""Builtins that put a text in a variable."""
_SCRIPTS: Final = set_of("source .")


def assigned(name: str, value: str, *, array: bool) -> str:
    """What an assignment sets, as it is compared with the harmless names."""
    if array:
        return f"{name}=("  # whose subscripts are arithmetic
    if _ELSEWHERE.search(value):
        return f"{name}={value[:20]}"  # a locale or time zone that is loaded from a file
    return name


def own_file(before: str) -> str | None:
    """The variable that gets the number of a file, from the text before a redirect: `{x}>file` sets `x`."""
    match = _OWN_FILE.search(before)
    return None if match is None or _COUNTER.fullmatch(match[1]) else match[1]


def sets_unseen(words: Sequence[Word], names: Names) -> bool:
    """Whether a command is a builtin that sets variables beyond what is followed; notes those it follows."""
    texts = [each.text for each in words]
    called = set(texts[: 1 + (texts[0] in ("builtin", "command"))])
    if called & _SETTERS:
        for each in words[1:]:
            if not each.literal or len(each.text) > 100:
                names.texts.add(ANY)
            ends = range(len(each.text[:100]) if each.text.startswith("-") else 1)  # `read -ax` sets `x`
            names.texts.update(each.text[end:] for end in ends)
    if called & _SCRIPTS:
        names.texts.add(ANY)
    return bool(called & _DECLARATIONS) or bool(called & _SETTERS and _may_name(words[1:], called))


def _may_name(words: Sequence[Word], called: set[str]) -> bool:
    """Whether a builtin's operand may name a variable by a subscript, which is evaluated."""
    if "printf" in called:  # of which only `-v` names one
        return len(words) > 1 and not words[0].exact and words[0].text.startswith(("$", "{"))
    if "wait" in called and not any(each.text.startswith("-") for each in words):
        return False
    return any(not each.exact or "[" in each.text for each in words)
