"""A chat document in stock Neovim: sent by code action, streamed while somebody types, folded, completed."""

import shutil
from collections.abc import Iterator

import pytest

from tests.clients.neovim.vim import PLUGIN, Vim, lua_list
from tests.support.editors import Desk, calling

pytestmark = pytest.mark.editor

CONFIG = """
vim.opt.runtimepath:prepend([==[{config}]==])
vim.lsp.config('magent_lsp', {{ cmd = {server} }})
vim.lsp.enable('magent_lsp')
vim.api.nvim_create_autocmd('FileType', {{
  pattern = 'markdown',
  callback = function()
    vim.wo.foldmethod, vim.wo.foldexpr, vim.wo.foldlevel = 'expr', 'v:lua.vim.lsp.foldexpr()', 99
  end,
}})
"""

WORDS = [f"word{number} " for number in range(60)]


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim in a new chat document of the workspace."""
    config = desk.home / ".config/nvim"
    (config / "lsp").mkdir(parents=True)
    shutil.copy(PLUGIN / "lsp/magent_lsp.lua", config / "lsp")
    editor = Vim(desk, CONFIG.format(config=str(config), server=lua_list(desk.server)))
    try:
        editor.edit(desk.root / "talk.magent.md")
        editor.ready()
        yield editor
    finally:
        editor.close()


WITH_PLUGIN = """
vim.opt.runtimepath:prepend([==[{plugin}]==])
require('magent_lsp').setup({{ cmd = {server}, prefix = '<leader>m', approval = {{ idle = 0 }} }})
"""


def ask(vim: Vim, message: str) -> None:
    """Write a message at the end, and choose to send it."""
    vim.keys(f"<Esc>Go{message}<Esc>")
    vim.wait_text(message)
    vim.picks("Magent: Send this message")
    vim.keys("gra")


def test_send_read_and_go_on(vim: Vim, desk: Desk) -> None:
    desk.script(calling("read_file", "Looking.", path=desk.name), {"text": "It indents."}, {"text": "Yes."})
    ask(vim, "What is in it?")
    text = vim.wait_text("It indents.\n\n## You")
    assert (
        "## You\n\nWhat is in it?\n\n## Magent\n\nLooking.\n\n> - tool: read_file src/indent.py\n\nIt" in text
    )
    ask(vim, "Sure?")
    text = vim.wait_text("Yes.\n\n## You")
    assert text.count("## Magent") == 2
    assert text.count("session:") == 1


def test_somebody_types_while_it_streams(vim: Vim, desk: Desk) -> None:
    desk.script({"text": WORDS, "delay": 0.08})
    ask(vim, "Tell me.")
    vim.wait_text("word5 ")
    for number in range(6):
        vim.keys(f"<Esc>ggO# note {number}<Esc>Gomine {number}<Esc>")
        vim.wait_text(f"mine {number}")
    text = vim.wait_text("word59")
    vim.wait("vim.fn.search('word59$', 'nw') > 0")
    assert "".join(WORDS).strip() in text
    assert all(f"# note {number}\n" in text and f"mine {number}\n" in text for number in range(6))
    assert text.index("## Magent") < text.index("word59") < text.index("mine 0")


def test_undo_takes_the_answer_back(vim: Vim, desk: Desk) -> None:
    desk.script({"text": "A short answer."})
    ask(vim, "Undo me.")
    vim.wait_text("A short answer.\n\n## You")
    vim.keys("<Esc>u")
    vim.wait("vim.fn.search('short answer', 'nw') == 0")
    assert "Undo me." in vim.text()


def test_tools_fold(vim: Vim, desk: Desk) -> None:
    two = [calling("read_file", path=desk.name)["calls"][0], calling("list_dir", path="src")["calls"][0]]
    desk.script({"text": "Looking.", "calls": two}, {"text": "Read."})
    ask(vim, "Fold.")
    vim.wait_text("Read.\n\n## You")
    line = "vim.fn.search('tool: read_file', 'nw')"
    vim.wait(f"vim.fn.foldlevel({line}) == 2")
    vim.lua(f"vim.cmd({line} .. 'foldclose')")
    assert vim.lua(f"return vim.fn.foldclosedend({line}) - vim.fn.foldclosed({line})") == 1


def test_files_and_commands_are_completed(vim: Vim, desk: Desk) -> None:
    vim.lua("vim.o.completeopt = 'menuone,noinsert'")
    vim.keys("<Esc>Go## You<CR><CR>look at @ind<C-x><C-o>")
    vim.wait("vim.fn.pumvisible() == 1")
    vim.keys("<C-y> and<Esc>")
    vim.wait_text("look at @src/indent.py and")
    vim.keys("<Esc>S/comp<C-x><C-o>")
    vim.wait("vim.fn.pumvisible() == 1")
    vim.keys("<C-y><Esc>")
    vim.wait_text("\n/compact")


def test_the_selection_of_another_file_is_sent(vim: Vim, desk: Desk) -> None:
    desk.model.queue({"text": "It returns blanks."})
    vim.edit(desk.file)
    vim.ready()
    vim.lua("vim.fn.search('^def ')")
    vim.keys("Vgra")
    vim.wait_offered("Magent: Explain")
    vim.edit(desk.root / "talk.magent.md")
    ask(vim, "What does @selection do?")
    vim.wait_text("It returns blanks.\n\n## You")
    prompt = str(desk.model.requests()[0]["messages"][-1]["content"])
    assert "Selected lines" in prompt
    assert desk.name in prompt


def test_the_plugin_leaves_it_as_it_is(desk: Desk) -> None:
    desk.script({"text": WORDS, "delay": 0.05}, {"text": "Yes."})
    vim = Vim(desk, WITH_PLUGIN.format(plugin=PLUGIN, server=lua_list(desk.server)))
    try:
        vim.edit(desk.root / "talk.magent.md")
        vim.ready()
        ask(vim, "Tell me.")
        vim.wait_text("word9 ")
        vim.keys("<Esc>Gomine<Esc>")
        vim.wait("vim.fn.search('word59$', 'nw') > 0")
        assert vim.text().endswith("word59\n\n## You\n\nmine\n")
        ask(vim, "Sure?")
        vim.wait_text("mine\nSure?\n\n## Magent\n\nYes.\n\n## You")
    finally:
        vim.close()
