"""Questions, conversations, cancelling and settings, in the real VS Code."""

import json
import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.vscode.server import CodeServer
from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

ALLOWED = {"bash": "allow", "edit_file": "allow", "write_file": "allow"}

ANSWER = """It returns the **blanks** a line begins with:

1. `lstrip` takes them away,
2. the lengths say how many there were.

See [indent.py](src/indent.py:13), and <script>alert(1)</script> is only text.
"""


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.covers("ask")
def test_a_question_at_a_place_is_answered_in_the_chat(desk: Desk, open_window: Open) -> None:
    desk.model.queue({"text": ANSWER, "reasoning": "A short function."}, {"text": "Because of tabs."})
    window = open_window()
    window.open(desk.name)
    window.select_lines(14, 14)
    window.run("Magent: Ask About This Place")
    window.answer_box("What is it for?", "what do you want to know")
    chat = window.chat
    chat.item("end", "Done").wait_for()
    answer = chat.item("text")
    assert answer.locator("strong").inner_text() == "blanks"
    assert answer.locator("li").count() == 2
    assert "<script>alert(1)</script>" in answer.inner_text()
    assert "What is it for?" in str(desk.model.requests()[0]["messages"])
    chat.send("And why not strip?")
    chat.item("text", "Because of tabs.").wait_for()
    window.picture("question")
    assert "the **blanks**" in str(desk.model.requests()[1]["messages"])
    assert desk.status() == []


@pytest.mark.covers("cancel")
def test_cancel_in_the_middle_of_an_answer(desk: Desk, open_window: Open) -> None:
    desk.script({"text": "Once upon a time " * 200, "delay": 0.2}, {"text": "Gladly."})
    window = open_window()
    window.open(desk.name)
    window.run("Magent: Open the Chat")
    chat = window.chat
    chat.send("Tell me a story")
    chat.item("text", "Once upon").wait_for()
    window.picture("streaming")
    chat.button("Stop").click()
    chat.item("end", "Cancelled").wait_for()
    window.status.locator(".codicon-sparkle").wait_for()
    chat.send("A shorter one, please")
    chat.item("text", "Gladly.").wait_for()


def test_the_menu_behind_the_status_bar_answers(desk: Desk, open_window: Open) -> None:
    desk.script(calling("bash", command="touch made.txt"), {"text": "Made."})
    window = open_window({"magentLsp.chat.open": False})
    window.run("Magent: Prompt on Selection")
    window.answer_box("make a file", "what shall be done with this project?")
    window.page.locator(".statusbar-item", has_text="Magent asks").wait_for()
    window.status.click()
    row = window.page.locator(".quick-input-list .monaco-list-row", has_text="Answer the open question")
    row.wait_for()
    window.picture("menu")
    row.click()
    window.page.locator(".quick-input-widget", has_text="touch made.txt").wait_for()
    window.picture("answer")
    window.page.locator(".quick-input-list .monaco-list-row", has_text="Allow once").click()
    wait_until((desk.root / "made.txt").exists, 60, "the command ran")


def test_pickers_count_for_the_next_prompt(desk: Desk, open_window: Open) -> None:
    desk.model.queue({"text": "I would not."})
    window = open_window()
    window.run("Magent: Open the Chat")
    window.chat.frame.locator("#agent").click()
    window.page.locator(".quick-input-list .label-name", has_text=re.compile("^ask$")).click()
    window.chat.frame.locator("#agent", has_text="ask").wait_for()
    window.chat.frame.locator("#model").click()
    window.page.locator(".quick-input-list .monaco-list-row", has_text="Another model").click()
    window.answer_box("openai/gpt-4o-mini", "The model, as provider/name")
    window.chat.frame.locator("#model", has_text="gpt-4o-mini").wait_for()
    window.chat.frame.locator("#input").fill("/rev")
    window.chat.frame.locator("#completions li", has_text="/review").wait_for()
    window.picture("pickers")
    window.chat.frame.locator("#input").fill("")
    window.chat.send("What would you do?")
    window.chat.item("text", "I would not.").wait_for()
    request = desk.model.requests()[-1]
    assert request["model"] == "gpt-4o-mini"
    assert "edit_file" not in str([tool["function"]["name"] for tool in request["tools"]])


