"""The distribution's Neovim, however old: the plainest client that there is, in one script."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.neovim.vim import lua_list
from tests.support.editors import REPOSITORY, Desk, Tmux, calling, missing

pytestmark = [pytest.mark.editor, pytest.mark.timeout(200)]

SCRIPT = """
vim.o.hidden = true
vim.cmd('edit ' .. [==[{file}]==])
local before = vim.api.nvim_buf_get_lines(0, 0, -1, true)
vim.api.nvim_buf_set_lines(0, 0, 0, true, {{ '# not saved' }})
vim.cmd('let &undolevels = &undolevels')  -- a key would part this from the edit
local asked, said = {{}}, {{}}
vim.ui.select = function(items, options, choose)
  for index, item in ipairs(items) do
    if (options.format_item or tostring)(item):find('Magent: Improve', 1, true) then
      return choose(item, index)
    end
  end
  choose(nil)
end
-- Before 0.9 a question of the server is a list of numbers.
vim.fn.inputlist = function(lines)
  table.insert(asked, table.concat(lines, '\\n'))
  for _, line in ipairs(lines) do
    local number = line:match('^(%d+)%. Allow once')
    if number then return tonumber(number) end
  end
  return 0
end
vim.lsp.handlers['window/showMessage'] = function(_, params) table.insert(said, params.message) end
local id = vim.lsp.start_client({{ name = 'magent', cmd = {server}, root_dir = [==[{root}]==] }})
vim.lsp.buf_attach_client(0, id)
local function wait(what, holds)
  if not vim.wait(60000, holds, 50) then
    io.stderr:write('not in time: ', what, '\\n', table.concat(asked, '\\n'), table.concat(said, '\\n'))
    vim.cmd('cquit 1')
  end
end
wait('the server begins', function()
  local client = vim.lsp.get_client_by_id(id)
  return client and client.initialized
end)
vim.lsp.buf.range_code_action({{}}, {{ 14, 0 }}, {{ 16, 10 }})
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n') end
wait('the edit', function() return text():find('removesuffix', 1, true) end)
io.stderr:write(asked[1], '\\n', text())
vim.cmd('undo')
local after = vim.api.nvim_buf_get_lines(0, 1, -1, true)
vim.cmd(vim.deep_equal(after, before) and 'qall!' or 'cquit 1')
"""


def old() -> str:
    """The program of the distribution, which the newer one of the tests does not shadow."""
    program = Path("/usr/bin/nvim")
    if not program.exists():
        missing("the distribution's Neovim", "apt-get install neovim")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.match(r"NVIM v0\.(\d+)", said)
    assert match, said
    if int(match[1]) >= 10:
        pytest.skip(f"it is new enough for the other tests: 0.{match[1]}")
    return str(program)


def test_select_choose_allow_and_undo(desk: Desk) -> None:
    program = old()
    line = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
    new = "    return line.removesuffix(line.lstrip(BLANKS))"
    desk.script(calling("edit_file", path=desk.name, old_string=line, new_string=new), {"text": "Clearer."})
    script = desk.home / "t.lua"
    script.write_text(SCRIPT.format(file=desk.file, root=desk.root, server=lua_list(desk.server)))
    done = subprocess.run(
        [program, "--headless", "-u", "NONE", "-n", "-c", f"luafile {script}"],
        cwd=desk.root,
        env=desk.env,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"+{new}" in done.stderr, "the question shows the difference"
    assert "# not saved\n" in done.stderr
    assert new in done.stderr
    assert desk.status() == []


def number_of(title: str, screen: str) -> str:
    """The number that stands before a title in a menu of the old kind."""
    match = re.search(rf"^(\d+)[.:] {re.escape(title)}", screen, re.MULTILINE)
    assert match, screen
    return match[1]


def test_the_lines_of_the_guide_with_real_keys(desk: Desk, tmux: Callable[..., Tmux]) -> None:
    """Who has no newer Neovim copies them, and has nothing else."""
    program = old()
    guide = (REPOSITORY / "docs/guide/neovim.md").read_text(encoding="utf-8")
    snippet = re.search(r"<!-- snippet: old -->\n```lua\n(.*?)```", guide, re.DOTALL)
    assert snippet
    line = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
    new = "    return line.removesuffix(line.lstrip(BLANKS))"
    desk.script(calling("edit_file", path=desk.name, old_string=line, new_string=new), {"text": "Clearer."})
    server = desk.home / "bin/magent-lsp"
    server.parent.mkdir()
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m magent_lsp "$@"\n')
    server.chmod(0o755)
    init = desk.home / "init.lua"
    ready = "vim.o.statusline = '%{luaeval(\"vim.lsp.buf.server_ready() and 1 or 0\")} servers'"
    init.write_text(f"{snippet[1]}\n{ready}\n")
    env = {**desk.env, "PATH": f"{server.parent}:{desk.env['PATH']}"}
    terminal = tmux([program, "-n", "-u", str(init), "+14", str(desk.file)], env=env, size="120x44")
    terminal.wait("1 servers", 60)
    terminal.keys("V", "j", "g", "r", "a")
    terminal.keys(number_of("Magent: Improve", terminal.wait("Type number")), "Enter")
    terminal.keys(number_of("Allow once", terminal.wait("Allow once", 60)), "Enter")
    terminal.wait(lambda screen: new.strip() in screen and "Type number" not in screen, 60)
