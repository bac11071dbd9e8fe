"""The house keeps its shape: imports point one way, and starting stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

HEAVY = (
    "litellm",
    "httpx",
    "rich",
    "prompt_toolkit",
    "tree_sitter",
    "html_to_markdown",
    "openai",
    "rapidfuzz",
)
"""Whoever waits for `initialize` must not wait for these."""

MUTABLE = (ast.List, ast.Set, ast.Dict, ast.Call, ast.ListComp, ast.DictComp, ast.SetComp)


def test_imports_point_one_way() -> None:
    """A newcomer can rely on the layers that docs/architecture.md shows."""
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("module", ["magent_lsp.lsp.server", "magent_lsp.cli"])
def test_starting_loads_nothing_heavy(module: str) -> None:
    """An editor gets its answer to `initialize` before any model client is loaded."""
    code = f"import {module}, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_server_that_ran_nothing_has_not_loaded_what_runs_need(tmp_path: Path) -> None:
    """Memory of an idle server is that of a bare one, half as much again at most."""
    code = f"""
import json, sys
from pathlib import Path
import magent_lsp.lsp.commands.registry, magent_lsp.lsp.edge
from magent_lsp.app import Magent
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
here = Path({str(tmp_path)!r})
dirs = Dirs.from_environment({{"HOME": str(here)}})
app = Magent(folders=[here], editor=DiskEditor(), sink=None, dirs=dirs, environ={{}})
app.status()
unwanted = ("magent_lsp.tools.", "magent_lsp.app.guests", "magent_lsp.mcp")
print([m for m in sys.modules if m.startswith(unwanted) or m == "magent_lsp.app.runner"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_no_module_keeps_changing_state() -> None:
    """Two servers in one process must not share anything: what a module holds is a constant or a logger."""
    found = []
    for path in (ROOT / "magent_lsp").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, MUTABLE):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                found += [
                    f"{path.name}: {name}"
                    for name in names
                    if not name.strip("_")[:1].isupper() and name not in ("logger", "_log", "__all__")
                ]
    assert found == []
