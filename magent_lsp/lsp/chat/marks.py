"""The lines that give a chat document its form, and how a text is kept from looking like them."""

import re
from typing import Final, Literal

Who = Literal["you", "magent"]

YOU: Final = "## You"
MAGENT: Final = "## Magent"

TOOL: Final = "> - tool: "
NOTE: Final = "> - magent: "
BODY: Final = ">   "
"""What stands before further lines of a tool."""

_HEADING: Final = re.compile(r"## (You|Magent)[ \t]*\Z", re.IGNORECASE)
_QUOTED: Final = re.compile(r"\\+(?:## (?:You|Magent)[ \t]*\Z|> - (?:tool|magent): )", re.IGNORECASE)
_STARTS: Final = tuple(text.lower() for text in (YOU, MAGENT, TOOL, NOTE))


def heading(line: str) -> Who | None:
    """Whose part a line begins."""
    match = _HEADING.match(line) if line.startswith("## ") else None
    if match is None:
        return None
    return "you" if match[1].lower() == "you" else "magent"


def is_ours(line: str, *, after_ours: bool) -> bool:
    """Whether a line was written about a tool or a run; it is no part of what the model said."""
    if not line.startswith(">"):
        return False
    return line.lower().startswith(_STARTS[2:]) or (after_ours and line.startswith(BODY))


def quote(line: str) -> str:
    """A line of a text, without its end, that is taken for nothing else."""
    return f"\\{line}" if _QUOTED.match(f"\\{line}") else line


def unquote(line: str) -> str:
    """The line as it was before `quote`."""
    return line[1:] if line.startswith("\\") and _QUOTED.match(line) else line


def undecided(begun: str) -> bool:
    """Whether a line that begins so may still become one that must be quoted."""
    bare = begun.lstrip("\\").lower()
    return any(start.startswith(bare) for start in _STARTS) or _QUOTED.match(f"\\{begun}") is not None
