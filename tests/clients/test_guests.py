"""Another program's agent in a real editor: its edit lands in the buffer after the person's yes."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients.neovim.plugin import UNSAVED, answer, config, line_of
from tests.clients.neovim.vim import Vim
from tests.support.editors import Desk, calling, wait_until
from tests.support.guest import Got, door, guest

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def change(desk: Desk) -> tuple[Got, Got]:
    """What the agent reads, and what its edit comes to."""
    line = line_of(desk)
    await door(desk.home, seconds=60)  # the editor starts only now
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
    (magent-lsp-undo-run)
    (test-until (not (test-has "  # x")))
    (test-check (test-has "# not on the disk"))
    """)
    _, edited = working.result(60)
    assert "applied" in edited.text


async def look(desk: Desk, go: Path) -> Got:
    """What the agent reads once a person's run has ended; it changes nothing."""
    await asyncio.to_thread(wait_until, go.exists, 120, "the person's run has ended")
    await door(desk.home)
    async with guest(desk.home, cwd=desk.root, environment=desk.env) as agent:
        return await agent.use("read_file", path=str(desk.file))


def test_undo_in_emacs_takes_back_what_the_person_asked_for(
    desk: Desk, batch: Callable[[str], str], pool: ThreadPoolExecutor
) -> None:
    desk.configure(serveMcp=True)
    rename = calling("edit_file", path=desk.name, old_string="def indent_of(", new_string="def indentation(")
    desk.script(rename, {"text": "Renamed."})
    go = desk.home / "go"
    working: Future[Got] = pool.submit(asyncio.run, look(desk, go))
    batch(f"""
    (test-begin)
    (magent-lsp-prompt "Rename it")
    (test-press "y" (test-asks))
    (test-ended)
    (write-region "" nil "{go}")
    (test-ended)
    (test-check (test-has "claude-code: Read" (test-conversation)))
    (test-check (test-has "def indentation("))
    (magent-lsp-undo-run)
    (test-until (test-has "def indent_of("))
    """)
    assert "def indentation(" in working.result(60).text
