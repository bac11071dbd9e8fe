"""What the agent asks the person in Neovim, and what it proposes; nothing takes the keys from who types."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.clients.neovim.plugin import answer, changing, ends, magent, opened
from tests.clients.neovim.terminal import start, write
from tests.clients.neovim.vim import Vim
from tests.support.editors import Desk, Tmux, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(180)]

TEXT = "Indent by tabs\n\nThe body says 100% why.\n"

PROPOSAL = """
_G.approval_lines = function()
  local window = _G.approval()
  return window and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
end
_G.proposal = function()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'magentproposal' then return window end
  end
end
"""

HASTY = """
-- Who types as a window takes the cursor: the keys come before any time has passed.
local quiet, clock = require('magent_lsp.config').current.approval, vim.uv.hrtime
quiet.idle = 500
vim.uv.hrtime = function() return _G.stopped or clock() end
vim.keymap.set('n', '<F5>', function() _G.hasty = true end)
vim.keymap.set('n', '<F6>', function() _G.again = true end)
vim.api.nvim_create_autocmd('BufEnter', { callback = function()
  local keys = ({ magentapproval = 'a<Esc>q<F5>', magentproposal = '<C-s>ZQ<F5>' })[vim.bo.filetype]
  if keys then
    _G.stopped = vim.uv.hrtime()
    vim.api.nvim_input(keys)
  end
end })
-- A moment later.
_G.go_on = function()
  local since = _G.stopped
  _G.stopped, _G.hasty = nil, nil
  return vim.wait(5000, function() return clock() - since > 500e6 end)
end
"""


@pytest.fixture
def vim(desk: Desk) -> Iterator[Vim]:
    """Neovim with the plugin, in the desk's file."""
    with opened(desk, PROPOSAL) as editor:
        yield editor


def told(desk: Desk) -> str:
    """What the model was told of the person's answer."""
    return str(desk.wait_requests(2)[1]["messages"][-1]["content"])


def propose(vim: Vim, desk: Desk) -> None:
    desk.model.queue(calling("propose", title="A message", content=TEXT), {"text": "Thanks."})
    magent(vim, "prompt Propose a message")
    vim.wait("_G.proposal() == vim.api.nvim_get_current_win()")


def test_a_question_waits_until_nobody_types(vim: Vim, desk: Desk) -> None:
    desk.model.queue(calling("ask_user", question="Which colour?", options=["blue", "red"]), {"text": "Red."})
    vim.keys("<Esc>Go")
    vim.wait("vim.api.nvim_get_mode().mode == 'i'")
    vim.picks("red")
    magent(vim, "prompt Paint it")
    vim.wait_said("It asks as soon as you pause in normal mode: Which colour?")
    assert vim.lua("return require('magent_lsp').status()") == "magent: waiting for you"
    vim.keys("still typing<CR>on and on")
    vim.wait_text("still typing\non and on")
    assert vim.asked() == []
    vim.keys("<Esc>")
    ends(vim, 1)
    assert "chose: red" in told(desk)
    assert vim.lua("return require('magent_lsp').status()") == ""


def test_a_question_comes_when_it_is_called(vim: Vim, desk: Desk) -> None:
    vim.lua("require('magent_lsp.config').current.approval.idle = 1e9")
    desk.model.queue(calling("ask_user", question="Which colour?\nOf the door."), {"text": "Red."})
    vim.types("red")
    magent(vim, "prompt Paint it")
    vim.wait_said("It asks as soon")
    magent(vim, "pending")
    ends(vim, 1)
    assert vim.asked()[0]["prompt"] == "Which colour?\nOf the door. "
    assert "answered: red" in told(desk)


