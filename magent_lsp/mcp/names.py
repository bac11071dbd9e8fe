"""Names of tools as providers take them: letters, digits, `_` and `-`, at most 64; unique and stable."""

import hashlib
import re
from typing import Final

from magent_lsp.permissions.tools import OUTSIDE

LONGEST: Final = 64
_LONGEST_SERVER: Final = 30
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def prefix_of(server: str) -> str:
    """How the tools of a server begin; two servers may share it, which is for the caller to see."""
    clean = re.sub("__+", "_", _OTHER.sub("_", server)).strip("_")
    if not clean or len(clean) > _LONGEST_SERVER:
        clean = f"{clean[: _LONGEST_SERVER - 7].strip('_') or 's'}_{_mark(server)}"
    return f"{OUTSIDE}{clean}__"


def tool_name(prefix: str, tool: str) -> str:
    """The name of a server's tool; one that had to be changed ends with a mark of what it was."""
    clean, room = _OTHER.sub("_", tool), LONGEST - len(prefix)
    if clean == tool and 0 < len(tool) <= room:
        return prefix + tool
    return f"{prefix}{clean[: room - 7]}_{_mark(tool)}"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
