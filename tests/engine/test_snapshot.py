"""What was configured and what is in force."""

import sys
from pathlib import Path

import pytest

from magent_lsp.engine.snapshot import Sources, load_snapshot
from magent_lsp.store.dirs import Dirs


def test_without_the_library_people_are_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who configures a server and sees no tools would look for the fault in the wrong place."""
    sources = Sources(
        dirs=Dirs.under(tmp_path), environ={}, client={"mcpServers": {"files": {"command": "files-mcp"}}}
    )
    assert load_snapshot(None, sources).problems == ()
    monkeypatch.setitem(sys.modules, "mcp", None)
    (problem,) = load_snapshot(None, sources).problems
    assert "files" in problem.message
    assert "pipx inject magent-lsp 'mcp>=2.3,<3'" in problem.message
