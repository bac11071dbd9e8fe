"""The plugin in a real Neovim: conversation, approvals, undo, what happens when things go wrong."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.neovim.plugin import (
    NAME,
    UNSAVED,
    answer,
    cancels,
    changing,
    config,
    ends,
    line_of,
    magent,
    opened,
)
from tests.clients.neovim.vim import OTHER, Vim, lua_list, seen_by_other
from tests.support.editors import Desk, calling, wait_until

pytestmark = pytest.mark.editor


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim with the plugin, in the desk's file, with a line that is not saved."""
    with opened(desk) as editor:
        editor.keys(f"O{UNSAVED}<Esc>")
        editor.wait_text(UNSAVED)
        yield editor


@pytest.mark.covers("edit", "unsaved text")
def test_conversation_approval_edit_undo_redo(vim: Vim, desk: Desk) -> None:
    before, disk = vim.text(), desk.file.read_text()
    after = before.replace(line_of(desk), line_of(desk) + "  # x")
    desk.model.queue(changing(desk), {"text": "It is **changed**."})
    vim.keys(" mm")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("Change it<C-s><Esc>")
    vim.wait("_G.approval()")
    shown = vim.screen()
    assert "Edit src/indent.py" in shown
    assert f"+{line_of(desk)}  # x" in shown
    assert vim.lua("return require('magent_lsp').status()") == "magent: waiting for you"
    answer(vim, "y")
    ends(vim, 1)
    assert vim.text(NAME) == after
    assert UNSAVED in vim.text(NAME)
    assert desk.file.read_text() == disk
    text = vim.lua("return _G.transcript()")
    assert "## You\n\nChange it" in text
    assert "✓ Edit src/indent.py  +1 -1\n  │ " in text
    assert "It is **changed**." in text
    assert "done · 1 edit applied" in text
    assert vim.lua("return require('magent_lsp').status()") == ""
    magent(vim, "undo")
    vim.wait_said("Taken back in src/indent.py")
    assert vim.text(NAME) == before
    magent(vim, "redo")
    vim.wait_said("Brought back in src/indent.py")
    assert vim.text(NAME) == after


def test_the_whole_file_before_and_after(vim: Vim, desk: Desk) -> None:
    """Side by side with the text of the buffer; the question comes back after it, and its answer ends it."""
    desk.model.queue(changing(desk), {"text": "Done."})
    magent(vim, "prompt change it")
    vim.wait("_G.approval()")
    vim.wait("require('magent_lsp.approval').pending[1].comparison")
    wait_until(lambda: "Show the whole file" in vim.screen(), 60, "the key is offered")
    answer(vim, "d")
    vim.wait("#vim.api.nvim_list_tabpages() == 2 and vim.wo.diff")
    assert vim.text() == vim.text(NAME).replace(line_of(desk), line_of(desk) + "  # x")
    vim.keys("q")
    vim.wait("#vim.api.nvim_list_tabpages() == 1")
    answer(vim, "d")
    vim.wait("#vim.api.nvim_list_tabpages() == 2")
    request = vim.lua("return require('magent_lsp.approval').pending[1].request.requestId")
    reply = {"requestId": request, "reply": "allow_once"}
    vim.lua("require('magent_lsp').execute('respond', ...)", reply)
    ends(vim, 1)
    vim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert f"{line_of(desk)}  # x" in vim.text(NAME)


def test_a_second_message_goes_on_with_the_conversation(vim: Vim, desk: Desk) -> None:
    desk.model.queue({"text": "First."}, {"text": "Second."})
    magent(vim, "prompt one")
    ends(vim, 1)
    magent(vim, "prompt two")
    ends(vim, 2)
    said = [message["content"] for message in desk.model.requests()[1]["messages"]]
    assert any("First." in str(text) for text in said)
    assert vim.lua("return _G.transcript()").count("## You") == 2


