"""`python -m magent_lsp` in a folder that somebody else wrote."""

import subprocess
import sys
from pathlib import Path


def test_a_module_of_the_workspace_is_never_imported(tmp_path: Path) -> None:
    """A repository could otherwise run code at the first prompt, before anyone was asked."""
    for name in ("litellm", "yaml", "pygls", "argparse", "json"):
        (tmp_path / f"{name}.py").write_text("open('pwned', 'w').close()\nraise SystemExit('pwned')\n")
    result = subprocess.run(
        [sys.executable, "-m", "magent_lsp", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "magent-lsp" in result.stdout
    assert not (tmp_path / "pwned").exists()
