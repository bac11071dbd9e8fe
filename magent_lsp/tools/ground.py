"""What is on the disk, for the guard, which does no input or output of its own."""

import os
from collections.abc import Iterator
from pathlib import Path


class Ground:
    """The real disk."""

    def has(self, path: Path) -> bool:
        """Whether something is there, be it a link that leads nowhere."""
        return os.path.lexists(path)

    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder, or a link to one."""
        return path.is_dir()

    def is_link(self, path: Path) -> bool:
        """Whether it is a link itself."""
        return path.is_symlink()

    def names(self, path: Path) -> Iterator[tuple[str, bool]]:
        """The names in a folder, and whether each is a link; may raise OSError."""
        with os.scandir(path) as entries:
            for each in entries:
                yield each.name, each.is_symlink()
