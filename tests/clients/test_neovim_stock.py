"""Neovim's own language client with nothing of ours but one table, `lsp/magent_lsp.lua`."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.neovim.vim import OTHER, PLUGIN, Vim, lua_list, seen_by_other
from tests.support.editors import Desk, calling, wait_until

pytestmark = pytest.mark.editor

CONFIG = """
vim.opt.runtimepath:prepend([==[{config}]==])
vim.lsp.config('magent_lsp', {{ cmd = {server} }})
vim.lsp.enable('magent_lsp')
vim.lsp.config('other', {{ cmd = {other}, root_markers = {{ '.git' }} }})
_G.ends = 0
vim.api.nvim_create_autocmd('LspProgress', {{ callback = function(event)
  if event.data.params.value.kind == 'end' then _G.ends = _G.ends + 1 end
end }})
"""

COMMAND = """
local name, argument = ...
_G.result = nil
local client = vim.lsp.get_clients({ name = 'magent_lsp' })[1]
client:exec_cmd({ title = '', command = name, arguments = { argument } }, nil, function(_, result)
  _G.result = result
end)
"""

UNSAVED = "# not on the disk"


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim in the desk's file, with a line that is not saved, and the server ready."""
    config = desk.home / ".config/nvim"
    (config / "lsp").mkdir(parents=True)
    shutil.copy(PLUGIN / "lsp/magent_lsp.lua", config / "lsp")
    text = CONFIG.format(config=str(config), server=lua_list(desk.server), other=lua_list(OTHER))
    editor = Vim(desk, text)
    try:
        editor.edit(desk.file)
        editor.ready()
        editor.keys(f"O{UNSAVED}<Esc>")
        editor.wait_text(UNSAVED)
        yield editor
    finally:
        editor.close()


def line_of(desk: Desk) -> str:
    """A line of the desk's file that the tests change: its first `def`."""
    return next(line for line in desk.file.read_text().splitlines() if line.startswith("def "))


def act(vim: Vim, title: str) -> None:
    """Select the line at hand and choose a code action, with the keys of a person."""
    vim.picks(title)
    vim.keys("<Esc>Vgra")
    vim.wait_offered(title)


def go_to(vim: Vim, line: str) -> None:
    vim.lua("vim.fn.search([[\\V]] .. ..., 'w')", line)


def finished(vim: Vim, number: int = 1) -> None:
    vim.wait(f"_G.ends >= {number}")


@pytest.mark.covers("edit", "unsaved text")
def test_selection_action_approval_edit_and_undo(vim: Vim, desk: Desk) -> None:
    line, disk = line_of(desk), desk.file.read_text()
    before = vim.text()
    new = line + "  # changed"
    desk.model.queue(
        calling("edit_file", path=desk.name, old_string=line, new_string=new), {"text": "Changed."}
    )
    go_to(vim, line)
    vim.picks("Allow once")
    act(vim, "Magent: Improve")
    vim.wait_text(new)
    finished(vim)
    approval = next(menu for menu in vim.asked() if "Allow once" in menu["titles"])
    assert approval["titles"][-1] == "Reject"
    assert f"+{new}" in approval["prompt"]
    assert vim.text() == before.replace(line, new)
    assert UNSAVED in vim.text()
    assert desk.file.read_text() == disk
    vim.keys("<Esc>u")
    wait_until(lambda: vim.text() == before, 60, "undo with the editor's own key")


def test_undo_of_a_run_keeps_what_was_typed_since(vim: Vim, desk: Desk) -> None:
    line = line_of(desk)
    before = vim.text()
    desk.model.queue(calling("edit_file", path=desk.name, old_string=line, new_string=line + "  # x"))
    desk.model.queue({"text": "Done."})
    vim.picks("Allow once")
    vim.lua(COMMAND, "magent.prompt", {"prompt": "Change it", "uri": desk.file.as_uri()})
    run = vim.wait("_G.result")["runId"]
    vim.wait_text(line + "  # x")
    finished(vim)
    vim.keys("<Esc>Go# typed later<Esc>")
    vim.wait_text("# typed later")
    vim.lua(COMMAND, "magent.undo", {"runId": run})
    assert vim.wait("_G.result") == {"restored": [desk.file.as_uri()], "conflicts": []}
    assert vim.text() == before + "# typed later\n"


@pytest.mark.covers("reject")
@pytest.mark.parametrize("answer", [["Reject"], []], ids=["refused", "dismissed"])
def test_what_is_not_allowed_changes_nothing(vim: Vim, desk: Desk, answer: list[str]) -> None:
    line, before = line_of(desk), vim.text()
    desk.model.queue(calling("edit_file", path=desk.name, old_string=line, new_string="broken"))
    desk.model.queue({"text": "This must not be asked for."})
    go_to(vim, line)
    vim.picks(*answer)
    act(vim, "Magent: Improve")
    finished(vim)
    assert any("Allow once" in menu["titles"] for menu in vim.asked())
    assert vim.text() == before
    assert len(desk.model.requests()) == 1


