"""From a selection to an edit in the buffer and back, in the real VS Code."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

OLD = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
NEW = "    body = line.lstrip(BLANKS)\n    return line.removesuffix(body)"

Open = Callable[..., Window]


def edits(desk: Desk) -> tuple[dict[str, Any], ...]:
    """Replies of the model: it makes one edit, and says so."""
    first = "`lstrip` runs **once**; naming its result says why."
    last = "`indent_of` now says what it takes away:\n\n```python\nindent_of('  x')  # '  '\n```\n"
    return calling("edit_file", first, path=desk.name, old_string=OLD, new_string=NEW), {"text": last}


def waiting(window: Window) -> None:
    """Have the edit wait for permission, seen as a diff."""
    window.action("Magent: Improve")
    window.chat.button("Allow once").wait_for()
    window.page.locator(".monaco-diff-editor .line-insert").first.wait_for()


def last_answer(desk: Desk) -> str:
    """What the model was told of its tool call."""
    return str(desk.wait_requests(2)[1]["messages"][-1]["content"])


@pytest.mark.covers("edit")
def test_an_edit_is_chosen_seen_accepted_and_undone(desk: Desk, open_window: Open) -> None:
    desk.model.queue(*edits(desk))
    window = open_window()
    window.open(desk.name)
    before = window.text()
    window.select_lines(13, 15)
    waiting(window)
    window.chat.item("prompt", "indent.py:13-15").wait_for()
    window.picture("vscode")
    window.page.get_by_role("button", name=re.compile("^Accept")).click()
    window.chat.item("end", "1 edit applied").wait_for()
    assert NEW in window.wait_text("removesuffix")
    # A file without unsaved work of the person's is saved; here it is seen that nothing else was written.
    wait_until(lambda: NEW in desk.file.read_text(), 60, "the edit is saved")
    assert desk.status() == [f" M {desk.name}"]
    window.picture("accepted")
    window.chat.button("Undo").click()
    window.chat.item("notice", "Undone: indent.py").wait_for()
    assert window.text() == before
    window.chat.button("Redo").click()
    window.chat.item("notice", "Done again: indent.py").wait_for()
    assert NEW in window.text()
    window.press("Control+z")
    wait_until(lambda: window.text() == before, 60, "the key takes it back")


def test_what_the_lightbulb_offers(desk: Desk, open_window: Open) -> None:
    window = open_window()
    window.open(desk.name)
    window.select_lines(13, 15)
    window.offer("Magent: Improve")
    window.picture("lightbulb")
    titles = [title.strip() for title in window.actions().all_inner_texts()]
    assert titles == ["Magent: Explain", "Magent: Improve", "Magent: Write tests", "Magent: Document"]


@pytest.mark.covers("reject")
def test_a_rejected_edit_changes_nothing(desk: Desk, open_window: Open) -> None:
    desk.script(*edits(desk))
    window = open_window()
    window.open(desk.name)
    before = window.text()
    window.select_lines(13, 15)
    waiting(window)
    window.diff_tab().wait_for()
    # It came unasked: until the person is in it, the key is what it is in a text.
    window.press("Control+Backspace")
    window.page.locator(".monaco-diff-editor .modified .view-line").first.click()
    assert window.chat.button("Allow once").is_visible()
    window.press("Control+Backspace")
    window.chat.item("end", "you rejected a step").wait_for()
    window.diff_tab().wait_for(state="detached")
    window.picture("rejected")
    assert window.text() == before
    assert desk.status() == []
    window.wait_ready()


def test_a_reason_sends_the_agent_on(desk: Desk, open_window: Open) -> None:
    desk.model.queue(*edits(desk))
    window = open_window()
    window.open(desk.name)
    window.select_lines(13, 15)
    waiting(window)
    window.chat.button("Reject and say why…").click()
    window.answer_box("keep it on one line", "What should the agent do instead?")
    window.chat.item("end", "Done").wait_for()
    assert "keep it on one line" in last_answer(desk)
    assert desk.status() == []


@pytest.mark.covers("two edits")
def test_two_edits_are_asked_one_after_the_other(desk: Desk, open_window: Open) -> None:
    one = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    two = calling(
        "edit_file", path=desk.name, old_string="import BLANKS", new_string="import BLANKS as WHITE"
    )
    desk.script({"text": "Two.", "calls": one["calls"] + two["calls"]}, {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    before = window.text()
    window.select_lines(13, 15)
    waiting(window)
    window.chat.button("Allow once").click()
    window.page.locator(".monaco-diff-editor .line-insert").first.wait_for()
    window.page.locator(".monaco-diff-editor .modified", has_text="as WHITE").wait_for()
    window.chat.button("Allow once").click()
    window.chat.item("end", "2 edits applied").wait_for()
    text = window.wait_text("as WHITE")
    assert NEW in text
    window.chat.button("Undo").click()
    window.chat.item("notice", "Undone: indent.py").wait_for()
    assert window.text() == before


@pytest.mark.covers("unsaved text")
def test_unsaved_text_survives(desk: Desk, open_window: Open) -> None:
    desk.script(*edits(desk))
    window = open_window()
    window.open(desk.name)
    window.select_lines(1, 1)
    window.press("End", "Enter")
    window.type("# typed, not saved")
    window.select_lines(14, 16)
    waiting(window)
    assert "# typed, not saved" in window.page.locator(".monaco-diff-editor").inner_text().replace(
        "\xa0", " "
    )
    window.chat.button("Allow once").click()
    window.chat.item("end", "1 edit applied").wait_for()
    text = window.wait_text("removesuffix")
    assert "# typed, not saved" in text
    assert NEW in text
    assert window.dirty("indent.py")
    assert desk.status() == []
    window.picture("unsaved")


def test_nobody_who_types_loses_keys_to_a_diff(desk: Desk, open_window: Open) -> None:
    edit = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    desk.model.queue({**edit, "text": ["I look ", "into it."], "hold": True}, {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    window.run("Magent: Open the Chat")
    window.chat.frame.locator("#input:focus").wait_for()
    window.page.locator(".editor-instance .view-line").first.click()
    window.select_lines(13, 15)
    window.action("Magent: Improve")
    window.chat.item("text", "I look").wait_for()
    window.page.locator(".editor-instance .view-line").first.click()
    window.press("End", "Enter")
    typed = "# " + " ".join(f"word{number}" for number in range(20))
    window.type(typed[:2])
    desk.model.release()
    window.page.keyboard.type(typed[2:], delay=40)
    window.chat.button("Allow once").wait_for()
    window.page.locator(".monaco-diff-editor .line-insert").first.wait_for()
    window.chat.button("Allow once").click()
    window.chat.item("end", "1 edit applied").wait_for()
    text = window.wait_text("removesuffix")
    assert typed in text
    assert NEW in text


def test_nobody_who_writes_in_the_chat_answers_by_a_key_of_a_text(desk: Desk, open_window: Open) -> None:
    edit = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    desk.model.queue({**edit, "text": ["I look ", "into it."], "hold": True}, {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    window.run("Magent: Open the Chat")
    chat = window.chat
    chat.send("Improve it")
    chat.item("text", "I look").wait_for()
    box = chat.frame.locator("#input:focus")
    box.wait_for()
    desk.model.release()
    typed = " ".join(f"word{number}" for number in range(20))
    window.page.keyboard.type(typed, delay=40)
    chat.button("Allow once").wait_for()
    window.page.locator(".monaco-diff-editor .line-insert").first.wait_for()
    window.type(" last")
    window.press("Control+Backspace")
    assert box.input_value() == f"{typed} "
    window.picture("typing-in-the-chat")
    chat.button("Allow once").click()
    chat.item("end", "1 edit applied").wait_for()


@pytest.mark.covers("new file")
def test_a_new_file_and_a_command(desk: Desk, open_window: Open) -> None:
    desk.script(
        calling(
            "write_file",
            "I add the test.",
            path="src/test_indent.py",
            content="def test_it():\n    assert True\n",
        ),
        calling("bash", "Now I run it.", command="cat src/test_indent.py | wc -l | tr -d ' ' > count.txt"),
        {"text": "It is there."},
    )
    window = open_window()
    window.open(desk.name)
    window.select_lines(13, 15)
    window.action("Magent: Write tests")
    window.chat.button("Allow once").wait_for()
    window.picture("new-file")
    window.chat.button("Allow once").click()
    window.chat.item("tool", "count.txt").wait_for()
    window.chat.button("Allow once").wait_for()
    window.picture("command")
    window.chat.button("Allow once").click()
    window.chat.item("end", "Done").wait_for()
    assert (desk.root / "src/test_indent.py").read_text() == "def test_it():\n    assert True\n"
    assert (desk.root / "count.txt").read_text() == "2\n"
    window.picture("new-file-done")
