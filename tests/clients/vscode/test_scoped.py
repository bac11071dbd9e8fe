"""A change of some lines and nothing else, and the sign in the text that shows where it works."""

import os
import signal
from collections.abc import Callable

import pytest

from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

OLD = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
NEW = "    body = line.lstrip(BLANKS)\n    return line.removesuffix(body)"
LINES = ["def indent_of(line: str) -> str:", '    """The blanks a line begins with."""', OLD]

IN_THE_CHAT = {"magentLsp.approvals.diffEditor": False}
"""Questions leave the text in sight."""


def test_only_the_selected_lines_can_be_changed_and_are_marked(desk: Desk, open_window: Open) -> None:
    far = calling("edit_file", path=desk.name, old_string="_UNITS = (4, 2, 8, 3)", new_string="_UNITS = ()")
    near = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    more = calling(
        "edit_file", path=desk.name, old_string="blanks a line begins", new_string="blanks it begins"
    )
    desk.script(far, near, more)
    window = open_window(IN_THE_CHAT)
    window.open(desk.name)
    window.select_lines(13, 15)
    window.context_menu("Magent", "Change Only These Lines")
    window.answer_box("say it in two steps", "what shall be done with lines 13-15? Nothing else is changed.")
    window.chat.item("prompt", "only indent.py:13-15").wait_for()
    window.chat.button("Allow once").wait_for()
    # What leaves the lines was denied before anybody was asked.
    window.chat.item("tool", "may only edit lines 13 to 15").wait_for(state="attached")
    window.wait_marked(LINES)
    window.picture("only-these-lines")
    window.chat.button("Allow once").click()
    window.wait_marked([*LINES[:2], *NEW.splitlines()])
    window.chat.button("Reject").click()
    window.chat.item("end", "1 edit applied").wait_for()
    window.wait_marked([])
    text = window.text()
    assert NEW in text
    assert "_UNITS = (4, 2, 8, 3)" in text


def test_the_mark_moves_with_the_text_and_goes_with_the_run(desk: Desk, open_window: Open) -> None:
    desk.script(*[calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)] * 3)
    window = open_window(IN_THE_CHAT)
    window.open(desk.name)
    window.select_lines(15, 15)
    window.press("ArrowLeft")
    window.chord("Alt+m", "e")
    window.answer_box("say it in two steps", "what shall be done with line 15?")
    window.chat.button("Allow once").wait_for()
    window.wait_marked([OLD])
    # Above, right before and right behind it.
    window.select_lines(1, 1)
    window.press("End", "Enter")
    window.type("# above")
    window.select_lines(16, 16)
    window.press("End", "Enter")
    window.type("# behind")
    window.select_lines(16, 16)
    window.press("Home", "Control+Shift+Enter")
    window.type("# before")
    window.wait_marked([OLD])
    # Where it went to is known when the file is seen again.
    window.open("README.md")
    window.open(desk.name)
    window.wait_marked([OLD])
    window.chat.button("Stop").click()
    window.chat.item("end", "Cancelled").wait_for()
    window.wait_marked([])
    assert OLD in window.text()
    window.select_lines(17, 17)
    window.run("Magent: Change Only These Lines")
    window.answer_box("again", "what shall be done with line 17?")
    window.chat.button("Allow once").wait_for()
    window.wait_marked([OLD])
    [pid] = desk.server_pids()
    os.kill(pid, signal.SIGKILL)
    window.wait_marked([])
    wait_until(lambda: desk.server_pids() not in ([], [pid]), 60, "VS Code starts it again")