def test_settings_reach_the_server_and_defaults_do_not(desk: Desk, open_window: Open) -> None:
    own = desk.home / "my programs/server"
    desk.model.queue(calling("bash", command="touch made.txt"), {"text": "Made."})
    # `model` is only in config.yaml: VS Code's own default for it, `auto`, must not win.
    command = {"magentLsp.server.command": [f"{own}", "serve"]}
    window = open_window({"magentLsp.permission": ALLOWED, **command}, program=own)
    window.run("Magent: Prompt on Selection")
    window.answer_box("make a file", "what shall be done with this project?")
    window.chat.item("end", "Done").wait_for()
    assert (desk.root / "made.txt").exists()
    assert desk.model.requests()[0]["model"] == "gpt-4o"


def test_a_repository_cannot_loosen_rules(desk: Desk, open_window: Open) -> None:
    (desk.root / ".vscode").mkdir()
    (desk.root / ".vscode/settings.json").write_text(json.dumps({"magentLsp.permission": ALLOWED}))
    desk.script(calling("bash", command="touch made.txt"), {"text": "Made."})
    window = open_window()
    window.run("Magent: Prompt on Selection")
    window.answer_box("make a file", "what shall be done with this project?")
    window.chat.button("Reject").click()
    window.chat.item("end", "you rejected a step").wait_for()
    assert not (desk.root / "made.txt").exists()


def test_what_is_said_meanwhile_steers_the_run(desk: Desk, open_window: Open) -> None:
    look = {**calling("read_file", path=desk.name), "text": ["I look ", "into it."], "hold": True}
    desk.model.queue(look, {"text": "In Latin: tabula."})
    window = open_window()
    window.run("Magent: Open the Chat")
    window.chat.send("What is a tab?")
    window.chat.item("text", "I look").wait_for()
    window.chat.send("say it in Latin")
    window.chat.item("notice", "You: say it in Latin").wait_for()
    desk.model.release()
    window.chat.item("text", "In Latin: tabula.").wait_for()
    assert "say it in Latin" in str(desk.model.requests()[1]["messages"])


def test_a_new_server_begins_afresh(desk: Desk, open_window: Open) -> None:
    desk.script(calling("write_file", path="made.txt", content="made"))
    window = open_window()
    window.run("Magent: Open the Chat")
    window.chat.send("make a file")
    window.chat.button("Allow once").wait_for()
    window.diff_tab().wait_for()
    desk.script({"text": "Still here."})
    window.run("Magent: Restart Server")
    window.chat.item("notice", "The server has stopped").wait_for()
    window.diff_tab().wait_for(state="detached")
    window.chat.button("Allow once").wait_for(state="detached")
    window.wait_ready()
    window.run("Magent: New Conversation")
    window.chat.send("are you there?")
    window.chat.item("text", "Still here.").wait_for()
    assert desk.status() == []