def test_what_tools_did_is_folded(vim: Vim, desk: Desk) -> None:
    desk.model.queue(calling("read_file", path=desk.name), {"text": "Read."})
    vim.keys(" mm")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("Read it<C-s>")
    ends(vim, 1)
    code = """
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'magent' then
        return vim.api.nvim_win_call(window, function()
          local row = vim.fn.search('✓ Read', 'cw')
          return { vim.fn.foldclosed(row) == row, vim.fn.foldclosedend(row) - row > 20 }
        end)
      end
    end
    """
    assert vim.lua(code) == [True, True]


def test_refused_with_a_reason_goes_on(vim: Vim, desk: Desk) -> None:
    before = vim.text()
    desk.model.queue(changing(desk), {"text": "Then not."})
    vim.types("Leave that line alone")
    magent(vim, "prompt Change it")
    answer(vim, "f")
    ends(vim, 1)
    assert vim.text(NAME) == before
    assert "Leave that line alone" in str(desk.model.requests()[1]["messages"][-1])


def test_a_reason_for_what_is_not_asked_any_more_is_kept(vim: Vim, desk: Desk) -> None:
    desk.model.queue(changing(desk))
    vim.lua("vim.ui.input = function(_, done) _G.done = done end")
    magent(vim, "prompt Change it")
    answer(vim, "f")
    vim.wait("_G.done ~= nil")
    magent(vim, "cancel")
    ends(vim, 1)
    vim.lua("_G.done('Leave that line alone')")
    vim.wait_said("That was answered already. What you wrote is in the register")
    assert vim.lua("return vim.fn.getreg('')") == "Leave that line alone"


@pytest.mark.covers("reject")
def test_refused_ends_the_run(vim: Vim, desk: Desk) -> None:
    before = vim.text()
    desk.model.queue(changing(desk), {"text": "This must not be asked for."})
    magent(vim, "prompt Change it")
    answer(vim, "n")
    ends(vim, 1)
    assert vim.text(NAME) == before
    assert len(desk.model.requests()) == 1
    assert "you refused a permission" in vim.lua("return _G.transcript()")


def test_a_question_that_was_put_off_still_waits(vim: Vim, desk: Desk) -> None:
    desk.model.queue(changing(desk), {"text": "Done."})
    magent(vim, "prompt Change it")
    answer(vim, "q")
    vim.wait("not _G.approval()")
    vim.wait_said("It waits; `:Magent pending` brings it back.")
    assert vim.lua("return require('magent_lsp').status()") == "magent: waiting for you"
    magent(vim, "pending")
    answer(vim, "y")
    ends(vim, 1)
    assert "  # x" in vim.text(NAME)


def test_who_types_is_not_interrupted(vim: Vim, desk: Desk) -> None:
    desk.model.queue(changing(desk), {"text": "Done."})
    vim.keys("<Esc>Go")
    vim.wait("vim.api.nvim_get_mode().mode == 'i'")
    magent(vim, "prompt Change it")
    vim.wait("_G.approval()")
    vim.keys("yyyyy")
    vim.wait_text("yyyyy", NAME)
    assert "  # x" not in vim.text(NAME)
    vim.keys("<Esc>")
    answer(vim, "n")
    ends(vim, 1)


@pytest.mark.covers("two edits")
def test_two_edits_of_one_reply_are_asked_one_after_the_other(vim: Vim, desk: Desk) -> None:
    first = line_of(desk)
    last = [line for line in desk.file.read_text().splitlines() if line.startswith("def ")][-1]
    two = calling("edit_file", path=desk.name, old_string=last, new_string=f"{last}  # y")
    desk.model.queue({"text": "Both.", "calls": changing(desk)["calls"] + two["calls"]}, {"text": "Done."})
    before = vim.text()
    magent(vim, "prompt Change both")
    answer(vim, "y")
    wait_until(lambda: f"+{last}  # y" in vim.screen(), 60, "the second question")
    answer(vim, "y")
    ends(vim, 1)
    after = before.replace(first, f"{first}  # x").replace(last, f"{last}  # y")
    assert vim.text(NAME) == after
    magent(vim, "undo")
    vim.wait_said("Taken back")
    assert vim.text(NAME) == before