def test_a_question_comes_in_a_terminal(vim: Vim, desk: Desk) -> None:
    """In its normal mode by itself; the other one has all keys but one, so it says which."""
    vim.lua("vim.cmd('split | terminal cat')")
    vim.keys("i")
    vim.wait("vim.api.nvim_get_mode().mode == 't'")
    desk.model.queue(changing(desk), {"text": "Done."})
    magent(vim, "prompt Change it")
    vim.wait("_G.approval()")
    footer = vim.lua("return vim.api.nvim_win_get_config(_G.approval()).footer[1][1]")
    assert footer == r" <C-\><C-n>, and the cursor comes here "
    vim.keys(r"<C-\><C-n>")
    answer(vim, "y")
    ends(vim, 1)
    assert "  # x" in vim.text("indent.py")


def test_a_question_goes_with_its_run(vim: Vim, desk: Desk) -> None:
    """Who leaves insert mode is not asked for what nobody waits for; another run takes nothing with it."""
    desk.model.queue(calling("ask_user", question="Which colour?"))
    vim.keys("<Esc>Go")
    vim.wait("vim.api.nvim_get_mode().mode == 'i'")
    magent(vim, "prompt Paint it")
    vim.wait_said("It asks as soon")
    desk.model.queue(calling("read_file", path=desk.name), {"text": "Read."})
    vim.lua("require('magent_lsp').execute('prompt', { prompt = 'Read it' })")
    ends(vim, 1)
    assert vim.lua("return #require('magent_lsp.dialogs').waiting") == 1
    magent(vim, "cancel")
    ends(vim, 2)
    assert vim.lua("return #require('magent_lsp.dialogs').waiting") == 0
    vim.keys("<Esc>")
    vim.wait("vim.api.nvim_get_mode().mode == 'n'")
    magent(vim, "pending")
    vim.wait_said("Nothing waits for you.")
    assert vim.asked() == []


def test_other_dialogs_wait_as_well(vim: Vim, desk: Desk) -> None:
    """`:Magent trust` asks by a standard dialog of the server."""
    (desk.root / ".magent").mkdir()
    (desk.root / ".magent/config.yaml").write_text("hooks:\n  RunStarted:\n  - command: 'true'\n")
    vim.keys("<Esc>Go")
    vim.wait("vim.api.nvim_get_mode().mode == 'i'")
    vim.picks("Trust")
    magent(vim, "trust")
    vim.wait_said("It asks as soon")
    assert vim.asked() == []
    vim.keys("<Esc>")
    vim.wait("_G.asked[1]")
    assert "Trust" in str(vim.asked()[0]["titles"])


def test_a_question_goes_with_its_server(vim: Vim, desk: Desk) -> None:
    (desk.root / ".magent").mkdir()
    (desk.root / ".magent/config.yaml").write_text("hooks:\n  RunStarted:\n  - command: 'true'\n")
    vim.keys("<Esc>Go")
    vim.wait("vim.api.nvim_get_mode().mode == 'i'")
    magent(vim, "trust")
    vim.wait_said("It asks as soon")
    [pid] = vim.server_pids()
    os.kill(pid, signal.SIGKILL)
    vim.wait("#vim.lsp.get_clients({ name = 'magent_lsp' }) == 0")
    vim.wait("require('magent_lsp').status() == ''")


def test_a_proposal_is_changed_and_accepted(vim: Vim, desk: Desk) -> None:
    vim.keys(" mm")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("<Esc>")
    vim.wait("vim.api.nvim_get_mode().mode == 'n'")
    propose(vim, desk)
    assert vim.text() == TEXT + "\n"
    winbar = vim.lua("return vim.wo.winbar")
    assert winbar == " A message: <C-s> takes the text as it is here, ZQ refuses"
    vim.keys("ccIndent by blanks<C-s>")
    ends(vim, 1)
    assert told(desk).endswith(f"counts from now on:\n{TEXT.replace('tabs', 'blanks').strip()}")
    assert vim.lua("return _G.proposal()") is None
    assert vim.lua("return vim.api.nvim_get_mode().mode") == "n"


def test_a_proposal_is_accepted_as_it_is(vim: Vim, desk: Desk) -> None:
    propose(vim, desk)
    vim.keys("ccX<Esc>uu<C-s>")  # undo goes back to the text, and not to before it
    ends(vim, 1)
    assert told(desk) == "Accepted as it is."


