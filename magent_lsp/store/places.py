"""The folders that are searched for agents, skills and commands, in order of precedence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import NO_TEXTS, Texts
from magent_lsp.store.frontmatter import Front, read_front

Family = Literal["magent", "opencode", "claude", "agents", "user", "builtin"]
Kind = Literal["agents", "skills", "commands"]

BUILTIN = Path(__file__).parent / "builtin"

_FOLDERS: dict[Family, str] = {
    "magent": ".magent",
    "opencode": ".opencode",
    "claude": ".claude",
    "agents": ".agents",
}
KINDS: dict[Kind, tuple[str, ...]] = {
    "agents": ("agent", "agents"),
    "skills": ("skills", "skill"),
    "commands": ("commands", "command"),
}
"""The names of the folders for each kind."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """One folder that may hold definitions."""

    folder: Path
    family: Family
    project: Path | None
    """The project folder it belongs to; None for the user's own and the built-in ones."""
    trusted: bool
    texts: Texts = field(default_factory=dict)

    def read(self, path: Path) -> Front:
        """A file of it, in two halves; ConfigError if it cannot be had."""
        return read_front(path, within=self.within, texts=self.texts)

    @property
    def within(self) -> Path | None:
        """What links must not leave."""
        return None if self.trusted else self.project

    @property
    def native(self) -> bool:
        """Whether it is part of the package."""
        return self.family == "builtin"


def places(
    kind: Kind,
    folder: Path | None,
    dirs: Dirs,
    trusted: bool,
    root: Path | None = None,
    texts: Texts = NO_TEXTS,
) -> Iterator[Place]:
    """All places for a kind, the strongest first; `root` is the workspace that `folder` is a part of."""
    for family, name in _FOLDERS.items():
        for level in chain(folder, root):
            for part in KINDS[kind]:
                yield Place(
                    folder=level / name / part, family=family, project=level, trusted=trusted, texts=texts
                )
    for part in KINDS[kind]:
        yield Place(folder=dirs.user / part, family="user", project=None, trusted=True, texts=texts)
    yield Place(folder=BUILTIN / kind, family="builtin", project=None, trusted=True)


def chain(folder: Path | None, root: Path | None) -> Sequence[Path]:
    """The folder and those above it up to the root, nearest first."""
    if folder is None:
        return ()
    if root is None or root not in folder.parents:
        return (folder,)
    return (folder, *(level for level in folder.parents if level == root or root in level.parents))
