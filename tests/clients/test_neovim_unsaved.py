"""The plugin's server sees all unsaved text of its project, also what was written while no server ran."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.clients.neovim.plugin import NAME, UNSAVED, answer, changing, config, ends, line_of, magent, opened
from tests.clients.neovim.vim import Vim
from tests.support.editors import Desk, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(180)]

README = "README.md"

TOO_LATE = """
local bufnr = vim.fn.bufnr(...)
local uri, version = vim.uri_from_bufnr(bufnr), vim.lsp.util.buf_versions[bufnr]
local start = { line = 0, character = 0 }
local edits = { { range = { start = start, ['end'] = start }, newText = '# of an older text\\n' } }
local change = { textDocument = { uri = uri, version = version }, edits = edits }
local params = { edit = { documentChanges = { change } } }
local context = { client_id = vim.lsp.get_clients({ bufnr = bufnr, name = 'magent_lsp' })[1].id }
vim.api.nvim_buf_set_lines(bufnr, 0, 0, false, { '# just now' })
local reply = require('magent_lsp.buffers').apply_edit(nil, params, context)
return { reply.applied, vim.api.nvim_buf_get_lines(bufnr, 0, 1, false)[1] }
"""
"""An edit of before the last key."""


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim with the plugin, in the desk's file, with a line that is not saved."""
    with opened(desk) as editor:
        type_line(editor, UNSAVED)
        yield editor


def type_line(vim: Vim, line: str) -> None:
    """Write a line above the cursor."""
    vim.keys(f"<Esc>O{line}<Esc>")
    vim.wait_text(line, NAME)


def kill(vim: Vim) -> None:
    """The server crashes, and Neovim has put its client away."""
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGKILL)
    vim.wait_said("The server ended (signal 9)")
    vim.wait("#vim.lsp.get_clients({ name = 'magent_lsp' }) == 0")


def seen(vim: Vim, desk: Desk, path: str, number: int) -> str:
    """What the agent reads in a file, in its run of that number."""
    desk.model.queue(calling("read_file", path=path), {"text": "Read."})
    magent(vim, "prompt Read it")
    ends(vim, number)
    return str(desk.model.requests()[-1]["messages"][-1]["content"])


def change(vim: Vim, desk: Desk, number: int) -> None:
    """Have the agent change the desk's file, in its run of that number: there alone, and not on the disk."""
    before, disk = vim.text(NAME), desk.file.read_text()
    desk.model.queue(changing(desk), {"text": "Done."})
    magent(vim, "prompt Change it")
    answer(vim, "y")
    ends(vim, number)
    assert vim.text(NAME) == before.replace(line_of(desk), f"{line_of(desk)}  # x")
    assert desk.file.read_text() == disk


def test_a_server_that_comes_back_sees_the_text_that_is_not_saved(vim: Vim, desk: Desk) -> None:
    assert UNSAVED in seen(vim, desk, desk.name, 1)
    kill(vim)
    change(vim, desk, 2)


def test_a_server_that_comes_back_is_told_what_is_typed_after_it(vim: Vim, desk: Desk) -> None:
    """Neovim has stopped to listen to a buffer that is changed while no server runs."""
    kill(vim)
    type_line(vim, "# while it is dead")
    assert "# while it is dead" in seen(vim, desk, desk.name, 1)
    type_line(vim, "# and ☃ later")
    text = seen(vim, desk, desk.name, 2)
    assert "# and ☃ later" in text
    assert text.count("# while it is dead") == 1
    change(vim, desk, 3)
    # An edit that meets keys which the server is not told of yet changes nothing.
    assert vim.lua(TOO_LATE, NAME) == [False, "# just now"]
    vim.lua("vim.cmd('edit!')")
    text = seen(vim, desk, desk.name, 4)
    assert UNSAVED not in text
    assert line_of(desk) in text
    vim.lua("vim.cmd('enew | bdelete! ' .. vim.fn.bufnr(...))", NAME)
    desk.file.write_text("# from elsewhere\n")
    assert "# from elsewhere" in seen(vim, desk, desk.name, 5), "a file that was closed is that on the disk"
    vim.edit(desk.file)
    type_line(vim, "# opened again")
    assert "# opened again" in seen(vim, desk, desk.name, 6)


def test_what_is_typed_while_it_starts_again_is_seen(vim: Vim, desk: Desk) -> None:
    typing = "vim.schedule_wrap(function() vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# meanwhile' }) end)"
    vim.lua(f"vim.api.nvim_create_autocmd('LspDetach', {{ once = true, callback = {typing} }})")
    magent(vim, "restart")
    vim.wait_said("Started again")
    type_line(vim, "# and later")
    text = seen(vim, desk, desk.name, 1)
    assert "# meanwhile" in text
    assert "# and later" in text


@pytest.mark.parametrize("option", ["filetypes = { 'python' }", "autostart = false"])
def test_all_open_files_of_a_project_are_seen(desk: Desk, option: str) -> None:
    """Whatever had the server start, and when they were opened."""
    vim = Vim(desk, config(desk).replace("prefix =", f"{option}, prefix ="))
    try:
        vim.edit(desk.root / README)
        vim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'not on the disk' })")
        vim.edit(desk.file)
        assert "not on the disk" in seen(vim, desk, README, 1)
        (desk.root / "later.md").write_text("Later.\n")
        vim.edit(desk.root / "later.md")
        vim.ready()
        vim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'nor this' })")
        assert "nor this" in seen(vim, desk, "later.md", 2)
    finally:
        vim.close()


def test_an_edit_of_unsaved_text_that_its_server_does_not_see_is_made_anew(vim: Vim, desk: Desk) -> None:
    """The file is of a project within that of the agent, which has a server of its own."""
    inner = desk.root / "inner"
    inner.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=inner, env=desk.env, check=True)
    file, disk = inner / "in.py", "a = 1\nb = 2\nc = 3\n"
    file.write_text(disk)
    outer = vim.ready()
    vim.edit(file)
    own = vim.ready()
    assert own != outer
    vim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# not', '# saved' })")
    vim.edit(desk.file)
    edit = calling("edit_file", path="inner/in.py", old_string="b = 2", new_string="b = 20")
    desk.model.queue(edit, {"text": "Done."})
    magent(vim, "prompt Change it")
    answer(vim, "y")
    ends(vim, 1)
    assert vim.text("in.py") == f"# not\n# saved\n{disk}".replace("b = 2", "b = 20")
    assert file.read_text() == disk
    root = "return require('magent_lsp.client').root_of(vim.fn.bufnr('in.py'))"
    assert vim.lua(root) == str(inner), "its own server is asked for it all the same"
    vim.lua("vim.lsp.get_client_by_id(...):stop(true)", own)
    vim.wait("#vim.lsp.get_clients({ name = 'magent_lsp' }) == 1")
    assert vim.lua("return require('magent_lsp.client').find(vim.fn.bufnr('in.py'))") is None, (
        "or begun again"
    )
