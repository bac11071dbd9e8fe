"""Names that begin with a person's home folder."""

import os
from pathlib import Path


def expanded(name: str | Path) -> Path:
    """The path with the folder that `~` or `~name` stands for; as it is where there is no such person.

    `Path.expanduser` raises RuntimeError then, and a file may be called so.
    """
    return Path(os.path.expanduser(name))  # noqa: PTH111
