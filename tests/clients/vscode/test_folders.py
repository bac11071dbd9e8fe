"""Several folders in one window of the real VS Code."""

import json
from collections.abc import Callable

import pytest

from tests.clients.vscode.window import Window
from tests.support.editors import Desk

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]


def test_a_conversation_belongs_to_its_folder(desk: Desk, open_window: Callable[..., Window]) -> None:
    other = desk.root.with_name("other")
    (other / "src").mkdir(parents=True)
    (other / "src/indent.py").write_text("# the other one\n")
    (other / "src/second.py").write_text("# here one asks\n")
    workspace = desk.root.with_name("two.code-workspace")
    workspace.write_text(json.dumps({"folders": [{"path": str(desk.root)}, {"path": str(other)}]}))
    desk.script({"text": "See [it](src/indent.py:1)."}, {"text": "No."})
    window = open_window(workspace=workspace)
    window.open("second.py")
    window.run("Magent: Prompt on Selection")
    window.answer_box("where is it", "what shall be done with")
    window.chat.item("end", "Done").wait_for()
    window.chat.frame.locator(".item.text a").click()
    window.page.locator(".view-line", has_text="the other one").first.wait_for()
    window.run("Magent: New Conversation")
    window.chat.frame.locator("#input:focus").wait_for()  # it closes a box that is open when it comes
    window.run("Magent: Earlier Conversations")
    window.page.locator(".quick-input-list .monaco-list-row", has_text="where is it").click()
    window.chat.item("prompt", "where is it").wait_for()
