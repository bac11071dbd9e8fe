"""All that a child process started: its process group, and what left the group."""

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_MOST = 400


class _Entry(NamedTuple):
    state: str
    parent: int
    group: int
    session: int


class Members(NamedTuple):
    """Descriptors of processes."""

    inside: list[int]
    """In the process group of their root."""
    outside: list[int]


def send(number: signal.Signals, group: int, more: Sequence[int]) -> None:
    """Signal every process of a group and some more; those that are gone are no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for member in more:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(member, number)


def exists(group: int) -> bool:
    """Whether the group has a process, be it a dead one that nobody has awaited yet."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def runs(group: int) -> bool:
    """Whether a process of the group still runs."""
    if not exists(group):
        return False
    table = _table()
    return not table or any(entry.group == group and entry.state not in "ZX" for entry in table.values())


def members(root: int) -> Members:
    """Descriptors of a child's descendants, those in its process group too; Linux only, elsewhere none.

    Descriptors, since a number may belong to another process by the time it is used, and since a member of
    the group may leave it the moment after. The caller closes them.
    """
    inside: list[int] = []
    outside: list[int] = []
    if hasattr(os, "pidfd_open"):
        table = _table()
        for pid, entry in table.items():
            if len(inside) + len(outside) == _MOST:
                break
            if entry.group == root or entry.session == root or _descends(pid, root, table):
                with contextlib.suppress(OSError):
                    (inside if entry.group == root else outside).append(os.pidfd_open(pid))
    return Members(inside, outside)


def _table() -> dict[int, _Entry]:
    """All processes of the system by number; empty where there is no /proc."""
    table: dict[int, _Entry] = {}
    if not (_PROC / "self" / "stat").exists():
        return table
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                # the name, in parentheses, may itself hold blanks and parentheses
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                parent, group, session = (int(field) for field in fields[1:4])
                table[int(folder.name)] = _Entry(fields[0].decode(), parent, group, session)
    return table


def _descends(pid: int, root: int, table: Mapping[int, _Entry]) -> bool:
    for _ in range(len(table)):
        if pid == root:
            return True
        if pid not in table:
            return False
        pid = table[pid].parent
    return False