def test_allowed_for_the_session_is_asked_once(vim: Vim, desk: Desk) -> None:
    line = line_of(desk)
    desk.model.queue(changing(desk, "# 1"))
    desk.model.queue(
        calling("edit_file", path=desk.name, old_string=f"{line}  # 1", new_string=f"{line}  # 2")
    )
    desk.model.queue({"text": "Done."})
    magent(vim, "prompt Change it twice")
    answer(vim, "s")
    ends(vim, 1)
    assert f"{line}  # 2" in vim.text(NAME)


@pytest.mark.covers("cancel")
def test_cancel_in_the_middle_of_an_answer(vim: Vim, desk: Desk) -> None:
    before = vim.text()
    desk.model.queue({"text": ["word word ", "word " * 500], "hold": True}, {"text": "Still here."})
    vim.keys(" mm")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("Tell me all<C-s>")
    vim.wait("(_G.transcript() or ''):find('word word')")
    cancels(vim, 1)
    text = vim.lua("return _G.transcript()")
    assert "\ncancelled" in text
    assert text.count("word") < 400
    assert vim.text(NAME) == before
    vim.keys("Are you there?<C-s>")
    ends(vim, 2)
    assert "Still here." in vim.lua("return _G.transcript()")


@pytest.mark.covers("ask")
def test_ask_at_point_shows_the_answer_beside_the_file(vim: Vim, desk: Desk) -> None:
    desk.model.queue({"text": "It moves text."})
    vim.lua("vim.fn.search('^def ', 'w')")
    magent(vim, "ask What is this?")
    ends(vim, 1)
    assert "It moves text." in vim.screen()
    assert vim.lua("return vim.api.nvim_buf_get_name(0)") == str(desk.file)
    assert "What is this?" in str(desk.model.requests()[0]["messages"])
    names = [tool["function"]["name"] for tool in desk.model.requests()[0]["tools"]]
    assert "edit_file" not in names


def marked(vim: Vim, row: int) -> None:
    """A line, from 0, and no other, is shown as what a run may change."""
    vim.wait("#_G.scoped() > 0")
    [[_, start, _, details]] = vim.lua("return _G.scoped()")
    assert (start, details["end_row"]) == (row, row + 1)


def test_a_change_of_some_lines_shows_where_it_works_and_stays_there(vim: Vim, desk: Desk) -> None:
    line = line_of(desk)
    far = calling("edit_file", path=desk.name, old_string=UNSAVED, new_string="# gone")
    desk.model.queue(far, changing(desk), {"text": "Done."})
    vim.lua("vim.fn.search([[\\V]] .. ..., 'w')", line)
    row = vim.lua("return vim.fn.line('.')") - 1
    vim.keys("<Esc>V:Magent edit mark it<CR>")
    marked(vim, row)
    answer(vim, "y")
    ends(vim, 1)
    assert f"{line}  # x" in vim.text(NAME)
    assert UNSAVED in vim.text(NAME)
    assert vim.lua("return _G.scoped()") == []


def test_a_change_of_some_lines_follows_them_while_the_instruction_is_written(vim: Vim, desk: Desk) -> None:
    line = line_of(desk)
    desk.model.queue(changing(desk), {"text": "Done."})
    vim.lua("vim.ui.input = function(_, done) _G.done = done end")
    vim.lua("vim.fn.search([[\\V]] .. ..., 'w')", line)
    vim.keys("<Esc>V:Magent edit<CR>")
    vim.wait("_G.done ~= nil")
    row = vim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, {'#', '#', '#'}) return vim.fn.line('.') - 1")
    vim.lua("_G.done('mark it')")
    marked(vim, row)
    answer(vim, "y")
    ends(vim, 1)
    assert f"{line}  # x" in vim.text(NAME)
    vim.lua("_G.done = nil")
    magent(vim, "edit")
    vim.wait("_G.done ~= nil")
    vim.lua("vim.cmd('bdelete!') _G.done('mark it as well')")
    vim.wait_said("The lines are gone that this was about: mark it as well")


