"""A chat document in the real VS Code: its button, typing while it streams, the lines about tools folded."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, TimeoutError

from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

NAME = "talk.magent.md"
WORDS = [f"word{number} " for number in range(40)]


def open_chat(desk: Desk, open_window: Open, message: str) -> Window:
    """A window with a chat document in it."""
    (desk.root / NAME).write_text(f"# Talk\n\n## You\n\n{message}\n", encoding="utf-8")
    window = open_window({"magentLsp.chat.open": False, "editor.acceptSuggestionOnEnter": "off"})
    window.open(NAME)
    return window


def lens(window: Window, title: str) -> Locator:
    return window.page.locator(".codelens-decoration a", has_text=title).first


def test_the_button_sends_and_one_types_meanwhile(desk: Desk, open_window: Open) -> None:
    words = ["".join(WORDS[:20]), *WORDS[20:]]
    desk.model.queue({"text": words, "delay": 0.1, "hold": True}, {"text": "Surely."})
    window = open_chat(desk, open_window, "Tell me all.")
    lens(window, "Send").click()
    lens(window, "Cancel").wait_for()
    window.page.locator(".view-line", has_text="word19").first.wait_for()
    window.picture("chat-document-streaming")
    window.press("Control+End")
    window.type("Real")
    desk.model.release()
    window.type("ly?")
    window.page.locator(".view-line", has_text="word39").first.wait_for()
    lens(window, "Send").wait_for()
    text = window.wait_text("word39")
    assert f"## Magent\n\n{''.join(WORDS).strip()}\n\n## You\n" in text
    assert text.rstrip().endswith("Really?")
    lens(window, "Send").click()
    assert window.wait_text("Surely.").count("## Magent") == 2
    said = [m["content"] for m in desk.model.requests()[1]["messages"] if m["role"] == "assistant"]
    assert said == ["".join(WORDS)]


def test_cancel_by_the_button_and_tools_that_fold(desk: Desk, open_window: Open) -> None:
    two = [calling("read_file", path=desk.name)["calls"][0], calling("list_dir", path="src")["calls"][0]]
    # VS Code draws buttons anew when a text has rested.
    desk.model.queue({"text": "Looking.", "calls": two}, {"text": WORDS, "hold": True})
    window = open_chat(desk, open_window, "Look.")
    lens(window, "Send").click()
    window.page.locator(".view-line", has_text="word0").first.wait_for()
    lens(window, "Cancel").click()
    lens(window, "Send").wait_for()
    text = window.wait_text("> - magent: cancelled")
    lines = text.partition("Looking.\n\n")[2].splitlines()
    assert sorted(lines[:2]) == ["> - tool: list_dir src", "> - tool: read_file src/indent.py"]
    first, second = ("list_dir", "read_file") if "list_dir" in lines[0] else ("read_file", "list_dir")
    window.page.locator(".view-line", has_text=first).first.click()
    folded = window.page.locator(".view-line", has_text=second)

    def fold() -> bool:
        window.press("Control+Shift+BracketLeft")
        try:
            folded.first.wait_for(state="detached", timeout=5000)
        except TimeoutError:
            return False  # VS Code did not know yet what can be folded: once more, as people do
        return True

    wait_until(fold, 60, "the lines about tools are folded")
    window.picture("chat-document-folded")