class SlowServer:
    """A server that starts when it is let."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.program = folder / "slow"
        self._door, self._starts = folder / "door", folder / "starts"
        os.mkfifo(self._door)
        starts, door, program = (shlex.quote(str(path)) for path in (self._starts, self._door, server))
        self.program.write_text(f'#!/bin/sh\necho $$ >> {starts}; read _ < {door}; exec {program} "$@"\n')
        self.program.chmod(0o755)

    def begun(self) -> list[int]:
        """The processes, of all starts."""
        return [int(pid) for pid in self._starts.read_text().split()] if self._starts.exists() else []

    def let(self) -> None:
        """Let the one start that waits."""
        self._door.write_text("\n")

    def close(self) -> None:
        """End what still waits."""
        for pid in filter(alive, self.begun()):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def slow(desk: Desk, code_server: CodeServer) -> Iterator[SlowServer]:
    """A server that starts when it is let; requested before the window, it ends after it."""
    server = SlowServer(desk.home, code_server.program)
    yield server
    server.close()


def test_a_server_that_takes_its_time_and_one_that_hangs_are_started_anew(
    desk: Desk, slow: SlowServer, open_window: Open
) -> None:
    desk.script({"text": "Here."})
    window = open_window({"magentLsp.server.command": [str(slow.program), "serve"]}, ready=False)
    wait_until(lambda: len(slow.begun()) == 1, 60, "the first server starts")
    window.status.locator(".codicon-loading").wait_for()
    # Nobody is asked for words that could not be sent.
    starting = window.page.locator(".notification-toast", has_text="server starts; try again")
    window.run("Magent: Prompt on Selection")
    starting.wait_for()
    window.press("Escape")
    starting.wait_for(state="hidden")
    window.run("Magent: Open the Chat")
    chat = window.chat
    box = chat.frame.locator("#input:focus")
    box.wait_for()  # it closes a box that is open when it comes
    assert box.get_attribute("placeholder") == "The server starts"
    window.type("/rev")
    window.run("Magent: Restart Server")
    wait_until(lambda: len(slow.begun()) == 2, 60, "a second one starts")
    wait_until(lambda: not alive(slow.begun()[0]), 60, "the first one is gone")
    slow.let()
    window.wait_ready()
    chat.frame.locator("#completions li", has_text="/review").wait_for()

    [hanging] = desk.server_pids()
    os.kill(hanging, signal.SIGSTOP)
    try:
        chat.send("are you")
        box = chat.frame.locator("#input")
        wait_until(lambda: box.input_value() == "", 60, "it is sent")
        box.press_sequentially("there?")
        window.run("Magent: Restart Server")
        wait_until(lambda: len(slow.begun()) == 3, 60, "a third one starts")
        wait_until(lambda: not alive(hanging), 60, "the one that hangs is killed")
    finally:
        if alive(hanging):
            os.kill(hanging, signal.SIGKILL)
    slow.let()
    window.wait_ready()
    # What nobody got is there again, before what was written since.
    wait_until(lambda: box.input_value() == "are you\nthere?", 60, "what was written is there again")
    box.press("Enter")
    chat.item("text", "Here.").wait_for()
    assert len(desk.server_pids()) == 1
    assert window.page.locator(".notification-toast").all_inner_texts() == []


@pytest.mark.covers("killed")
def test_a_server_that_was_killed_comes_back(desk: Desk, open_window: Open) -> None:
    desk.script({"text": "Once upon a time " * 200, "delay": 0.2})
    window = open_window()
    window.open(desk.name)
    window.press("Control+Home")
    window.type("# not saved ")
    window.run("Magent: Open the Chat")
    window.chat.send("Tell me a story")
    window.chat.item("text", "Once upon").wait_for()
    desk.script({"text": "Gladly."})
    [pid] = desk.server_pids()
    os.kill(pid, signal.SIGKILL)
    window.chat.item("notice", "The server has stopped").wait_for()
    wait_until(lambda: desk.server_pids() not in ([], [pid]), 60, "VS Code starts it again")
    window.wait_ready()
    window.chat.send("A shorter one, please")
    window.chat.item("text", "Gladly.").wait_for()
    assert "# not saved" in window.text()
    assert desk.status() == []


def test_a_missing_server_says_what_to_do_and_is_found_where_uv_puts_it(
    desk: Desk, code_server: CodeServer, open_window: Open
) -> None:
    window = open_window(ready=False, program=None)
    toast = window.page.locator(".notification-toast", has_text="pipx install '.[rg]'")
    toast.locator(".monaco-button", has_text="Set its path").hover()
    window.picture("no-server")
    toast.locator(".monaco-button", has_text="How to install it").click()
    window.page.locator(".getting-started-step", has_text="Install the server").first.wait_for()
    window.picture("walkthrough")
    toast.wait_for(state="hidden")
    window.run("Magent: Restart Server")
    toast.wait_for()
    # The editor was started before, and knows nothing of a PATH that has changed since.
    code_server.install(desk, code_server.home / ".local/share/uv/tools/magent-lsp/bin/magent-lsp")
    toast.locator(".monaco-button", has_text="Try again").click()
    window.wait_ready()


def test_a_window_knows_nothing_of_the_one_before(desk: Desk, open_window: Open) -> None:
    """If it did, these tests would depend on each other."""
    desk.script({"text": "Once."})
    first = open_window({"workbench.colorTheme": "Default Light Modern"})
    first.open(desk.name)
    first.type("# not saved")
    first.run("Magent: Open the Chat")
    first.chat.send("Hello?")
    first.chat.item("end", "Done").wait_for()
    first.chat.frame.locator("#agent").click()
    first.page.locator(".quick-input-list .label-name", has_text=re.compile("^ask$")).click()
    first.chat.frame.locator("#agent", has_text="ask").wait_for()
    second = open_window()
    assert second.page.locator(".tab").count() == 0
    second.page.locator(".monaco-workbench.vs-dark").wait_for()
    second.run("Magent: Open the Chat")
    second.chat.frame.locator("#agent", has_text="build").wait_for()
    second.chat.item("text", "Nothing is changed or run").wait_for()
    second.open(desk.name)
    assert "# not saved" not in second.text()
