"""Another program's agent in a real editor: its edit lands in the buffer after the person's yes."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.clients.neovim.vim import Vim
from tests.clients.test_neovim_plugin import UNSAVED, answer, config, line_of
from tests.support.editors import Desk
from tests.support.guest import Got, door, guest

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def change(desk: Desk) -> tuple[Got, Got]:
    """What the agent reads, and what its edit comes to."""
    line = line_of(desk)
    await door(desk.home)
    async with guest(desk.home, cwd=desk.root, environment=desk.env) as agent:
        read = await agent.use("read_file", path=str(desk.file))
        edited = await agent.use("edit_file", path=desk.name, old_string=line, new_string=f"{line}  # x")
        return read, edited


def test_in_neovim(desk: Desk, pool: ThreadPoolExecutor) -> None:
    desk.configure(serveMcp=True)
    vim = Vim(desk, config(desk))
    try:
        vim.edit(desk.file)
        vim.ready()
        vim.keys(f"O{UNSAVED}<Esc>")
        vim.wait_text(UNSAVED)
        before = vim.text()
        working: Future[tuple[Got, Got]] = pool.submit(asyncio.run, change(desk))
        vim.wait("_G.approval()")
        assert "Edit src/indent.py" in vim.screen()
        assert vim.text("indent.py") == before
        answer(vim, "y")
        read, edited = working.result(60)
        assert UNSAVED in read.text
        assert "applied" in edited.text
        vim.wait("_G.ends >= 1")
        assert vim.text("indent.py") == before.replace(line_of(desk), f"{line_of(desk)}  # x")
        assert "claude-code: Read" in vim.lua("return _G.transcript()")
        vim.lua("vim.cmd(...)", "Magent undo")
        vim.wait_said("Taken back in src/indent.py")
        assert vim.text("indent.py") == before
    finally:
        vim.close()


def test_in_emacs(desk: Desk, batch: Callable[[str], str], pool: ThreadPoolExecutor) -> None:
    desk.configure(serveMcp=True)
    working: Future[tuple[Got, Got]] = pool.submit(asyncio.run, change(desk))
    batch("""
    (test-begin)
    (goto-char (point-max))
    (insert "# not on the disk\\n")
    (with-current-buffer (test-asks)
      (test-check (test-has "  # x" (current-buffer))))
    (test-check (not (test-has "  # x")))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "  # x"))
    (test-check (test-has "# not on the disk"))
    (with-current-buffer (test-conversation)
      (test-check (test-has "claude-code: Read" (current-buffer))))
    (test-check (not (string-search "  # x" (test-disk))))
    """)
    _, edited = working.result(60)
    assert "applied" in edited.text
