"""Which projects a person trusts: a hash of all that could run code or loosen a rule, kept outside them."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from magent_lsp.core.errors import ConfigError, UserError
from magent_lsp.store import review
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import Walk, is_markdown, read_bytes, write_atomic
from magent_lsp.store.instructions import NAMES
from magent_lsp.store.places import Kind, places
from magent_lsp.store.review import Item

_VERSION = b"1"
MAX_SCRIPT = 20_000_000
"""Bytes of a script that a hook runs; of a larger one only the beginning is hashed."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """What trusting a project would allow or run, and the digest of exactly that state."""

    folder: Path
    digest: str
    items: tuple[Item, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to trust."""
        return not self.items

    def lines(self) -> tuple[str, ...]:
        """One line for each thing."""
        return tuple(str(item) for item in self.items)

    def __str__(self) -> str:
        if self.empty:
            return f"{self.folder} has no config of its own, so there is nothing to trust."
        what = "\n".join(f"- {line}" for line in self.lines())
        return f"Trust the config of {self.folder}? It would:\n{what}"


class TrustStore:
    """The projects that are trusted, one small file each in the state folder."""

    def __init__(self, dirs: Dirs) -> None:
        self.folder = dirs.state / "trust"
        self._dirs = dirs

    def is_trusted(self, folder: Path) -> bool:
        """Whether the project is as it was trusted; one without any config has nothing to distrust."""
        files = tuple(self._files(folder))
        if not files:
            return True
        try:
            record = json.loads(read_bytes(self._record(folder)))
        except (FileNotFoundError, ConfigError, ValueError, RecursionError):
            return False
        return isinstance(record, dict) and record.get("digest") == self._digest(folder, files)

    def review(self, folder: Path) -> Review:
        """What trusting the project as it is now would mean."""
        files = tuple(self._files(folder))
        return Review(
            folder=folder, digest=self._digest(folder, files), items=review.items(folder, files, self._dirs)
        )

    def trust(self, folder: Path, digest: str) -> None:
        """Trust exactly what was reviewed; UserError if the project changed since."""
        if self._digest(folder, tuple(self._files(folder))) != digest:
            raise UserError(f"the config of {str(folder)!r} changed since you looked at it; look at it again")
        when = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"folder": str(folder.resolve()), "digest": digest, "when": when}
        write_atomic(self._record(folder), json.dumps(record, indent=1) + "\n", mode=0o600)

    def revoke(self, folder: Path) -> bool:
        """Trust the project no more; whether it was."""
        try:
            self._record(folder).unlink()
        except FileNotFoundError:
            return False
        return True

    def _record(self, folder: Path) -> Path:
        name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{name[:32]}.json"

    def _files(self, folder: Path) -> Iterator[Path]:
        """Everything of the project that is loaded once it is trusted, or that a loaded thing runs."""
        seen: set[Path] = set()
        for path in _all(folder, self._dirs):
            if path not in seen:
                seen.add(path)
                yield path

    def _digest(self, folder: Path, files: tuple[Path, ...]) -> str:
        digest = hashlib.sha256(_VERSION)
        for path in sorted(files):
            digest.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape") + b"\0")
            digest.update(_content(path))
        return digest.hexdigest()


def _all(folder: Path, dirs: Dirs) -> Iterator[Path]:
    configs = [folder / ".magent" / name for name in ("config.yaml", "config.yml", "config.json")]
    configs.append(folder / ".mcp.json")
    for path in configs:
        if path.exists() or path.is_symlink():
            yield path
    kinds: dict[Kind, Callable[[str], bool]] = {
        "agents": is_markdown,
        "commands": is_markdown,
        "skills": lambda name: name == "SKILL.md",
    }
    for kind, wanted in kinds.items():
        for place in places(kind, folder, dirs, True):
            if place.project is not None:
                yield from Walk(wanted=wanted).files(place.folder)
    yield from Walk(wanted=lambda name: True).files(folder / ".magent" / "hooks")
    yield from review.scripts(folder, configs)
    for name in NAMES:
        path = folder / name
        if path.is_symlink() and not review.stays(path, folder):
            yield path


def _content(path: Path) -> bytes:
    """The hash of a file, or of the reason why it cannot be read, in which case nothing loads it."""
    try:
        content = read_bytes(path, limit=MAX_SCRIPT)
    except (ConfigError, FileNotFoundError) as error:
        content = b"\0unreadable\0" + type(error).__name__.encode()
        if path.is_file():
            status = path.stat()
            content += f"{status.st_size} {status.st_mtime_ns}".encode()
    return hashlib.sha256(content).digest()
