"""The Neovim plugin as a person has set it up who wants questions at once, and how it is used."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.clients.neovim.vim import PLUGIN, Vim, lua_list
from tests.support.editors import Desk, calling, wait_until

CONFIG = """
vim.opt.runtimepath:prepend([==[{plugin}]==])
vim.g.mapleader = ' '
require('magent_lsp').setup({{ cmd = {server}, prefix = '<leader>m', approval = {{ idle = 0 }} }})
_G.ends = 0
vim.api.nvim_create_autocmd('User', {{ pattern = 'MagentEvent', callback = function(info)
  if info.data.event.type == 'run_finished' then _G.ends = _G.ends + 1 end
end }})
_G.approval = function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'magentapproval' then return window end
  end
end
_G.transcript = function()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].filetype == 'magent' then
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n')
    end
  end
end
_G.scoped = function()
  local space = vim.api.nvim_create_namespace('magent_lsp_scope')
  return vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('indent.py'), space, 0, -1, {{ details = true }})
end
"""

UNSAVED = "# not on the disk"
NAME = "indent.py"


def config(desk: Desk) -> str:
    """What such a person has in `init.lua`; the tests look at it by functions in `_G`."""
    return CONFIG.format(plugin=PLUGIN, server=lua_list(desk.server))


@contextlib.contextmanager
def opened(desk: Desk, more: str = "") -> Iterator[Vim]:
    """Such a person's Neovim, with more in `init.lua` if given, in the desk's file; closed in the end."""
    editor = Vim(desk, config(desk) + more)
    try:
        editor.edit(desk.file)
        editor.ready()
        yield editor
    finally:
        editor.close()


def line_of(desk: Desk) -> str:
    """The line of the desk's file that is changed."""
    return next(line for line in desk.file.read_text().splitlines() if line.startswith("def "))


def changing(desk: Desk, mark: str = "# x") -> dict[str, Any]:
    """The call that changes it."""
    line = line_of(desk)
    return calling("edit_file", path=desk.name, old_string=line, new_string=f"{line}  {mark}")


def magent(vim: Vim, text: str) -> None:
    """Run `:Magent …`."""
    vim.lua("vim.cmd(...)", f"Magent {text}")


def answer(vim: Vim, key: str) -> None:
    """Press a key in the window that asks; it must have the cursor by itself."""
    vim.wait("_G.approval() == vim.api.nvim_get_current_win()")
    vim.keys(key)


def ends(vim: Vim, number: int) -> None:
    """Wait until so many runs have ended."""
    vim.wait(f"_G.ends >= {number}")


def cancels(vim: Vim, number: int) -> None:
    """Press the key until the run has ended, as people do: a Neovim at work may take it as meant for that."""

    def stopped() -> bool:
        vim.keys("<C-c>")
        try:
            vim.wait(f"_G.ends >= {number}", 2)
        except AssertionError:
            return False
        return True

    wait_until(stopped, 60, "the run is cancelled")
