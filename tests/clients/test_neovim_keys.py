"""The Neovim plugin with real keys in a terminal: what a person sees."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.neovim.terminal import start, write
from tests.support.editors import Desk, Tmux, calling, wait_until
from tests.support.picture import take

pytestmark = [pytest.mark.editor, pytest.mark.timeout(180)]

OLD = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
NEW = "    return line.removesuffix(line.lstrip(BLANKS))"


def allow(terminal: Tmux) -> None:
    """Press `y` until it counts: at first it may be one that was on its way before the question came."""

    def allowed() -> bool:
        terminal.keys("y")
        try:
            terminal.wait(lambda screen: "Magent asks" not in screen, 2)
        except AssertionError:
            return False
        return True

    wait_until(allowed, 30, "the edit is allowed")
    terminal.wait("done · 1 edit applied")


def test_a_first_edit(desk: Desk, tmux: Callable[..., Tmux], pictures: Path) -> None:
    edit = calling(
        "edit_file", "`lstrip` runs **once** then.", path=desk.name, old_string=OLD, new_string=NEW
    )
    desk.model.queue(calling("read_file", path=desk.name), edit, {"text": "It says what it takes away."})
    terminal = start(desk, tmux)
    write(terminal, "Make this easier to read")
    terminal.keys("C-s")
    # It takes the cursor by itself, as nobody types.
    terminal.wait(lambda screen: "Magent asks" in screen and "takes the cursor here" not in screen, 60)
    screen = terminal.wait("Show the whole file, before and after")
    assert "magent: waiting for you" in screen
    take(terminal, pictures / "neovim.png", title="Neovim")
    terminal.keys("d")
    terminal.wait("indent.py: after, q closes")
    take(terminal, pictures / "neovim-diff.png", title="Neovim")
    terminal.keys("q")
    terminal.wait("y  Allow once")
    terminal.keys("y")
    terminal.wait("done · 1 edit applied")
    take(terminal, pictures / "neovim-done.png", title="Neovim")
    assert NEW.strip() in terminal.screen()


def test_y_answers_the_question_of_what_one_has_just_sent(desk: Desk, tmux: Callable[..., Tmux]) -> None:
    """Who sends from insert mode must not write a `y` into the next message instead."""
    desk.script(calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW), {"text": "Clearer."})
    terminal = start(desk, tmux)
    write(terminal, "Make this easier to read")
    terminal.keys("C-s")
    terminal.wait(lambda screen: "Magent asks" in screen and "cursor" not in screen, 60)
    assert "-- INSERT --" not in terminal.screen()
    allow(terminal)
    assert NEW.strip() in terminal.screen()
    assert "Ask or tell" in terminal.screen(), "nothing is written for the next message"


def test_a_question_says_to_somebody_who_types_how_to_reach_it(desk: Desk, tmux: Callable[..., Tmux]) -> None:
    """`:Magent pending` would be typed into the text; and what is typed answers nothing."""
    desk.script(calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW), {"text": "Clearer."})
    terminal = start(desk, tmux)
    write(terminal, "Make this easier to read")
    terminal.keys("C-s", "i")
    terminal.wait(
        lambda screen: "<Esc>, and the cursor comes here" in screen and "-- INSERT --" in screen, 60
    )
    terminal.type("yes, yes")
    terminal.wait("yes, yes")
    terminal.keys("Escape")
    terminal.wait(lambda screen: "Magent asks" in screen and "cursor" not in screen, 60)
    allow(terminal)
    assert "yes, yes" in terminal.screen()
