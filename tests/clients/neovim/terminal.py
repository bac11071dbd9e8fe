"""Neovim with the plugin in a terminal, for real keys."""

from collections.abc import Callable

from tests.clients.neovim.vim import PLUGIN, binary, lua_list
from tests.support.editors import Desk, Tmux

INIT = """
vim.opt.runtimepath:prepend([==[{plugin}]==])
vim.g.mapleader = ' '
vim.o.termguicolors, vim.o.number = true, true
require('magent_lsp').setup({{ cmd = {server}, prefix = '<leader>m' }})
vim.o.statusline = "%f %m%=%{{v:lua.require'magent_lsp'.status()}} %l:%c"
"""


def start(desk: Desk, tmux: Callable[..., Tmux]) -> Tmux:
    """Neovim with the plugin, in the desk's file."""
    init = desk.home / "init.lua"
    init.write_text(INIT.format(plugin=PLUGIN, server=lua_list(desk.server)))
    command = [binary(), "-n", "-u", str(init), "+13", str(desk.file)]
    terminal = tmux(command, env={**desk.env, "COLORTERM": "truecolor"}, size="136x40")
    terminal.wait("13:")
    return terminal


def write(terminal: Tmux, text: str) -> None:
    """Open the conversation and write a message; it is not sent."""
    terminal.keys("Space", "m", "m")
    terminal.wait("Ask or tell", 60)
    terminal.type(text)
    terminal.wait("-- INSERT --")
