"""What waits for permission, in the real VS Code: nothing is allowed that nobody has seen and meant."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from tests.clients.vscode.window import Chat, Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

OLD = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
NEW = "    body = line.lstrip(BLANKS)\n    return line.removesuffix(body)"

SETTLING = """(buttons) => {
  buttons.style.animation = "none";
  buttons.offsetWidth;
  buttons.style.animation = "";
  const [settling] = buttons.getAnimations();
  settling.pause();
}"""
"""Hold the first moment of a card's buttons."""


def card(chat: Chat, text: str) -> Locator:
    """The card of a request."""
    return chat.frame.locator(".asking", has_text=text)


def begun(window: Window, message: str) -> Chat:
    """The chat, in which a message was sent."""
    window.run("Magent: Open the Chat")
    window.chat.send(message)
    return window.chat


def edit_asked(desk: Desk, window: Window) -> Chat:
    """The chat; an edit waits, seen as a diff."""
    chat = begun(window, "Improve it")
    chat.button("Allow once").wait_for()
    window.page.locator(".monaco-diff-editor .line-insert").first.wait_for()
    return chat


def test_a_click_allows_only_what_was_under_the_pointer_before(desk: Desk, open_window: Open) -> None:
    calls = [calling("bash", command=f"touch {name}.txt")["calls"][0] for name in "ab"]
    text = "\n\n".join(f"Line {number}" for number in range(30))  # the cards are at the lower end
    desk.script({"text": text, "calls": calls}, {"text": "Done."})
    window = open_window()
    chat = begun(window, "Do both")
    card(chat, "touch a.txt").get_by_role("button", name="Allow once").click()
    second = card(chat, "touch b.txt")
    allow = second.get_by_role("button", name="Allow once")
    allow.hover()
    window.page.mouse.down(click_count=2)
    window.page.mouse.up(click_count=2)
    buttons = second.locator(".buttons")
    buttons.evaluate(SETTLING)
    window.page.mouse.down()
    window.page.mouse.up()
    buttons.evaluate("(buttons) => buttons.getAnimations()[0].finish()")
    second.get_by_role("button", name="Reject", exact=True).click()
    chat.item("end", "you rejected a step").wait_for()
    assert (desk.root / "a.txt").exists()
    assert not (desk.root / "b.txt").exists()


def test_of_several_that_wait_a_key_shows_which_is_meant(desk: Desk, open_window: Open) -> None:
    first, second = (calling("bash", command=f"touch {name}.txt") for name in ("first", "second"))
    desk.model.queue(first, second, {"text": "Done."})
    window = open_window()
    card(begun(window, "Make the first"), "touch first.txt").wait_for()
    window.run("Magent: New Conversation")
    window.chat.send("Make the second")
    card(window.chat, "touch second.txt").wait_for()
    window.run("Magent: New Conversation")
    chat = window.chat
    chat.item("text", "Nothing is changed or run").wait_for()
    # As if the run of this conversation had ended while the pointer was on its way: no other is meant.
    chat.frame.locator("#stop").evaluate("(stop) => stop.click()")
    window.chord("Alt+m", "y")
    window.page.locator(".quick-input-widget", has_text="touch first.txt").wait_for()
    window.picture("several")
    window.page.locator(".quick-input-list .monaco-list-row", has_text="Allow once").click()
    wait_until((desk.root / "first.txt").exists, 60, "the command that was shown runs")
    assert not (desk.root / "second.txt").exists()
    # The one that is left is meant.
    window.chord("Alt+m", "r")
    window.page.locator(".statusbar-item", has_text="Magent asks").wait_for(state="detached")
    assert not (desk.root / "second.txt").exists()


