"""A project as people really have it, and an empty home beside it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.store.dirs import Dirs

TREE = Path(__file__).parent / "tree"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of `tests/store/tree`: files for us, for opencode, for Claude and for `.agents`."""
    return Path(shutil.copytree(TREE, tmp_path / "shop"))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A project without any files."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.fixture
def dirs(tmp_path: Path) -> Dirs:
    """The user's folders, which do not exist yet."""
    return Dirs.under(tmp_path / "home")


@pytest.fixture
def put() -> Callable[[Path, str | bytes], Path]:
    """Writes a file with the folders above it."""

    def write(path: Path, content: str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return path

    return write
