"""Fixtures of all tests that drive a real editor; what they hand out is in `tests/support/editors.py`."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.editors import Desk, ModelProcess, Tmux, make_desk, need
from tests.support.emacs import run_batch


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: `MAGENT_SCREENSHOTS`, else a temporary folder."""
    named = os.environ.get("MAGENT_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    """A model server in a process of its own."""
    process = ModelProcess()
    yield process
    process.close()


@pytest.fixture
def desk(tmp_path: Path, model: ModelProcess) -> Desk:
    """A repository, a configuration and an environment in which nothing of the real machine is seen."""
    need("git", "apt-get install git")
    return make_desk(tmp_path, model)


@pytest.fixture
def tmux(desk: Desk) -> Iterator[Callable[..., Tmux]]:
    """Starts a program in a terminal: `tmux([program, argument, …], size="100x32")`."""
    need("tmux", "apt-get install tmux")
    open_ones: list[Tmux] = []

    def start(command: list[str], **options: Any) -> Tmux:
        terminal = Tmux(command, **{"cwd": desk.root, "env": desk.env, **options})
        open_ones.append(terminal)
        return terminal

    yield start
    for terminal in open_ones:
        terminal.close()


@pytest.fixture
def batch(desk: Desk) -> Callable[[str], str]:
    """Evaluates Emacs Lisp in a real Emacs at the desk; returns what it prints."""
    return partial(run_batch, desk)
