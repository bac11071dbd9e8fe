"""An edit on its way into a file: whenever the run is cancelled, what is said of the edit is true."""

import asyncio
import json
from pathlib import Path

import pytest

from magent_lsp.app import Magent
from magent_lsp.core.document import Document, Position, Span
from magent_lsp.core.edits import EditOutcome, FileEdit
from magent_lsp.core.messages import ToolMessage
from magent_lsp.core.request import RunRequest, Scope
from magent_lsp.store.dirs import Dirs
from tests.engine.conftest import Record
from tests.support.editor import MemoryEditor


class Stuck(MemoryEditor):
    """Makes an edit, and then answers nothing about it until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.applied = asyncio.Event()
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def apply(self, edit: FileEdit, label: str) -> EditOutcome:
        outcome = await super().apply(edit, label)
        self.applied.set()
        return outcome

    async def read(self, path: Path) -> Document:
        if self.applied.is_set():
            self.asked.set()
            await self.goes_on.wait()
        return await super().read(path)


@pytest.mark.parametrize("scoped", [False, True])
async def test_a_cancel_after_the_edit_does_not_say_that_it_was_not_done(
    workspace: Path, tmp_path: Path, scoped: bool
) -> None:
    path = workspace / "a.py"
    editor = Stuck()
    editor.open(path)
    before = editor.buffers[path].text
    arguments = {"path": "a.py", "edits": [{"old_string": "helo", "new_string": "hello"}]}
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"calls": [{"tool": "edit_file", "arguments": arguments}]}]))
    magent = Magent(
        folders=[workspace],
        editor=editor,
        sink=Record(),
        dirs=Dirs.under(tmp_path / "home"),
        environ={},
        client_settings={"permission": {"edit_file": "allow"}},
        overrides={"model": f"scripted:{script}", "titles": False},
    )
    region = Scope(kind="region", path=path, span=Span(Position(0, 0), Position(2, 0)))
    started = magent.start(RunRequest(prompt="fix it", scope=region if scoped else None))
    async with asyncio.timeout(20):
        await editor.asked.wait()
        magent.cancel(started.run_id)
        finished = await magent.wait(started.run_id)
    assert finished.stop_reason == "cancelled"
    assert editor.buffers[path].text == before.replace("helo", "hello")
    messages = magent.session(started.session_id).messages
    (result,) = (message for message in messages if isinstance(message, ToolMessage))
    assert (result.text, result.status) == ("The edit was applied and verified.", "completed")
    editor.goes_on.set()
    await magent.undo(started.run_id)
    assert editor.buffers[path].text == before
    await magent.close()
