"""Another program's agent beside the person's own, in the real VS Code."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest

from tests.clients.vscode.window import Window
from tests.support.editors import Desk, calling
from tests.support.guest import door, guest

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

Open = Callable[..., Window]

MINE, THEIRS = "_UNITS = (8, 4, 2)", "# of another program"


async def change(desk: Desk, before: Event, after: Event, enough: Event) -> None:
    """An agent that reads, says that it is there, edits when it may, and stays."""
    await door(desk.home)
    async with guest(desk.home, cwd=desk.root, environment=desk.env) as agent:
        await agent.use("read_file", path=desk.name)
        before.set()
        edited = await agent.use(
            "edit_file", path=desk.name, old_string="import BLANKS", new_string=f"import BLANKS  {THEIRS}"
        )
        assert "applied" in edited.text
        after.set()
        await asyncio.to_thread(enough.wait, 120)


def test_the_newest_edit_is_taken_back_though_its_run_goes_on(desk: Desk, open_window: Open) -> None:
    desk.configure(serveMcp=True)
    desk.script(
        calling("edit_file", path=desk.name, old_string="_UNITS = (4, 2, 8, 3)", new_string=MINE),
        {"text": "Done."},
    )
    window = open_window()
    window.open(desk.name)
    window.run("Magent: Open the Chat")
    chat = window.chat
    chat.send("Sort them")
    chat.button("Allow once").click()
    chat.item("end", "1 edit applied").wait_for()
    before, after, enough = Event(), Event(), Event()
    with ThreadPoolExecutor(1) as pool:
        working: Future[None] = pool.submit(asyncio.run, change(desk, before, after, enough))
        try:
            assert before.wait(60)
            window.page.locator(".statusbar-item", has_text="Magent asks: claude-code").wait_for()
            window.chord("Alt+m", "y")
            assert after.wait(60)
            assert THEIRS in window.wait_text(THEIRS)
            window.run("Magent: Undo the Last Run")
            chat.item("notice", "Undone: indent.py").wait_for()
        finally:
            enough.set()
        working.result(60)
    text = window.text()
    assert THEIRS not in text
    assert MINE in text
