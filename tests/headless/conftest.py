"""What the tests of the terminal share."""

from pathlib import Path

import pytest

from tests.support.terminal import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`magent-lsp` with a home of its own."""
    return Program(tmp_path)
