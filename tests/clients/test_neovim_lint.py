"""The Neovim plugin's Lua: luacheck and stylua are content."""

import subprocess

import pytest

from tests.clients.neovim.vim import PLUGIN
from tests.clients.vscode.build import cache
from tests.support.editors import REPOSITORY, missing, need

pytestmark = [pytest.mark.editor, pytest.mark.timeout(120)]


def test_luacheck_is_content() -> None:
    luacheck = need("luacheck", "apt-get install lua-check")
    done = subprocess.run(
        [luacheck, "-q", "--no-color", "."], cwd=PLUGIN, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_stylua_is_content() -> None:
    packages = cache() / "stylua/node_modules"
    if not packages.is_dir():
        missing("stylua", "tests/clients/vscode/install.sh")
    script = REPOSITORY / "tests/clients/neovim/stylua.cjs"
    files = sorted(str(file.relative_to(PLUGIN)) for file in PLUGIN.rglob("*.lua"))
    command = [need("node", "install Node.js 20"), str(script), str(packages), *files]
    done = subprocess.run(command, cwd=PLUGIN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "to be formatted anew"
    settings = (PLUGIN / ".stylua.toml").read_text(encoding="utf-8")
    assert 'column_width = 110\nindent_type = "Spaces"\nindent_width = 2\n' in settings