def test_a_key_for_a_proposed_text_allows_no_command_of_another_conversation(
    desk: Desk, open_window: Open
) -> None:
    command = {**calling("bash", command="touch made.txt"), "text": ["I ", "do."], "hold": True}
    words = calling("propose", title="Commit message", content="fix: it\n\nIt was wrong.")
    desk.model.queue(command, words, {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    begun(window, "Do the long thing")
    desk.wait_requests(1)  # each conversation gets the reply that is meant for it
    window.run("Magent: New Conversation")
    window.chat.send("Write a commit message")
    chat = window.chat
    chat.frame.locator(".question", has_text="Commit message").wait_for()
    text = window.page.locator(".view-line", has_text="It was wrong.").first
    text.wait_for()
    desk.model.release()
    window.page.locator(".statusbar-item", has_text="touch made.txt").wait_for()
    window.chord("Alt+m", "y")
    shown = window.page.locator(".quick-input-widget", has_text="touch made.txt")
    shown.wait_for()
    window.press("Escape")
    shown.wait_for(state="hidden")
    text.click()
    window.page.locator(".editor-actions .codicon-check").click()  # here it is clear
    chat.item("end", "Done").wait_for()
    assert not (desk.root / "made.txt").exists()


def test_the_second_key_of_an_answer_is_no_text(desk: Desk, open_window: Open) -> None:
    desk.script(calling("bash", command="touch made.txt"), {"text": "Done."})
    window = open_window()
    chat = begun(window, "Make it")
    chat.button("Allow once").wait_for()
    box = chat.frame.locator("#input:focus")
    box.wait_for()
    window.type("and my ")
    window.chord("Alt+m", "y")
    chat.item("end", "Done").wait_for()
    window.type("mum yes")
    assert box.input_value() == "and my mum yes"
    assert (desk.root / "made.txt").exists()


def test_the_menu_at_the_text_takes_back_and_cancels(desk: Desk, open_window: Open) -> None:
    edit = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    other = calling(
        "edit_file", path=desk.name, old_string="import BLANKS", new_string="import BLANKS  # new"
    )
    story = {"text": "Once upon a time " * 400, "delay": 0.3}
    desk.script(edit, {"text": "Done."}, other, story)
    window = open_window({"magentLsp.permission": {"edit_file": "allow"}})
    window.open(desk.name)
    chat = begun(window, "Improve it")
    chat.item("end", "1 edit applied").wait_for()
    chat.send("Change something else and tell me a story")
    chat.item("text", "Once upon").wait_for()
    window.page.locator(".editor-instance .view-line").first.click()
    window.context_menu("Magent", "Undo the Last Run")  # it is still at work
    chat.item("notice", "Undone: indent.py").wait_for()
    text = window.text()
    assert NEW in text
    assert "# new" not in text
    window.page.locator(".editor-instance .view-line").first.click()
    window.context_menu("Magent", "Cancel What Runs")
    chat.item("end", "Cancelled").wait_for()


def test_the_menu_of_a_diff_answers_it(desk: Desk, open_window: Open) -> None:
    edit = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    desk.model.queue(edit, {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    chat = edit_asked(desk, window)

    def choose(title: str) -> None:
        window.page.locator(".editor-actions .codicon-toolbar-more").first.click()
        window.menu(title)

    choose("Answer the Open Question")
    window.page.locator(".quick-input-list .monaco-list-row", has_text="Allow once").wait_for()
    window.press("Escape")
    window.page.locator(".quick-input-widget").wait_for(state="hidden")
    choose("Reject and Say Why")
    window.answer_box("keep it on one line", "What should the agent do instead?")
    chat.item("end", "Done").wait_for()
    assert "keep it on one line" in str(desk.wait_requests(2)[1]["messages"][-1]["content"])


def test_a_file_that_is_only_looked_at_stays_beside_its_diff(desk: Desk, open_window: Open) -> None:
    desk.script(calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW), {"text": "Done."})
    window = open_window()
    for name in ("src", "indent.py"):
        window.page.locator(f".explorer-folders-view .monaco-list-row[aria-label^='{name}']").first.click()
    window.tab("indent.py").wait_for()
    chat = edit_asked(desk, window)
    window.diff_tab().wait_for()
    assert window.tab("indent.py").count() == 2  # its own, and the diff's
    chat.button("Allow once").click()
    chat.item("end", "1 edit applied").wait_for()
    window.diff_tab().wait_for(state="detached")
    assert NEW in window.wait_text("removesuffix")
