"""The snippets of the Neovim guide, each in a real Neovim, and the keys and commands that it names."""

import re
import subprocess

import pytest

from tests.clients.neovim.vim import PLUGIN, binary
from tests.support.editors import REPOSITORY, Desk

pytestmark = pytest.mark.editor

GUIDE = (REPOSITORY / "docs/guide/neovim.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?<!<!-- snippet: old -->\n)```lua\n(.*?)```", GUIDE, re.DOTALL)
"""Those for this Neovim; that for an older one is tried in `test_neovim_old.py`."""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:40])
def test_snippet(desk: Desk, block: str) -> None:
    home = desk.home / "src"
    home.mkdir()
    (home / "magent-lsp").symlink_to(REPOSITORY)
    if block.startswith("{"):  # a plugin manager's table: its folder and its options are tried by hand
        block = f"""
        local spec = {block.strip()}
        vim.opt.runtimepath:append(vim.fs.normalize(spec.dir))
        require(spec.main).setup(spec.opts)
        """
    elif "require" in block and "runtimepath" not in block:
        block = f"vim.opt.runtimepath:append([[{PLUGIN}]])\n{block}"
    script = desk.home / "snippet.lua"
    script.write_text(
        f"""
        local said = {{}}
        vim.notify = function(text) table.insert(said, text) end
        {block}
        assert(#said == 0, table.concat(said))
        assert(vim.v.errmsg == '', vim.v.errmsg)
        """
    )
    command = [binary(), "--clean", "-n", "-l", str(script)]
    done = subprocess.run(command, env=desk.env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_keys_and_commands_are_as_the_guide_says(desk: Desk) -> None:
    script = desk.home / "names.lua"
    script.write_text(
        f"""
        vim.opt.runtimepath:append([[{PLUGIN}]])
        vim.g.mapleader = ' '
        require('magent_lsp').setup({{ prefix = '<leader>m', autostart = false }})
        for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
          if map.rhs and map.rhs:find('^:Magent') then
            print(map.lhs, (map.rhs:gsub('<CR>', '')))
          end
        end
        for name in pairs(require('magent_lsp.command').commands) do
          print('command', name)
        end
        """
    )
    command = [binary(), "--clean", "-n", "-l", str(script)]
    done = subprocess.run(command, env=desk.env, capture_output=True, text=True, timeout=30, check=True)
    words = [line.split(maxsplit=1) for line in done.stderr.splitlines() if line.strip()]
    keys = {key for key, _ in words if key != "command"}
    commands = {name for key, name in words if key == "command"}
    assert {key[-2:] for key in re.findall(r"<leader>m\w", GUIDE)} <= keys
    manual = (PLUGIN / "doc/magent_lsp.txt").read_text(encoding="utf-8")
    for name in commands:
        assert re.search(rf"Magent!?.* {name}\b|Magent skills, {name}|chat", manual), name
    for name in re.findall(r"`:Magent (\w+)", GUIDE):
        assert name in commands, name
