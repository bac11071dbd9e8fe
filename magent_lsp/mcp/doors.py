"""Where running servers take calls of other agents: a socket each, and beside it a note that tells of it."""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from magent_lsp import __version__
from magent_lsp.mcp.frames import PROTOCOL
from magent_lsp.store.journal import private_folder
from magent_lsp.store.lock import Owner, is_running

_LONGEST_NOTE: Final = 100_000


@dataclass(frozen=True, kw_only=True)
class Door:
    """A server that can be reached."""

    owner: Owner
    folders: tuple[Path, ...]
    client: str
    """The editor's name; empty if it did not say."""
    opened: float
    """Seconds since the epoch."""
    token: str
    path: Path | None = None
    """Its unix socket."""
    port: int | None = None
    """Its TCP port on this machine, where there are no such sockets."""
    protocol: int = PROTOCOL
    version: str = __version__

    def holder(self, place: Path) -> Path | None:
        """The innermost of its folders in which a place lies; None if there is none, or no such place."""
        try:
            real = Path(os.path.realpath(place))
        except (OSError, ValueError):
            return None
        holders = [each for each in self.folders if real.is_relative_to(os.path.realpath(each))]
        return max(holders, key=lambda each: len(Path(os.path.realpath(each)).parts), default=None)

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.client or 'an editor'}, process {self.owner.pid}"


def prepare(folder: Path) -> str:
    """A fresh name in the folder, which only its owner can look into, without what the dead left there."""
    private_folder(folder)
    if os.name == "posix":
        folder.chmod(0o700)
    sweep(folder)
    return f"{os.getpid()}-{secrets.token_hex(3)}"


def tell(note: Path, door: Door) -> None:
    """Write, or write anew, the note of a door; whole or not at all, and for its owner alone."""
    data = {
        "pid": door.owner.pid,
        "host": door.owner.host,
        "started": door.owner.started,
        "folders": [str(folder) for folder in door.folders],
        "client": door.client,
        "opened": door.opened,
        "token": door.token,
        "socket": str(door.path) if door.path else None,
        "port": door.port,
        "protocol": door.protocol,
        "version": door.version,
    }
    fresh = note.with_suffix(f".{secrets.token_hex(4)}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(data, stream)
    fresh.replace(note)


def forget(note: Path) -> None:
    """Take a door's note and its socket away."""
    for path in (note, note.with_suffix(".sock")):
        with contextlib.suppress(OSError):
            path.unlink()


def doors(folder: Path) -> list[Door]:
    """The doors of this machine's living processes."""
    return [door for _, door in _notes(folder) if door is not None and _lives(door)]


def sweep(folder: Path) -> None:
    """Take away what dead processes of this machine left."""
    told = set()
    for note, door in _notes(folder):
        if door is not None:
            told.add(note.stem)
        if door is not None and door.owner.host == Owner.ours().host and not is_running(door.owner):
            forget(note)
    old = time.time() - 60  # younger ones may be about to get their note
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            lost = path.suffix == ".new" or path.stem not in told
            if lost and path.lstat().st_mtime < old:
                path.unlink()


def choose(found: Sequence[Door], place: Path) -> list[tuple[Door, Path]]:
    """The doors whose folders hold a place, the innermost folder first, then the newest, with that folder."""
    holding = [(door, holder) for door in found if (holder := door.holder(place)) is not None]
    return sorted(holding, key=lambda pair: (-len(Path(os.path.realpath(pair[1])).parts), -pair[0].opened))


def _lives(door: Door) -> bool:
    return door.owner.host == Owner.ours().host and is_running(door.owner)


def _notes(folder: Path) -> Iterator[tuple[Path, Door | None]]:
    for note in sorted(folder.glob("*.json")):
        try:
            with note.open(encoding="utf-8") as stream:
                data = json.loads(stream.read(_LONGEST_NOTE))
            yield note, _door(data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            yield note, None


def _door(data: Mapping[str, Any]) -> Door:
    owner = Owner(pid=int(data["pid"]), host=str(data["host"]), started=str(data["started"]), token="")
    return Door(
        owner=owner,
        folders=tuple(Path(str(each)) for each in data["folders"]),
        client=str(data["client"]),
        opened=float(data["opened"]),
        token=str(data["token"]),
        path=Path(data["socket"]) if data["socket"] is not None else None,
        port=int(data["port"]) if data["port"] is not None else None,
        protocol=int(data["protocol"]),
        version=str(data["version"]),
    )
