"""`:Magent undo` beside another program's agent, whose run goes on for a while after its last call."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.clients.neovim.plugin import answer, config, line_of, magent
from tests.clients.neovim.vim import Vim
from tests.support.editors import Desk, calling, wait_until
from tests.support.guest import door, guest

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

OURS = """vim.iter(require('magent_lsp.runs').all):any(function(_, run)
  return run.prompt == 'Mark it' and run.finished
end)"""
"""Whether the person's own run has ended."""


class Visitor:
    """An agent of another program that does the next thing when it is told to."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._go = threading.Semaphore(0)
        self.done = 0
        """How many of its steps are done: it reads, edits, reads."""

    def go(self) -> None:
        self._go.release()

    async def visit(self) -> None:
        desk, line = self._desk, line_of(self._desk)
        await door(desk.home)
        async with guest(desk.home, cwd=desk.root, environment=desk.env) as agent:
            for tool, more in (
                ("read_file", {}),
                ("edit_file", {"old_string": line, "new_string": f"{line}  # x"}),
                ("read_file", {}),
            ):
                assert await asyncio.to_thread(self._go.acquire, timeout=120)
                assert not (await agent.use(tool, path=desk.name, **more)).failed
                self.done += 1
            assert await asyncio.to_thread(self._go.acquire, timeout=120)


def test_undo_takes_back_the_edit_that_came_last(desk: Desk) -> None:
    """A guest's, though its run has not ended; but one that only reads has done nothing to take back."""
    desk.configure(serveMcp=True)
    visitor = Visitor(desk)
    last = [line for line in desk.file.read_text().splitlines() if line.startswith("def ")][-1]
    with ThreadPoolExecutor(1) as pool:
        vim = Vim(desk, config(desk))
        try:
            vim.edit(desk.file)
            vim.ready()
            before = vim.text()
            visiting = pool.submit(asyncio.run, visitor.visit())
            visitor.go()
            wait_until(lambda: visitor.done == 1 or visiting.done(), 60, "it reads")
            edit = calling("edit_file", path=desk.name, old_string=last, new_string=f"{last}  # ours")
            desk.model.queue(edit, {"text": "Done."})
            magent(vim, "prompt Mark it")
            answer(vim, "y")
            vim.wait(OURS)
            ours = before.replace(last, f"{last}  # ours")
            assert vim.text("indent.py") == ours
            visitor.go()
            answer(vim, "y")
            wait_until(lambda: visitor.done == 2 or visiting.done(), 60, "it edits")
            assert "  # x" in vim.text("indent.py")
            magent(vim, "undo")
            vim.wait_said("Taken back in src/indent.py")
            assert vim.text("indent.py") == ours
            visitor.go()
            wait_until(lambda: visitor.done == 3 or visiting.done(), 60, "it reads again")
            vim.lua("_G.said = {}")
            magent(vim, "undo")
            vim.wait_said("Taken back in src/indent.py")
            assert vim.text("indent.py") == before
            visitor.go()
            visiting.result(60)
        finally:
            vim.close()
            for _ in range(4):
                visitor.go()
