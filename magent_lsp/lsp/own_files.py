"""Which files people write for us, told by their place alone."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

FOLDERS: Final = (".magent", ".opencode", ".claude", ".agents")
_NAMES: Final = ("AGENTS.md", "CLAUDE.md", ".mcp.json")

WATCHED: Final = (*(f"**/{folder}/**" for folder in FOLDERS), *(f"**/{name}" for name in _NAMES))
"""Files of a project that we read."""


def is_own(uri: str, user: Path | None) -> bool:
    """Whether a file is read by us; `user` is the folder of the user's configuration, if it is known."""
    parts = unquote(urlsplit(uri).path).split("/")
    if "plans" in parts:  # written by the plan agent, never read as configuration
        return False
    return (
        parts[-1] in _NAMES
        or any(folder in parts for folder in FOLDERS)
        or (user is not None and Path("/".join(parts)).is_relative_to(user))
    )
