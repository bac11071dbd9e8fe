"""A project as people really have it, and an empty home beside it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from magent_lsp.engine.history import normalise
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.sessions import SessionStore
from tests.support.sessions import Clock

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


@pytest.fixture
def told() -> list[str]:
    """What the store tells the person."""
    return []


@pytest.fixture
def store(tmp_path: Path, told: list[str]) -> Iterator[SessionStore]:
    """Sessions in an empty folder; every open one is closed at the end."""
    store = SessionStore(tmp_path / "state", normalise=normalise, tell=told.append, now=Clock())
    yield store
    store.close_all()