def test_a_proposal_is_refused(vim: Vim, desk: Desk) -> None:
    propose(vim, desk)
    vim.keys("ZQ")
    ends(vim, 1)
    assert told(desk).startswith("Rejected.")
    assert vim.lua("return _G.proposal()") is None


def test_a_proposal_that_was_put_away_comes_back(vim: Vim, desk: Desk) -> None:
    propose(vim, desk)
    vim.keys("ccMine<Esc>:q<CR>")
    vim.wait("not _G.proposal()")
    assert vim.lua("return require('magent_lsp').status()") == "magent: waiting for you"
    magent(vim, "pending")
    vim.wait("_G.proposal() == vim.api.nvim_get_current_win()")
    vim.keys("<C-s>")
    ends(vim, 1)
    assert "Mine" in told(desk)


def test_a_proposal_whose_run_ends_keeps_what_was_written(vim: Vim, desk: Desk) -> None:
    propose(vim, desk)
    vim.keys("ccMy own words<Esc>")
    vim.wait_text("My own words")
    magent(vim, "cancel")
    ends(vim, 1)
    vim.wait_said("The run has ended; its proposal is kept in the buffer magent://proposal/1")
    assert "nobody waits" in vim.lua("return vim.wo.winbar")
    assert "My own words" in vim.text()
    assert vim.lua("return vim.fn.maparg('ZQ', 'n')") == ""
    assert vim.lua("return require('magent_lsp').status()") == ""


def test_a_dialog_does_not_cover_a_permission(vim: Vim, desk: Desk) -> None:
    """The key that is meant for the one must not answer the other."""
    both = changing(desk)["calls"] + calling("ask_user", question="Which colour?")["calls"]
    desk.model.queue({"text": "Both.", "calls": both}, {"text": "Done."})
    vim.types("red")
    magent(vim, "prompt Do both")
    answer(vim, "y")
    ends(vim, 1)
    assert [menu["prompt"] for menu in vim.asked()] == ["Which colour? "]


def say_no(vim: Vim) -> None:
    """The question is there still, and takes a no from who has stopped typing."""
    assert vim.lua("return _G.approval() == vim.api.nvim_get_current_win()")
    assert vim.lua("return _G.go_on()")
    vim.keys("n")
    ends(vim, 1)


def test_keys_on_their_way_answer_nothing(vim: Vim, desk: Desk) -> None:
    """Neither the first question, also when it is drawn anew, nor the one that comes in its place."""
    desk.model.queue(changing(desk), calling("bash", command="touch made.txt"), {"text": "Done."})
    vim.lua(HASTY)
    magent(vim, "prompt Do both")
    vim.wait("_G.hasty and table.concat(_G.approval_lines(), '\\n'):find('whole file')")
    for _ in range(3):  # in one go, for longer than a key is waited for
        vim.lua("_G.again = nil")
        vim.keys("aq<F6>")
        vim.wait("_G.again")
        assert vim.lua("return _G.approval() == vim.api.nvim_get_current_win()")
        vim.lua("_G.stopped = _G.stopped + 400e6")
    assert vim.lua("return _G.go_on()")
    vim.keys("y")
    vim.wait("_G.hasty and table.concat(_G.approval_lines(), '\\n'):find('made.txt')")
    say_no(vim)
    assert not (desk.root / "made.txt").exists()


def test_a_word_that_begins_later_answers_nothing(vim: Vim, desk: Desk) -> None:
    """Its first letter is no answer, and those behind it are letters too."""
    desk.model.queue(changing(desk))
    vim.lua(HASTY)
    magent(vim, "prompt Do it")
    vim.wait("_G.hasty and table.concat(_G.approval_lines(), '\\n'):find('whole file')")
    assert vim.lua("return _G.go_on()")
    vim.lua("_G.stopped = vim.uv.hrtime()")
    vim.keys("by any<F6>")
    vim.wait("_G.again")
    say_no(vim)
    assert "  # x" not in vim.text("indent.py")


