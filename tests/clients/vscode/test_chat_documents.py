"""A chat document in the real VS Code: its button, typing while it streams, the lines about tools folded."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, TimeoutError

from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling

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


def press(window: Window, title: str, other: str) -> None:
    """Press a button until it has become the other: one that is just drawn anew takes no click."""
    for _ in range(10):
        with suppress(TimeoutError):
            lens(window, title).click(timeout=5000)
            lens(window, other).wait_for(timeout=5000)
            return
    raise AssertionError(f"{title!r} does nothing:\n{window.text()}")


def test_the_button_sends_and_one_types_meanwhile(desk: Desk, open_window: Open) -> None:
    desk.model.queue({"text": WORDS, "delay": 0.1}, {"text": "Surely."})
    window = open_chat(desk, open_window, "Tell me all.")
    press(window, "Send", "Cancel")
    window.page.locator(".view-line", has_text="word3").first.wait_for()
    window.picture("chat-document-streaming")
    window.press("Control+End")
    window.type("Really?")
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
    desk.model.queue({"text": "Looking.", "calls": two}, {"text": WORDS * 9, "delay": 0.1})
    window = open_chat(desk, open_window, "Look.")
    press(window, "Send", "Cancel")
    desk.wait_requests(2, 60)
    press(window, "Cancel", "Send")
    text = window.wait_text("> - magent: cancelled")
    lines = text.partition("Looking.\n\n")[2].splitlines()
    assert sorted(lines[:2]) == ["> - tool: list_dir src", "> - tool: read_file src/indent.py"]
    first, second = ("list_dir", "read_file") if "list_dir" in lines[0] else ("read_file", "list_dir")
    window.page.locator(".view-line", has_text=first).first.click()
    window.press("Control+Shift+BracketLeft")
    window.page.locator(".view-line", has_text=second).first.wait_for(state="detached", timeout=5000)
    window.picture("chat-document-folded")
