"""What was configured and what is in force."""

from pathlib import Path

from magent_lsp.engine.snapshot import Sources, load_snapshot
from magent_lsp.store.dirs import Dirs


def test_a_setting_without_effect_is_said_to_have_none(tmp_path: Path) -> None:
    """Somebody who configures a server and sees no tools would look for the fault in the wrong place."""
    sources = Sources(
        dirs=Dirs.under(tmp_path), environ={}, client={"mcpServers": {"files": {"command": "files-mcp"}}}
    )
    assert any("files" in problem.message for problem in load_snapshot(None, sources).problems)
    quiet = Sources(dirs=Dirs.under(tmp_path), environ={}, client={})
    assert load_snapshot(None, quiet).problems == ()
