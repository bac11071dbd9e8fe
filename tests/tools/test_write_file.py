"""`write_file` makes files, and replaces only what the model has read."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from magent_lsp.core.edits import CreateFile
from magent_lsp.core.errors import EditError, StaleError, ToolError
from magent_lsp.core.tool import Proposal
from magent_lsp.tools.read_file import TOOL as READ
from magent_lsp.tools.write_file import TOOL, Input
from tests.support.edit_context import call, change, context_at


async def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    outcome = await change(TOOL, context_at(tmp_path), path="a/b.py", content="x = 1\n")
    assert outcome.outcome == "applied"
    assert (tmp_path / "a" / "b.py").read_text() == "x = 1\n"


async def test_a_file_that_was_not_read_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("precious\n")
    context = context_at(tmp_path)
    with pytest.raises(StaleError, match="Read it first"):
        await call(TOOL, context, path="a", content="x")
    await call(READ, context, path="a")
    file.write_text("changed\n")
    with pytest.raises(StaleError, match="changed since you read it"):
        await call(TOOL, context, path="a", content="x")
    await call(READ, context, path="a")
    assert (await change(TOOL, context, path="a", content="x")).outcome == "applied"
    assert (await change(TOOL, context, path="a", content="y")).outcome == "applied", "our own write is known"


async def test_unchanged_lines_keep_their_bytes(tmp_path: Path) -> None:
    """BOM, CRLF and the lines that stay are as they were."""
    file = tmp_path / "a"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    context = context_at(tmp_path)
    await call(READ, context, path="a")
    assert (await change(TOOL, context, path="a", content="one\nTWO\nmore\nthree")).outcome == "applied"
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\r\nmore\r\nthree"


async def test_an_empty_file_needs_no_reading(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (await change(TOOL, context_at(tmp_path), path="a", content="x\n")).outcome == "applied"


async def test_the_same_text_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    context = context_at(tmp_path)
    await call(READ, context, path="a")
    with pytest.raises(EditError, match="already holds"):
        await call(TOOL, context, path="a", content="x\n")


async def test_a_placeholder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="stands for text"):
        await call(TOOL, context_at(tmp_path), path="a", content="def f():\n    # ... rest of the code\n")
    assert not list(tmp_path.iterdir())


async def test_binary_files_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0")
    (tmp_path / "b").mkdir()
    with pytest.raises(ToolError, match="binary"):
        await call(TOOL, context_at(tmp_path), path="a", content="x")
    with pytest.raises(ToolError, match="a folder"):
        await call(TOOL, context_at(tmp_path), path="b", content="x")


async def test_the_preview_of_a_new_file_is_its_text(tmp_path: Path) -> None:
    proposal = await call(TOOL, context_at(tmp_path), path="a", content="x\n")
    assert isinstance(proposal, Proposal)
    assert isinstance(proposal.edit, CreateFile)
    assert proposal.diff == "--- /dev/null\n+++ a\n@@ -0,0 +1 @@\n+x"


def test_a_call_without_content_is_an_error() -> None:
    with pytest.raises(ValidationError):
        Input.model_validate({"path": "a"})
