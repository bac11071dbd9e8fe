"""What the agent asks and proposes, in the real VS Code: it waits until it is answered, and takes no keys."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from tests.clients.vscode.window import Chat, Window
from tests.support.editors import Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

IN_THE_EDITOR = {"magentLsp.chat.open": False}
WORDS = "fix: it\n\nIt was wrong."


def card(chat: Chat, title: str) -> Locator:
    """The card of a question in the chat."""
    return chat.frame.locator(".question", has_text=title)


def started(window: Window, message: str = "Do it") -> Chat:
    """The chat, in which a run was begun."""
    window.run("Magent: Open the Chat")
    window.chat.send(message)
    return window.chat


def without_the_chat(window: Window) -> None:
    """A run was begun, and the chat never opened."""
    window.run("Magent: Prompt on Selection")
    window.answer_box("do it", "what shall be done with")


def told(desk: Desk) -> str:
    """What the model was told of its tool call."""
    return str(desk.wait_requests(2)[1]["messages"][-1]["content"])


def box(window: Window, title: str) -> Locator:
    """The box at the top that asks something."""
    return window.page.locator(".quick-input-widget", has_text=title)


def toast(window: Window, text: str) -> Locator:
    """A message."""
    return window.page.locator(".notification-toast", has_text=text)


def row(window: Window, text: str) -> Locator:
    """A row of the box at the top."""
    return window.page.locator(".quick-input-list .monaco-list-row", has_text=text)


# -- questions --------------------------------------------------------------------------------------


def test_a_question_waits_while_one_looks_something_up(desk: Desk, open_window: Open) -> None:
    desk.model.queue(calling("ask_user", question="Which name?\nIt is for the file."), {"text": "Done."})
    window = open_window()
    chat = started(window)
    asked = card(chat, "Which name?")
    asked.wait_for()
    asked.get_by_label("Your answer").fill("blanks")
    window.open(desk.name)
    window.chord("Alt+m", "o")
    box(window, "Which name?").wait_for()
    window.open(desk.name)
    box(window, "Which name?").wait_for(state="hidden")
    assert window.status.inner_text().strip() == "Magent asks: Which name?"
    assert "It is for the file." in asked.inner_text()
    window.picture("question-card")
    asked.get_by_role("button", name="Answer", exact=True).click()
    chat.item("end", "Done").wait_for()
    assert told(desk) == "The user answered: blanks"
    assert asked.count() == 0
    window.wait_ready()


def test_a_question_takes_no_keys_from_whoever_types(desk: Desk, open_window: Open) -> None:
    ask = calling("ask_user", question="Which colour?", options=["red", "green"])
    desk.model.queue({**ask, "text": ["I ", "ask."], "hold": True}, {"text": "Done."})
    window = open_window()
    chat = started(window)
    desk.wait_requests(1)
    input = chat.frame.locator("#input:focus")
    window.type("first ")
    desk.model.release()
    asked = card(chat, "Which colour?")
    asked.wait_for()
    window.type("second")
    assert input.input_value() == "first second"
    assert box(window, "Which colour?").count() == 0
    asked.get_by_role("button", name="green").click()
    chat.item("end", "Done").wait_for()
    assert told(desk) == "The user chose: green"


def test_what_is_half_written_stays_when_the_chat_is_moved(desk: Desk, open_window: Open) -> None:
    desk.model.queue(calling("ask_user", question="Which name?"), {"text": "Done."})
    window = open_window()
    chat = started(window)
    card(chat, "Which name?").get_by_label("Your answer").fill("half a n")
    chat.frame.locator("#input").fill("half a mess")
    frame = window.page.locator("iframe.webview").get_attribute("name")
    window.quick_input("F1", ">View: Move View")
    row(window, "View: Move View").click()
    row(window, "Chat").click()
    row(window, "New Panel Entry").click()
    window.page.locator(f"iframe.webview.ready:not([name='{frame}'])").wait_for()
    chat = window.chat
    wait_until(
        lambda: chat.frame.locator("#input").input_value() == "half a mess", 60, "the message is there"
    )
    field = card(chat, "Which name?").get_by_label("Your answer")
    field.press("End")
    field.press_sequentially("ame")
    window.picture("moved")
    field.press("Enter")
    chat.item("end", "Done").wait_for()
    assert told(desk) == "The user answered: half a name"


def test_several_options_are_ticked(desk: Desk, open_window: Open) -> None:
    options = ["red", "green", "blue"]
    ask = calling("ask_user", question="Which colours?", options=options, multiple=True)
    desk.model.queue(ask, {"text": "Done."})
    window = open_window()
    chat = started(window)
    asked = card(chat, "Which colours?")
    asked.get_by_label("red").check()
    asked.get_by_label("blue").check()
    asked.get_by_role("button", name="Answer", exact=True).click()
    chat.item("end", "Done").wait_for()
    assert told(desk) == "The user chose: red, blue"


def test_without_the_chat_a_question_waits_in_a_message_and_the_status_bar(
    desk: Desk, open_window: Open
) -> None:
    ask = calling("ask_user", question="Which colour?", options=["red", "green"])
    desk.model.queue(ask, {"text": "Done."})
    window = open_window(IN_THE_EDITOR)
    without_the_chat(window)
    message = toast(window, "Magent asks: Which colour?")
    message.locator(".monaco-button", has_text="Answer…").click()
    row(window, "green").wait_for()
    window.picture("question-without-chat")
    window.press("Escape")
    box(window, "Which colour?").wait_for(state="hidden")
    window.page.locator(".statusbar-item", has_text="Magent asks: Which colour?").wait_for()
    window.status.click()
    row(window, "Answer the open question").click()
    row(window, "Do not answer").click()
    assert told(desk).startswith("The user did not answer.")


def test_a_message_holds_no_link_that_the_agent_made(desk: Desk, open_window: Open) -> None:
    """VS Code runs commands by links in messages; the title comes from the model, and from what it read."""
    link = "[Which](command:workbench.action.showCommands)"
    desk.script(calling("ask_user", question=f"{link} name?\nI mean {link}."))
    window = open_window(IN_THE_EDITOR)
    without_the_chat(window)
    message = toast(window, "Magent asks:").locator(".notification-list-item-message")
    message.wait_for()
    assert "Which" in message.inner_text()
    assert message.locator("a").count() == 0
    toast(window, "Magent asks:").locator(".monaco-button", has_text="Answer…").click()
    asked = box(window, "I mean")
    asked.wait_for()
    assert asked.locator("a", has_text="Which").count() == 0


def test_a_question_ends_with_its_run(desk: Desk, open_window: Open) -> None:
    desk.script(calling("ask_user", question="Which name?"), {"text": "Never."})
    window = open_window()
    chat = started(window)
    card(chat, "Which name?").wait_for()
    window.chord("Alt+m", "o")
    box(window, "Which name?").wait_for()
    chat.button("Stop").click()
    chat.item("end", "Cancelled").wait_for()
    card(chat, "Which name?").wait_for(state="detached")
    box(window, "Which name?").wait_for(state="hidden")
    window.wait_ready()


def test_a_question_ends_with_its_server(desk: Desk, open_window: Open) -> None:
    desk.script(calling("ask_user", question="Which name?"), {"text": "Never."})
    window = open_window()
    chat = started(window)
    card(chat, "Which name?").wait_for()
    window.run("Magent: Restart Server")
    card(chat, "Which name?").wait_for(state="detached")
    window.wait_ready()


# -- proposals --------------------------------------------------------------------------------------


def proposal(window: Window) -> Locator:
    """The tab of the proposed text, which is seen beside what one was at."""
    tab = window.page.locator(".tab[data-resource-name^='Untitled']")
    tab.wait_for()
    return tab


def write(window: Window, text: str) -> None:
    """Write at the end of the proposed text."""
    window.page.locator(".view-line", has_text="It was wrong.").first.click()
    window.press("Control+End")
    window.type(text)
    window.page.locator(".view-line", has_text=text).first.wait_for()


@pytest.mark.parametrize("changed", [False, True], ids=["as it is", "changed"])
def test_a_proposed_text_is_read_changed_and_accepted(desk: Desk, open_window: Open, changed: bool) -> None:
    desk.model.queue(calling("propose", title="Commit message", content=WORDS), {"text": "Done."})
    window = open_window()
    window.open(desk.name)
    chat = started(window)
    card(chat, "Commit message").wait_for()
    tab = proposal(window)
    window.page.locator(".view-line", has_text="It was wrong.").first.wait_for()
    assert window.tab("indent.py").is_visible()
    assert chat.frame.locator("#input:focus").count() == 1
    if changed:
        write(window, " Not now.")
    window.picture(f"proposal-{changed}")
    if changed:
        card(chat, "Commit message").get_by_role("button", name="Accept").click()
    else:
        window.chord("Alt+m", "y")
    chat.item("end", "Done").wait_for()
    if changed:
        assert told(desk).endswith(f"counts from now on:\n{WORDS} Not now.")
    else:
        assert told(desk) == "Accepted as it is."
    tab.wait_for(state="detached")


def test_a_proposed_text_is_answered_in_its_own_title_bar(desk: Desk, open_window: Open) -> None:
    desk.model.queue(calling("propose", title="Commit message", content=WORDS), {"text": "Done."})
    window = open_window(IN_THE_EDITOR)
    window.open(desk.name)
    without_the_chat(window)
    toast(window, "Magent proposes a text: Commit message").wait_for()
    proposal(window)
    write(window, " Mine.")
    window.picture("proposal-without-chat")
    window.page.get_by_role("button", name="Reject", exact=True).first.click()
    assert told(desk).startswith("Rejected.")
    # It holds words of the person's that nobody else has.
    assert proposal(window).is_visible()


def test_a_proposed_text_stays_when_nobody_waits_for_it(desk: Desk, open_window: Open) -> None:
    desk.script(calling("propose", title="Commit message", content=WORDS), {"text": "Never."})
    window = open_window()
    chat = started(window)
    card(chat, "Commit message").wait_for()
    proposal(window)
    chat.button("Stop").click()
    chat.item("end", "Cancelled").wait_for()
    card(chat, "Commit message").wait_for(state="detached")
    toast(window, "nobody waits for “Commit message” any more").wait_for()
    assert proposal(window).is_visible()