def test_the_key_that_cancels_does_so_in_a_question(vim: Vim, desk: Desk) -> None:
    desk.model.queue(changing(desk))
    magent(vim, "prompt Do it")
    answer(vim, "<C-c>")
    ends(vim, 1)
    vim.wait("not _G.approval()")
    assert "■" in vim.lua("return _G.transcript()")
    assert "  # x" not in vim.text("indent.py")


def test_keys_on_their_way_take_no_proposal(vim: Vim, desk: Desk) -> None:
    vim.lua(HASTY)
    propose(vim, desk)
    vim.wait("_G.hasty")
    assert vim.lua("return _G.proposal() == vim.api.nvim_get_current_win() and _G.go_on()")
    vim.keys("<C-s>")
    ends(vim, 1)
    assert told(desk) == "Accepted as it is."


def test_a_title_of_several_lines_is_shown_on_one(vim: Vim) -> None:
    """Our server sends none; a buffer would not take it."""
    option = {"reply": "allow_once", "title": "Allow\nonce"}
    asks = {"requestId": "1", "runId": "r", "toolCallId": "c", "reason": "", "options": [option]}
    started = {"agent": "guest", "model": "a\nb", "prompt": "x"}
    for kind, event in (
        ("run_started", started),
        ("tool_call_started", {"toolCallId": "c", "title": "Write a\nb.txt", "status": "pending"}),
        ("permission_requested", {**asks, "title": "Write a\nb.txt"}),
    ):
        params = {"runId": "r", "sessionId": "s", "event": {"type": kind, **event}}
        vim.lua("require('magent_lsp.runs').receive(...)", params, vim.ready())
    shown = "\n".join(vim.wait("_G.approval_lines()"))
    assert shown.startswith("Write a␊b.txt\n")
    assert "y  Allow␊once" in shown
    assert "## Magent · guest · a␊b" in vim.lua("return _G.transcript()")
    assert "Write a␊b.txt" in vim.lua("return _G.transcript()")


def test_an_interrupted_menu_is_no_answer(desk: Desk, tmux: Callable[..., Tmux]) -> None:
    """<C-c> in Neovim's own menu, at the first sight of it and in the middle of choosing several."""
    options = ["blue", "red"]
    desk.script(
        calling("ask_user", question="Which colour?", options=options),
        calling("ask_user", question="Which colours?", options=options, multiple=True),
        {"text": "So be it."},
    )
    terminal = start(desk, tmux)
    write(terminal, "Paint it")
    terminal.keys("C-s")
    terminal.wait("1: blue", 60)
    terminal.keys("C-c")
    terminal.wait("2: [ ] blue", 60)
    terminal.type("2")
    terminal.keys("Enter")
    terminal.wait("2: [x] blue", 60)
    terminal.keys("C-c")
    screen = terminal.wait("So be it.", 60)
    assert "could not be shown" not in screen


def test_with_real_keys_and_the_editors_own_prompt(desk: Desk, tmux: Callable[..., Tmux]) -> None:
    """What is typed while the question comes is text, and its Return answers nothing."""
    desk.script(calling("ask_user", question="Which colour?"), {"text": "So be it."})
    terminal = start(desk, tmux)
    write(terminal, "Paint it")
    terminal.keys("C-s", "i")
    terminal.wait("magent: waiting for you", 60)
    terminal.type("my text")
    terminal.keys("Enter")
    terminal.type("goes on")
    terminal.wait(lambda screen: "my text" in screen and "goes on" in screen)
    assert "So be it." not in terminal.screen()
    terminal.keys("Escape")
    terminal.wait(lambda screen: screen.rstrip().split("\n")[-1].startswith("Which colour?"), 60)
    terminal.type("red")
    terminal.keys("Enter")
    terminal.wait("So be it.", 60)