def test_a_chat_document_is_served_with_the_code(vim: Vim, desk: Desk) -> None:
    """It is outside the project; a server of its own would not know of the unsaved text."""
    line, disk = line_of(desk), desk.file.read_text()
    new = line + "  # changed"
    edit = calling("edit_file", path=desk.name, old_string=line, new_string=new)
    desk.model.queue(edit, {"text": "Changed."})
    act(vim, "Magent: Open chat")
    vim.wait("vim.bo.filetype == 'markdown' and #vim.lsp.get_clients({ bufnr = 0 }) > 0")
    assert vim.lua("return #vim.lsp.get_clients({ name = 'magent_lsp' })") == 1
    vim.keys("<Esc>GA Change it.<Esc>")
    vim.wait_text("Change it.")
    vim.picks("Allow once")
    act(vim, "Magent: Send")
    vim.wait_text(new, str(desk.file))
    assert UNSAVED in vim.text(str(desk.file))
    assert desk.file.read_text() == disk
    assert vim.lua("return #vim.lsp.get_clients({ name = 'magent_lsp' })") == 1


@pytest.mark.covers("ask")
def test_the_answer_to_a_question_is_opened_to_read(vim: Vim, desk: Desk) -> None:
    line, before = line_of(desk), vim.text()
    desk.model.queue({"text": "It moves text **to the right**."})
    go_to(vim, line)
    act(vim, "Magent: Explain")
    vim.wait(
        "vim.iter(vim.api.nvim_list_wins()):any(function(window) "
        "return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window)):find('%.md$') end)"
    )
    assert "It moves text **to the right**." in vim.screen()
    assert vim.text(str(desk.file)) == before
    prompt = str(desk.model.requests()[0]["messages"])
    assert desk.name in prompt
    assert line.split("(")[0] in prompt


@pytest.mark.covers("cancel")
def test_cancel_in_the_middle_of_an_answer(vim: Vim, desk: Desk) -> None:
    before = vim.text()
    desk.model.queue({"text": ["word ", "and more"], "hold": True})
    act(vim, "Magent: Improve")
    desk.wait_requests(1, 60)
    vim.lua("_G.asked = {}")
    act(vim, "Magent: Cancel")
    finished(vim)
    assert vim.text() == before
    desk.model.queue({"text": "Still here."})
    act(vim, "Magent: Explain")
    finished(vim, 2)


@pytest.mark.covers("two edits")
def test_two_edits_of_one_reply(vim: Vim, desk: Desk) -> None:
    first = line_of(desk)
    last = [line for line in desk.file.read_text().splitlines() if line.startswith("def ")][-1]
    assert first != last
    one = calling("edit_file", path=desk.name, old_string=first, new_string=first + "  # 1")
    two = calling("edit_file", path=desk.name, old_string=last, new_string=last + "  # 2")
    desk.model.queue({"text": "Both.", "calls": one["calls"] + two["calls"]}, {"text": "Done."})
    before = vim.text()
    vim.picks("Allow once", "Allow once")
    act(vim, "Magent: Improve")
    finished(vim)
    assert vim.text() == before.replace(first, first + "  # 1").replace(last, last + "  # 2")


@pytest.mark.covers("new file")
def test_a_new_file(vim: Vim, desk: Desk) -> None:
    desk.model.queue(calling("write_file", path="docs/new.md", content="# New\n"), {"text": "Written."})
    vim.picks("Allow once")
    act(vim, "Magent: Improve")
    finished(vim)
    assert (desk.root / "docs/new.md").read_text() == "# New\n"


@pytest.mark.covers("killed")
def test_a_server_that_was_killed_comes_back(vim: Vim, desk: Desk) -> None:
    line, before = line_of(desk), vim.text()
    desk.model.queue({"text": ["word ", "and more"], "hold": True})
    act(vim, "Magent: Improve")
    desk.wait_requests(1, 60)
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGKILL)
    vim.wait("#vim.lsp.get_clients({ name = 'magent_lsp' }) == 0")
    assert vim.text() == before
    # What the guide says for the stock client: off and on again.
    vim.lua("vim.lsp.enable('magent_lsp', false); vim.lsp.enable('magent_lsp')")
    vim.ready()
    desk.model.queue(calling("edit_file", path=desk.name, old_string=line, new_string=line + "  # x"))
    desk.model.queue({"text": "Done."})
    vim.lua("_G.asked = {}")
    vim.picks("Allow once")
    act(vim, "Magent: Improve")
    vim.wait_text(line + "  # x")
    assert UNSAVED in vim.text()


def test_beside_another_server(vim: Vim, desk: Desk) -> None:
    vim.lua("vim.lsp.enable('other')")
    vim.ready("other")
    line = line_of(desk)
    desk.model.queue(calling("edit_file", path=desk.name, old_string=line, new_string=line + "  # x"))
    desk.model.queue({"text": "Done."})
    go_to(vim, line)
    vim.picks("Allow once")
    act(vim, "Magent: Improve")
    vim.wait_text(line + "  # x")
    finished(vim)
    menu = next(menu for menu in vim.asked() if "Magent: Improve" in " ".join(menu["titles"]))
    assert any("Other: comment" in title for title in menu["titles"])
    act(vim, "Other: comment")
    vim.wait_text("# other\n")
    wait_until(lambda: seen_by_other(vim) == vim.text(), 60, "the other server sees the same text")


def test_the_table_works_where_it_is(desk: Desk, tmp_path: Path) -> None:
    """The guide's shortest configuration: the plugin's folder in the path, and `enable`."""
    program = tmp_path / "bin/magent-lsp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(desk.server[:-1])} "$@"\n')
    program.chmod(0o755)
    desk.env["PATH"] = f"{program.parent}:{desk.env['PATH']}"
    vim = Vim(desk, f"vim.opt.runtimepath:append([[{PLUGIN}]])\nvim.lsp.enable('magent_lsp')\n")
    try:
        vim.edit(desk.file)
        vim.ready()
    finally:
        vim.close()
