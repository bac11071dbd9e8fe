"""What is left in Neovim of a conversation whose server, edits or buffers have gone."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.clients.neovim.plugin import NAME, answer, changing, ends, line_of, magent, opened
from tests.clients.neovim.vim import Vim
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(180)]

WRITE = "magent://write"


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim with the plugin, in the desk's file."""
    with opened(desk) as editor:
        yield editor


def write(vim: Vim) -> None:
    """Open the conversation, in insert mode where one writes."""
    vim.keys(" mm")
    vim.wait("vim.bo.filetype == 'magentinput' and vim.api.nvim_get_mode().mode == 'i'")


def last(desk: Desk) -> str:
    """Another line that is changed."""
    return [line for line in desk.file.read_text().splitlines() if line.startswith("def ")][-1]


def changing_last(desk: Desk) -> dict[str, object]:
    return calling("edit_file", path=desk.name, old_string=last(desk), new_string=f"{last(desk)}  # y")


def test_a_message_that_a_dead_server_did_not_take_is_there_again(vim: Vim) -> None:
    write(vim)
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGSTOP)
    vim.keys("A long message<CR>of two lines<C-s>")
    vim.wait("vim.api.nvim_get_mode().mode == 'n'")
    assert vim.text(WRITE) == "\n"
    vim.keys("i<CR>What is written since<Esc>")
    vim.wait_text("since", WRITE)
    os.kill(pid, signal.SIGKILL)
    vim.wait_said("The server ended before it answered.")
    assert vim.text(WRITE) == "A long message\nof two lines\n\nWhat is written since\n"


def test_undo_takes_back_what_a_run_edited_that_still_speaks_or_whose_server_crashed(
    vim: Vim, desk: Desk
) -> None:
    """And not the edits of the run before."""
    before, line = vim.text(NAME), line_of(desk)
    unfinished = {"text": ["word ", "and more"], "hold": True}
    desk.model.queue(changing(desk), {"text": "Good."}, changing_last(desk), unfinished)
    magent(vim, "prompt first")
    answer(vim, "y")
    ends(vim, 1)
    first = vim.text(NAME)
    assert first == before.replace(line, f"{line}  # x")
    magent(vim, "prompt second")
    answer(vim, "y")
    vim.wait("(_G.transcript() or ''):find('word')")
    second = vim.text(NAME)
    assert "  # y" in second
    # Its edit is the last one, though it still speaks.
    magent(vim, "undo")
    vim.wait_said("Taken back in src/indent.py")
    assert vim.text(NAME) == first
    magent(vim, "redo")
    vim.wait_said("Brought back in src/indent.py")
    assert vim.text(NAME) == second
    vim.lua("_G.said = {}")
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGKILL)
    ends(vim, 2)
    assert "· 1 edit applied" in vim.lua("return _G.transcript()").split("## You")[-1]
    magent(vim, "undo")
    vim.wait_said("Taken back in src/indent.py")
    assert vim.text(NAME) == first


def test_undo_goes_on_past_what_was_taken_back_by_hand(vim: Vim, desk: Desk) -> None:
    before = vim.text(NAME)
    desk.model.queue(changing(desk), {"text": "Good."}, changing_last(desk), {"text": "Done."})
    magent(vim, "prompt first")
    answer(vim, "y")
    ends(vim, 1)
    magent(vim, "prompt second")
    answer(vim, "y")
    ends(vim, 2)
    assert vim.text().count("  # y\n") == 1
    vim.keys("u")
    wait_until(lambda: "  # y\n" not in vim.text(), 60, "it is taken back by hand")
    magent(vim, "undo")
    vim.wait_said("There was nothing to change.")
    magent(vim, "undo")
    vim.wait_said("Taken back in src/indent.py")
    assert vim.text(NAME) == before


def test_the_conversation_works_again_after_its_buffers_were_deleted(vim: Vim, desk: Desk) -> None:
    """Neovim keeps the name of a buffer that `:bdelete` took, and nothing else of it."""
    write(vim)
    vim.keys("<Esc>:bdelete<CR>")
    vim.wait("vim.bo.filetype == 'python'")
    write(vim)
    desk.model.queue({"text": "First."}, changing(desk), {"text": "Second."})
    vim.keys("one<C-s>")
    ends(vim, 1)
    vim.keys("<C-w>k")
    vim.wait("vim.bo.filetype == 'magent'")
    vim.keys(":bdelete<CR>")
    vim.wait("vim.bo.filetype == 'python'")
    write(vim)
    vim.keys("two<C-s>")
    answer(vim, "y")
    ends(vim, 2)
    text = vim.lua("return _G.transcript()")
    assert "## You\n\ntwo" in text
    assert "✓ Edit src/indent.py" in text
    assert "Second." in text
    buffer = "vim.bo[vim.fn.bufnr('magent://' .. require('magent_lsp.chat').session)]"
    assert vim.lua(f"return {{ {buffer}.buftype, {buffer}.modifiable }}") == ["nofile", False]


def test_a_conversation_that_is_opened_again_at_once_stays(vim: Vim) -> None:
    vim.lua("local chat = require('magent_lsp.chat') chat.open() chat.close() chat.open()")
    # What the first two windows left for later has been done when this has.
    vim.lua("vim.schedule(function() _G.later = true end)")
    vim.wait("_G.later")
    assert vim.lua("return vim.fn.bufwinid(...) ~= -1", WRITE)
