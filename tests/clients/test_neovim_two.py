"""The plugin with two projects open in one Neovim: each has a server, which is told what is meant for it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.neovim.plugin import answer, config, ends, line_of, magent
from tests.clients.neovim.vim import Vim
from tests.clients.test_neovim_questions import PROPOSAL
from tests.support.editors import Desk, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(180)]

TWO = "two.py"
FIRST = "def two():"

RUNS = """
return vim.tbl_map(function(run)
  local client = vim.lsp.get_client_by_id(run.client)
  return { run.prompt, vim.fs.basename(client.config.root_dir), run.state, run.session }
end, vim.tbl_values(require('magent_lsp.runs').all))
"""


@pytest.fixture
def other(desk: Desk, tmp_path: Path) -> Path:
    """A second project."""
    root = tmp_path / "second"
    root.mkdir()
    (root / TWO).write_text(f"{FIRST}\n    return 2\n")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, env=desk.env, check=True)
    return root


@pytest.fixture
def vim(desk: Desk, other: Path) -> Iterator[Vim]:
    """Neovim in a file of the second project, whose server is the younger one."""
    editor = Vim(desk, config(desk) + PROPOSAL)
    try:
        editor.edit(desk.file)
        first = editor.ready()
        editor.edit(other / TWO)
        assert editor.ready() > first
        yield editor
    finally:
        editor.close()


def marking(name: str, line: str) -> dict[str, Any]:
    """A reply that changes a line."""
    return calling("edit_file", path=name, old_string=line, new_string=f"{line}  # x")


def begin(vim: Vim, desk: Desk, prompt: str, number: int = 1) -> None:
    """Prompt from the current file; the answer has begun and does not end."""
    desk.model.queue({"text": ["word ", "and more"], "hold": True})
    magent(vim, f"prompt {prompt}")
    desk.wait_requests(number)
    vim.wait(f"{SHOWN}:find('word')")


SHOWN = """(function()
  local texts = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.bo[buffer].filetype == 'magent' then
      vim.list_extend(texts, vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
    end
  end
  return table.concat(texts, '\\n')
end)()"""
"""The conversation on the screen."""


def states(vim: Vim) -> dict[str, tuple[str, str]]:
    """The project and the state of each run, by its prompt."""
    return {prompt: (root, state) for prompt, root, state, _ in vim.lua(RUNS)}


def sessions(vim: Vim) -> dict[str, str]:
    """The session of each run, by its prompt."""
    return {prompt: session for prompt, _, _, session in vim.lua(RUNS)}


def both(vim: Vim, desk: Desk, other: Path) -> None:
    """A run in each project, that of the first one shown; the cursor is in its file."""
    begin(vim, desk, "Second", 1)
    vim.edit(desk.file)
    begin(vim, desk, "First", 2)
    assert states(vim) == {"Second": ("second", "running"), "First": ("workspace", "running")}


def test_cancel_ends_what_runs_in_the_project_of_the_file(vim: Vim, desk: Desk, other: Path) -> None:
    both(vim, desk, other)
    vim.edit(other / TWO)
    magent(vim, "cancel")
    ends(vim, 1)
    assert states(vim) == {"Second": ("second", "finished"), "First": ("workspace", "running")}


def test_cancel_in_a_conversation_reaches_its_own_server(vim: Vim, desk: Desk, other: Path) -> None:
    """Also when no file of its project is left."""
    begin(vim, desk, "Second")
    vim.edit(desk.file)
    vim.lua("vim.cmd.bwipeout(vim.fn.bufnr(...))", TWO)
    magent(vim, "steer be brief")
    vim.wait_said("Told.")
    vim.lua("require('magent_lsp.chat').write()")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("<C-c>")
    ends(vim, 1)
    assert states(vim) == {"Second": ("second", "finished")}
    assert "Nothing runs" not in vim.said()
    desk.model.queue({"text": "Still the second one."})
    vim.keys("<Esc>iAnd then?<C-s>")
    ends(vim, 2)
    assert states(vim)["And then?"] == ("second", "finished")
    assert sessions(vim)["And then?"] == sessions(vim)["Second"]


def test_steer_reaches_the_run_of_the_project_of_the_file(vim: Vim, desk: Desk, other: Path) -> None:
    both(vim, desk, other)
    vim.edit(other / TWO)
    magent(vim, "steer Say it shorter")
    vim.wait_said("Told.")
    desk.model.queue({"text": "Short."})
    desk.model.release()
    ends(vim, 2)
    told = [body["messages"] for body in desk.model.requests() if "Say it shorter" in str(body["messages"])]
    assert told
    assert all("Second" in str(messages) and "First" not in str(messages) for messages in told)


def test_a_question_is_answered_to_the_server_that_asks(vim: Vim, desk: Desk) -> None:
    desk.model.queue(marking(TWO, FIRST), {"text": "Done."})
    magent(vim, "prompt Mark it")
    vim.wait("_G.approval()")
    vim.edit(desk.file)
    vim.lua("vim.cmd.bwipeout(vim.fn.bufnr(...))", TWO)
    magent(vim, "pending")
    assert (
        vim.lua("return vim.api.nvim_win_get_config(_G.approval()).title[1][1]") == " Magent asks in second "
    )
    answer(vim, "y")
    ends(vim, 1)
    assert "answered already" not in vim.said()
    assert f"{FIRST}  # x" in vim.text(TWO)


def test_a_proposal_that_was_put_away_holds_up_no_other_project(vim: Vim, desk: Desk) -> None:
    asking = calling("ask_user", question="Which colour?", options=["blue", "red"])
    desk.model.queue(calling("propose", title="A message", content="One.\n\nTwo.\n"))
    magent(vim, "prompt Propose a message")
    vim.wait("_G.proposal() == vim.api.nvim_get_current_win()")
    vim.keys(":q<CR>")
    vim.wait("not _G.proposal()")
    vim.edit(desk.file)
    desk.model.queue(asking, {"text": "Red."})
    vim.picks("red", "red")
    magent(vim, "prompt Paint it")
    ends(vim, 1)
    vim.lua("require('magent_lsp.config').current.approval.idle = 1e9")
    desk.model.queue(asking, {"text": "Red."})
    magent(vim, "prompt Paint it again")
    vim.wait_said("It asks as soon as")
    magent(vim, "pending")
    ends(vim, 2)
    assert states(vim)["Propose a message"] == ("second", "running")
    magent(vim, "pending")
    vim.wait("_G.proposal() == vim.api.nvim_get_current_win()")
    desk.model.queue({"text": "Thanks."})
    vim.keys("<C-s>")
    ends(vim, 3)


def test_undo_takes_back_what_was_done_in_the_project_of_the_file(vim: Vim, desk: Desk, other: Path) -> None:
    line, (one, two) = line_of(desk), (desk.file.read_text(), (other / TWO).read_text())
    vim.edit(desk.file)
    desk.model.queue(marking(desk.name, line), {"text": "Done."}, marking(TWO, FIRST), {"text": "Done."})
    magent(vim, "prompt Mark it")
    answer(vim, "y")
    ends(vim, 1)
    vim.edit(other / TWO)
    magent(vim, "prompt Mark it too")
    answer(vim, "y")
    ends(vim, 2)
    vim.edit(desk.file)
    magent(vim, "undo")
    vim.wait_said("Taken back in src/indent.py")
    assert vim.text("indent.py") == one
    assert f"{FIRST}  # x" in vim.text(TWO)
    vim.edit(other / TWO)
    magent(vim, "redo")
    vim.wait_said("Nothing was taken back.")
    magent(vim, "undo")
    vim.wait("#vim.iter(_G.said):filter(function(text) return text:find('Taken back') end):totable() == 2")
    assert vim.text(TWO) == two
    vim.edit(desk.file)
    magent(vim, "redo")
    vim.wait_said("Brought back in src/indent.py")
    assert f"{line}  # x" in vim.text("indent.py")
    assert vim.text(TWO) == two


def test_a_prompt_goes_on_with_the_conversation_of_its_own_project(vim: Vim, desk: Desk, other: Path) -> None:
    desk.model.queue(*({"text": f"Answer {number}."} for number in range(1, 5)))
    magent(vim, "prompt Second")
    ends(vim, 1)
    vim.edit(desk.file)
    magent(vim, "prompt First")
    ends(vim, 2)
    vim.edit(other / TWO)
    magent(vim, "prompt Second again")
    ends(vim, 3)
    vim.edit(desk.file)
    magent(vim, "chat")
    magent(vim, "chat")
    vim.wait(f"{SHOWN}:find('First')")
    vim.keys("First again<C-s>")
    ends(vim, 4)
    roots = {prompt: root for prompt, (root, _) in states(vim).items()}
    assert roots == {
        "First": "workspace",
        "First again": "workspace",
        "Second": "second",
        "Second again": "second",
    }
    ids = sessions(vim)
    assert ids["First again"] == ids["First"] != ids["Second"] == ids["Second again"]
    said = [str(body["messages"]) for body in desk.model.requests()]
    assert "Answer 1." in said[2]
    assert "Answer 2." in said[3]


def test_what_is_written_is_not_said_in_a_conversation_that_comes_up_meanwhile(vim: Vim, desk: Desk) -> None:
    begin(vim, desk, "Second", 1)
    vim.edit(desk.file)
    desk.model.queue({"text": "Here."}, {"text": "For the first."})
    magent(vim, "prompt First")
    ends(vim, 1)
    vim.lua("require('magent_lsp.chat').write()")
    vim.wait("vim.bo.filetype == 'magentinput'")
    vim.keys("Only for the first")
    vim.wait_text("Only for the first")
    desk.model.release()
    ends(vim, 2)
    said = vim.lua("return _G.said")
    assert [text.split()[1:4] for text in said if "and more" in text] == [["word", "and", "more"]]
    assert not any("\n" in text for text in said), "a second line would have to be put away with a key"
    vim.keys("<C-s>")
    ends(vim, 3)
    assert states(vim)["Only for the first"] == ("workspace", "finished")


def test_the_conversation_on_the_screen_is_renamed(vim: Vim, desk: Desk, other: Path) -> None:
    """Not the last one of the project of the file beside it, which nobody sees."""
    desk.model.queue({"text": "There."}, {"text": "Here."})
    vim.edit(desk.file)
    magent(vim, "prompt First")
    ends(vim, 1)
    vim.edit(other / TWO)
    magent(vim, "prompt Second")
    ends(vim, 2)
    vim.edit(desk.file)
    magent(vim, "rename The shown one")
    vim.wait_said('Renamed to "The shown one"')
    for file, title in ((desk.file, "First"), (other / TWO, "The shown one")):
        vim.edit(file)
        vim.lua("_G.asked = {}")
        magent(vim, "sessions")
        [menu] = vim.wait("_G.asked[1] and _G.asked")
        assert title in menu["titles"][0]


def test_lists_and_names_are_those_of_the_project(vim: Vim, desk: Desk, other: Path) -> None:
    desk.model.queue(
        {"text": "One lemon."}, {"text": "Two lemons."}, {"text": "A plan."}, {"text": "As ever."}
    )
    magent(vim, "prompt Second")
    ends(vim, 1)
    vim.edit(desk.file)
    magent(vim, "prompt First")
    ends(vim, 2)
    for command in ("sessions", "sessions lemon"):
        vim.lua("_G.asked = {}")
        magent(vim, command)
        [menu] = vim.wait("_G.asked[1] and _G.asked")
        assert len(menu["titles"]) == 1
        assert "First" in menu["titles"][0]
    vim.picks("plan")
    magent(vim, "agents")
    vim.wait_said("Agent: plan")
    magent(vim, "prompt First, planned")
    ends(vim, 3)
    vim.edit(other / TWO)
    magent(vim, "prompt Second, done")
    ends(vim, 4)
    agents = dict(vim.lua(AGENTS))
    assert agents["First, planned"] == "plan"
    assert agents["Second, done"] == agents["Second"] != "plan"


AGENTS = """
return vim.tbl_map(function(run)
  return { run.prompt, run.agent }
end, vim.tbl_values(require('magent_lsp.runs').all))
"""


def test_both_servers_start_again(vim: Vim, desk: Desk, other: Path) -> None:
    magent(vim, "restart")
    vim.wait_said("Started again")
    for file in (desk.file, other / TWO):
        vim.edit(file)
        vim.ready()
    vim.lua("vim.cmd('checkhealth magent_lsp')")
    assert vim.text().count("model openai/gpt-4o") == 2
