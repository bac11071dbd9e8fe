"""The Emacs client with real keys in a terminal."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editors import Desk, Tmux, calling, wait_until
from tests.support.emacs import SUPPORT, start_in_terminal
from tests.support.picture import take

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}

INIT = f"""
(load "{SUPPORT}" nil t)
(require 'magent-lsp)
(setq magent-lsp-server-command test-server ring-bell-function #'ignore)
(global-magent-lsp-mode)
"""

TYPING = """
(global-set-key (kbd "<f6>") (lambda () (interactive) (setq magent-lsp-pause 600)))
(global-set-key (kbd "<f5>") (lambda () (interactive) (setq magent-lsp-pause 0.1)))
"""
"""Keys that say that somebody types from here on, and that nobody does."""

LATER = """
(defvar test-later 0)
(advice-add 'float-time :around (lambda (real &optional time)
                                  (if time (funcall real time) (+ test-later (funcall real)))))
(global-set-key (kbd "<f7>") (lambda () (interactive) (setq test-later (+ test-later 500))))
"""
"""A key with which 500 seconds pass."""

UNREAD = """
(setq magent-lsp-pause 0.1 magent-lsp--reading-time 600 minibuffer-message-timeout nil)
(advice-add 'magent-lsp--await-reading :after (lambda () (setq magent-lsp-pause 600)))
"""
"""A question comes at once, is read for minutes, and what is said of it stays until the next key."""

Start = Callable[..., Tmux]


@pytest.fixture
def start(desk: Desk, tmux: Start) -> Start:
    """Starts Emacs on the file, with more configuration if there is some."""

    def run(more: str = "") -> Tmux:
        terminal = start_in_terminal(tmux, desk, INIT + more, size="166x42")
        terminal.wait("(Python Magent", 60)
        return terminal

    return run


def prompt(terminal: Tmux, text: str) -> None:
    terminal.keys("C-c", "m", "m")
    terminal.wait("Prompt:", 60)
    terminal.type(text)
    terminal.keys("Enter")


def test_a_first_edit_with_five_keys(desk: Desk, start: Start, pictures: Path) -> None:
    desk.model.queue(calling("edit_file", path=desk.name, **RENAME), {"text": "A better name."})
    terminal = start()
    prompt(terminal, "Find a better name")
    # Nothing is typed, so the question has the keyboard; without that, C-c m p goes there.
    terminal.wait("y Allow once", 60)
    terminal.wait("+def indentation")
    terminal.wait("asks you")
    take(terminal, pictures / "emacs.png", title="Emacs")
    terminal.keys("C-c", "m", "p", "y")
    terminal.wait("A better name.")
    terminal.wait("def indentation(line: str) -> str:")
    terminal.keys("C-c", "m", "u")
    terminal.wait("taken back: indent.py")
    terminal.wait("def indent_of(line: str) -> str:")


def test_keys_that_are_meant_for_the_text_never_answer(desk: Desk, start: Start) -> None:
    desk.script({**calling("edit_file", path=desk.name, **RENAME), "first_delay": 2}, {"text": "Done."})
    terminal = start("(setq magent-lsp-pause 60)")  # the machine may pause, who types does not
    prompt(terminal, "Rename it")
    terminal.keys("M->")

    def typing(screen: str) -> bool:
        terminal.type("y!a")
        return "y Allow once" in screen

    terminal.wait(typing, 60)
    terminal.wait("y!ay!a")
    # It still waits: no key has answered.
    terminal.keys("C-c", "m", "p", "n")
    terminal.wait("stopped: rejected")
    assert "def indentation(line" not in desk.file.read_text()


def test_a_question_that_came_while_somebody_typed_has_the_keyboard_after_that(
    desk: Desk, start: Start
) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "A better name."})
    terminal = start(f"(setq magent-lsp-pause 600 magent-lsp--reading-time 0){TYPING}")
    prompt(terminal, "Rename it")
    terminal.wait("y Allow once", 60)
    terminal.keys("M-<")
    terminal.type("y")
    terminal.wait('y"""One uniform shift')
    terminal.keys("F5")
    terminal.press("y", "A better name.")


def ask_while_typing(desk: Desk, start: Start, *keys: str) -> Tmux:
    """Emacs with a text that somebody types behind these keys, before there is a question."""
    looked = desk.home / "looked"
    asks = calling("edit_file", "Wait.", path=desk.name, **RENAME)
    desk.model.queue({**asks, "hold": True}, {"text": "Done."})
    terminal = start(f"""
    (setq magent-lsp-pause 0.1 magent-lsp--reading-time 0)
    (advice-add 'magent-lsp--select-now-or-later :after
                (lambda (&rest _) (write-region "." nil "{looked}" t 'quiet)))
    (run-at-time 0 0.05 (lambda () (when (equal [?\\C-x] (this-single-command-raw-keys))
                                     (write-region "" nil "{desk.home / "prefix"}" nil 'quiet))))
    """)
    prompt(terminal, "Rename it")
    terminal.wait("Wait.", 60)
    terminal.keys("M-<", *keys)
    terminal.type("# mine")
    terminal.wait('# mine"""')
    return terminal


def wait_for_looks(desk: Desk, terminal: Tmux) -> None:
    desk.model.release()
    terminal.wait("y Allow once")
    looked = desk.home / "looked"
    terminal.wait_until(lambda: looked.exists() and looked.stat().st_size >= 5, 60, "it looks for a pause")


def test_a_question_does_not_take_the_end_of_a_key_sequence(desk: Desk, start: Start) -> None:
    terminal = ask_while_typing(desk, start)
    terminal.keys("C-x")
    terminal.wait_until((desk.home / "prefix").exists, 60, "Emacs has read the first key")
    wait_for_looks(desk, terminal)
    terminal.keys("C-s")
    terminal.wait_until(lambda: desk.file.read_text().startswith("# mine"), 60, "the file is saved")
    terminal.wait("y Allow once")


def test_a_question_takes_no_key_of_a_macro(desk: Desk, start: Start) -> None:
    terminal = ask_while_typing(desk, start, "C-x", "(")
    wait_for_looks(desk, terminal)
    terminal.type("y")
    terminal.wait('# miney"""')
    terminal.keys("C-x", ")")
    terminal.press("y", "Done.")


def test_a_question_does_not_take_the_keys_of_query_replace(desk: Desk, start: Start) -> None:
    asks = calling("edit_file", "Wait.", path=desk.name, **RENAME)
    desk.model.queue({**asks, "hold": True}, {"text": "Done."})
    terminal = start("(setq magent-lsp-pause 0.1)")
    prompt(terminal, "Rename it")
    terminal.wait("Wait.", 60)
    terminal.keys("M-<", "M-%")
    terminal.wait("Query replace")
    terminal.type("BLANKS")
    terminal.keys("Enter")
    terminal.wait("with:")
    terminal.type("SPACES")
    terminal.keys("Enter")
    terminal.wait("Query replacing")
    desk.model.release()
    terminal.wait("y Allow once")
    terminal.type("!any")
    terminal.wait("any")
    terminal.keys("C-c", "m", "p", "n")
    terminal.wait("stopped: rejected")
    assert "def indentation(line" not in desk.file.read_text()


def test_a_row_of_questions_is_answered_key_by_key(desk: Desk, start: Start) -> None:
    one = calling("edit_file", path=desk.name, **RENAME)
    two = calling("edit_file", path="README.md", old_string="A project", new_string="The project")
    desk.model.queue({"text": "Wait.", "calls": one["calls"] + two["calls"], "hold": True}, {"text": "Done."})
    terminal = start(f"(setq magent-lsp-pause 0.1 magent-lsp--reading-time 600){TYPING}{LATER}")
    prompt(terminal, "Rename both")
    terminal.wait("Wait.", 60)
    desk.model.release()
    terminal.wait("+def indentation")
    # From here on somebody types, but for the answers.
    terminal.keys("C-c", "m", "p", "F6", "y")
    terminal.wait("+# The project")
    # Who goes on with the text answers nothing, however long that takes.
    for _ in range(3):
        terminal.keys("l", "F7")
    terminal.keys("a")
    terminal.wait("just come")
    terminal.keys("C-c", "m", "p", "y")
    terminal.wait("2 of 2 edits applied")
    assert desk.file.read_text().startswith('"""')
    assert (desk.root / "README.md").read_text().startswith("# The project")


def ask_with_the_keyboard(desk: Desk, start: Start, more: str) -> Tmux:
    """Emacs where a question has come by itself and is read, and the next keys come after a long time."""
    desk.model.queue(calling("edit_file", path=desk.name, **RENAME), {"text": "Done."})
    selected = desk.home / "selected"
    terminal = start(f"""
    (setq magent-lsp-pause 0.1 magent-lsp--reading-time 400)
    (run-at-time 0 0.05 (lambda () (with-current-buffer (window-buffer)
                                     (when (derived-mode-p 'magent-lsp-approval-mode)
                                       (write-region "" nil "{selected}" nil 'quiet)))))
    {TYPING}{LATER}{more}""")
    prompt(terminal, "Rename it")
    terminal.wait("y Allow once", 60)
    terminal.wait_until(selected.exists, 60, "the question has the keyboard")
    terminal.keys("F6", "F7")
    return terminal


@pytest.mark.parametrize("word", ["my", "any", "yes", "zzy"])
def test_a_word_that_is_typed_into_a_question_answers_nothing(desk: Desk, start: Start, word: str) -> None:
    terminal = ask_with_the_keyboard(desk, start, "(setq magent-lsp--still-time 400)")
    terminal.type(word)
    terminal.wait("has just come")
    assert "y Allow once" in terminal.screen()
    terminal.keys("C-c", "m", "p", "n")
    terminal.wait("stopped: rejected")
    assert "def indentation(line" not in desk.file.read_text()


def test_a_question_that_was_read_takes_one_key(desk: Desk, start: Start) -> None:
    terminal = ask_with_the_keyboard(desk, start, "")
    terminal.keys("y")
    terminal.wait("Done.")
    assert "def indentation(line" in desk.file.read_text()


def test_a_question_takes_no_line_that_was_typed_as_it_came(desk: Desk, start: Start) -> None:
    asks = {**calling("ask_user", "Wait.", question="Which way?"), "hold": True}
    desk.model.queue(asks, {"text": "I see."})
    terminal = start(UNREAD)
    prompt(terminal, "Ask me")
    terminal.wait("Wait.", 60)
    desk.model.release()
    terminal.wait("Which way?:")
    terminal.type("x = 1")
    terminal.keys("Enter")
    terminal.wait("has just come")
    assert "Which way?: x" not in terminal.screen()
    assert len(desk.model.requests()) == 1


@pytest.mark.covers("cancel")
def test_cancel_with_c_g_in_the_conversation(desk: Desk, start: Start) -> None:
    desk.script({"text": ["Slow"], "first_delay": 600})
    terminal = start()
    prompt(terminal, "Take your time")
    terminal.wait(lambda screen: "C-g cancels" in screen and "All L1" not in screen, 60)
    terminal.keys("C-x", "o", "M-<")
    terminal.wait("All L1")  # a C-g that comes before a key is done ends that and throws away what follows
    terminal.press("C-g", "stopped: cancelled")
    terminal.wait("m: prompt")


def test_slash_commands_are_completed(desk: Desk, start: Start) -> None:
    desk.script({"text": "Looks well."})
    terminal = start()
    terminal.keys("C-c", "m", "m")
    terminal.wait("Prompt:", 60)
    terminal.type("/rev")
    terminal.keys("Tab")
    terminal.wait("Prompt: /review")
    terminal.keys("Enter")
    terminal.wait("Looks well.", 60)


def test_c_g_ends_allowed_lisp_that_does_not_end(desk: Desk, start: Start) -> None:
    begun = desk.home / "begun"
    code = f'(progn (write-region "" nil "{begun}") (while t))'
    desk.model.queue(calling("editor_eval", code=code), {"text": "Too long."})
    terminal = start()
    prompt(terminal, "Wait for ever")
    terminal.wait("y Allow once", 60)
    terminal.keys("C-c", "m", "p", "y")
    wait_until(begun.exists, 60, "the code runs")
    terminal.keys("C-g")
    terminal.wait("Too long.")
    terminal.keys("C-x", "b")
    terminal.wait("Switch to buffer")
    assert "The person quit it" in json.dumps(desk.wait_requests(2)[1]["messages"][-1])


def test_a_question_waits_until_nothing_is_typed(desk: Desk, start: Start) -> None:
    desk.model.queue(
        {**calling("ask_user", "Wait.", question="Which way?"), "hold": True},
        calling("ask_user", question="Which colour?"),
        {"text": "I see."},
    )
    terminal = start(f"(setq magent-lsp-pause 0.1 magent-lsp--reading-time 0){TYPING}")
    prompt(terminal, "Ask me")
    terminal.wait("Wait.", 60)
    # Who searches is typing, however slowly.
    terminal.keys("M-<", "C-s")
    terminal.type("BLA")
    terminal.wait("I-search: BLA")
    desk.model.release()
    terminal.wait("Magent has a question for you")
    terminal.type("N")
    terminal.wait("I-search: BLAN")
    terminal.keys("Enter")
    terminal.wait("Which way?:")
    terminal.keys("F6")
    terminal.type("left")
    terminal.keys("Enter", "M->")
    terminal.wait("Magent has a question for you", 60)
    terminal.type("# still mine")
    terminal.keys("Enter")
    terminal.wait("# still mine")
    assert "Which colour?:" not in terminal.screen()
    terminal.keys("F5")
    terminal.wait("Which colour?:")
    terminal.type("blue")
    terminal.keys("Enter")
    terminal.wait("I see.")
    assert "blue" in json.dumps(desk.wait_requests(3)[2]["messages"][-1])