@pytest.mark.covers("new file")
def test_a_new_file_in_a_new_folder_is_saved(vim: Vim, desk: Desk) -> None:
    desk.model.queue(calling("write_file", path="deep/er/new.md", content="# New\n"), {"text": "Written."})
    magent(vim, "prompt Write it")
    answer(vim, "y")
    ends(vim, 1)
    assert (desk.root / "deep/er/new.md").read_text() == "# New\n"


def test_a_file_that_is_not_open_is_changed_and_saved(vim: Vim, desk: Desk) -> None:
    readme = desk.root / "README.md"
    desk.model.queue(
        calling("edit_file", path="README.md", old_string="# A project", new_string="# The project"),
        {"text": "Done."},
    )
    magent(vim, "prompt Change the title")
    answer(vim, "y")
    ends(vim, 1)
    assert readme.read_text().startswith("# The project\n")
    assert vim.lua("return vim.bo[vim.fn.bufnr('README.md')].modified") is False
    magent(vim, "undo")
    vim.wait_said("Taken back in README.md")
    assert readme.read_text().startswith("# A project\n")


def test_a_buffer_is_not_saved_over_a_file_that_changed(vim: Vim, desk: Desk) -> None:
    desk.file.write_text("changed by another program\n")
    result = vim.lua(
        "return require('magent_lsp.requests').save({ uris = { vim.uri_from_fname(...) } })", str(desk.file)
    )
    assert result["saved"] == []
    assert desk.file.read_text() == "changed by another program\n"
    assert UNSAVED in vim.text(NAME)


@pytest.mark.covers("killed")
def test_a_server_that_was_killed_comes_back(vim: Vim, desk: Desk) -> None:
    desk.model.queue({"text": "Good."}, changing(desk))
    magent(vim, "prompt first")
    ends(vim, 1)
    magent(vim, "prompt Change it")
    vim.wait("_G.approval()")
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGKILL)
    ends(vim, 2)
    vim.wait("not _G.approval()")
    vim.wait_said("The server ended (signal 9)")
    assert "  # x" not in vim.text(NAME)
    assert UNSAVED in vim.text(NAME)
    desk.model.queue({"text": "Here again."})
    magent(vim, "prompt Are you there?")
    ends(vim, 3)
    assert "Here again." in vim.lua("return _G.transcript()")
    assert "Good." in str(desk.model.requests()[-1]["messages"])


def test_a_conversation_goes_on_in_another_neovim(vim: Vim, desk: Desk) -> None:
    desk.model.queue({"text": "The word is lemon."}, {"text": "Lemon."})
    magent(vim, "prompt Remember the word")
    ends(vim, 1)
    vim.close()
    wait_until(lambda: not desk.server_pids(), 60, "its server has ended: until then the session is its own")
    second = Vim(desk, config(desk))
    try:
        second.edit(desk.file)
        second.ready()
        second.picks("2")  # the only one; its line begins with the year
        magent(second, "sessions")
        second.wait("(_G.transcript() or ''):find('lemon')")
        magent(second, "prompt Which word?")
        ends(second, 1)
        assert "The word is lemon." in str(desk.model.requests()[1]["messages"])
    finally:
        second.close()


