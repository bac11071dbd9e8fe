"""Processes of the system, as tests look at them."""

from pathlib import Path


def runs(group: int) -> bool:
    """Whether a living process belongs to the process group."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, found = path.read_bytes().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(found) == group and state not in b"ZX":
            return True
    return False