def test_beside_another_server(vim: Vim, desk: Desk) -> None:
    vim.lua(f"vim.lsp.config('other', {{ cmd = {lua_list(OTHER)}, root_markers = {{ '.git' }} }})")
    vim.lua("vim.lsp.enable('other')")
    vim.ready("other")
    desk.model.queue(changing(desk), {"text": "Done."})
    magent(vim, "prompt Change it")
    answer(vim, "y")
    ends(vim, 1)
    vim.picks("Other: comment")
    vim.keys("<Esc>gra")
    vim.wait_text("# other\n", NAME)
    wait_until(lambda: seen_by_other(vim) == vim.text(NAME), 60, "the other server sees the same text")


def test_completion_and_pickers(vim: Vim, desk: Desk) -> None:
    names = vim.lua("return vim.fn.getcompletion('Magent ', 'cmdline')")
    assert {"prompt", "ask", "undo", "doctor", "trust", "sessions"} <= set(names)
    vim.wait("vim.list_contains(vim.fn.getcompletion('Magent agents ', 'cmdline'), 'plan')")
    vim.wait("vim.list_contains(vim.fn.getcompletion('Magent prompt /', 'cmdline'), '/fix')")
    vim.picks("plan")
    magent(vim, "agents")
    vim.wait_said("Agent: plan")
    desk.model.queue({"text": "A plan."})
    magent(vim, "prompt Think")
    ends(vim, 1)
    assert "## Magent · plan" in vim.lua("return _G.transcript()")
    magent(vim, "status")
    vim.wait_said("openai/gpt-4o")
    magent(vim, "nonsense")
    vim.wait_said("There is no `:Magent nonsense`")


def test_health(vim: Vim) -> None:
    vim.lua("vim.cmd('checkhealth magent_lsp')")
    text = vim.text()
    assert "ERROR" not in text
    assert "It runs for" in text
    assert "model openai/gpt-4o" in text


def test_what_the_server_may_ask(vim: Vim) -> None:
    """The requests of the protocol, as the server sends them."""
    code = """
    local method, params = ...
    _G.result = nil
    coroutine.wrap(function()
      local handler = require('magent_lsp.requests').handlers()[method]
      local result = handler(nil, params, { client_id = 0, method = method })
      _G.result = { value = result ~= vim.NIL and result or 'null' }
    end)()
    """

    def ask(method: str, **params: Any) -> Any:
        vim.lua(code, method, params)
        return vim.wait("_G.result")["value"]

    assert ask("magent/eval", code="1 + 1") == {"value": "2"}
    assert ask("magent/eval", code="print('hi'); return vim.fn.line('$') > 0") == {"value": "hi\ntrue"}
    assert "oh" in ask("magent/eval", code="error('oh')")["error"]
    assert "error" in ask("magent/eval", code="this is no lua")
    assert ask("magent/eval", code=r"'ä€😀\xff\xed\xa0\x80'") == {"value": r"ä€😀\xff\xed\xa0\x80"}
    assert r"\xff!" in ask("magent/eval", code=r"error('\xff!')")["error"]
    vim.types("blue")
    assert ask("magent/input", title="T", message="Which colour?") == {"value": "blue"}
    assert ask("magent/input", title="T", message="Which colour?") == "null"
    vim.picks("red")
    assert ask("magent/input", title="T", message="M", options=["blue", "red"]) == {"value": "red"}
    vim.picks("[ ] red", "[ ] blue", "Done")
    several = ask("magent/input", title="T", message="M", options=["blue", "green", "red"], multiple=True)
    assert several == {"value": ["blue", "red"]}
    tabs = vim.lua("return #vim.api.nvim_list_tabpages()")
    shown = ask("magent/showDiff", uri="file:///a.py", original="a\nb\n", modified="a\nc\n", title="100%")
    assert shown == "null"
    assert vim.lua("return #vim.api.nvim_list_tabpages()") == tabs + 1
    assert vim.lua("return vim.wo.diff") is True
    vim.keys("q")
    wait_until(lambda: vim.lua("return #vim.api.nvim_list_tabpages()") == tabs, 60, "the tab closes")
