"""`edit_file` over real files: all edits of a call land, or nothing changes and the model learns why."""

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from magent_lsp.core.edits import CreateFile, TextEdits
from magent_lsp.core.errors import EditError, MissingError, ToolError
from magent_lsp.core.tool import Proposal, ToolContext
from magent_lsp.tools.edit_file import TOOL, Input
from magent_lsp.tools.read_file import TOOL as READ
from tests.support.edit_context import call, change, context_at


async def proposal_of(context: ToolContext, **arguments: object) -> Proposal:
    """What the tool proposes."""
    proposal = await call(TOOL, context, **arguments)
    assert isinstance(proposal, Proposal)
    return proposal


async def test_edits_land_together_with_a_diff(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\n")
    context = context_at(tmp_path)
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3"}]
    proposal = await proposal_of(context, path="a.py", edits=edits)
    assert proposal.diff is not None
    assert "-one\n+1\n two\n-three\n+3" in proposal.diff
    assert isinstance(proposal.edit, TextEdits)
    assert proposal.edit.real_path == file.resolve()
    assert (await context.editor.apply(proposal.edit, "")).outcome == "applied"
    assert file.read_text() == "1\ntwo\n3\n"


async def test_two_edits_of_one_file_in_one_reply_both_land(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\n")
    context = context_at(tmp_path)
    for old, new in (("one", "1"), ("two", "2")):
        outcome = await change(TOOL, context, path="a.py", old_string=old, new_string=new)
        assert outcome.outcome == "applied"
    assert file.read_text() == "1\n2\n"


async def test_an_edit_computed_on_an_older_text_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\n")
    context = context_at(tmp_path)
    proposal = await proposal_of(context, path="a.py", old_string="one", new_string="1")
    file.write_text("one\nby somebody else\n")
    assert proposal.edit is not None
    assert (await context.editor.apply(proposal.edit, "")).outcome == "stale"
    again = await proposal_of(context, path="a.py", old_string="one", new_string="1")
    assert again.same == proposal.same, "the same text is replaced: nobody needs to be asked again"
    assert file.read_text() == "one\nby somebody else\n"


async def test_a_text_of_another_file_is_not_found_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a\n")
    (tmp_path / "b.py").write_text("only here\n")
    with pytest.raises(EditError, match=r"not in 'a\.py'"):
        await call(TOOL, context_at(tmp_path), path="a.py", old_string="only here", new_string="x")
    assert (tmp_path / "b.py").read_text() == "only here\n"


async def test_a_failed_edit_of_a_changed_file_says_that_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\n")
    context = context_at(tmp_path)
    await call(READ, context, path="a.py")
    file.write_text("1\n")
    with pytest.raises(EditError, match="changed since you read it"):
        await call(TOOL, context, path="a.py", old_string="one", new_string="2")


async def test_an_empty_old_string_makes_a_file_or_fails(tmp_path: Path) -> None:
    context = context_at(tmp_path)
    proposal = await proposal_of(context, path="new/a.py", old_string="", new_string="x = 1\n")
    assert isinstance(proposal.edit, CreateFile)
    assert (await context.editor.apply(proposal.edit, "")).outcome == "applied"
    with pytest.raises(EditError, match="exists"):
        await call(TOOL, context, path="new/a.py", old_string="", new_string="y")
    (tmp_path / "empty").touch()
    assert (await change(TOOL, context, path="empty", old_string="", new_string="y")).outcome == "applied"


async def test_a_missing_file_is_not_made_by_an_edit(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        await call(TOOL, context_at(tmp_path), path="a.py", old_string="x", new_string="y")
    assert not list(tmp_path.iterdir())


async def test_binary_files_stay(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"caf\xe9 one\n")
    with pytest.raises(ToolError, match="encoding"):
        await call(TOOL, context_at(tmp_path), path="a", old_string="one", new_string="two")
    assert file.read_bytes() == b"caf\xe9 one\n"


async def test_a_placeholder_is_refused_unless_it_was_there(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f():\n    # ... rest of the code\n    pass\n")
    context = context_at(tmp_path)
    with pytest.raises(EditError, match="stands for text"):
        await call(
            TOOL, context, path="a.py", old_string="    pass", new_string="    # ... existing code ..."
        )
    edit = {
        "old_string": "def f():\n    # ... rest of the code",
        "new_string": "def g():\n    # ... rest of the code",
    }
    assert (await change(TOOL, context, path="a.py", edits=[edit])).outcome == "applied"


async def test_how_it_was_found_is_noted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("    a()\n    b()\n")
    edit = {"old_string": "a()\nb()", "new_string": "a()\nc()"}
    assert "indentation" in (await proposal_of(context_at(tmp_path), path="a", edits=[edit])).note


async def test_invisible_characters_are_shown_in_the_diff(tmp_path: Path) -> None:
    """What a person approves is what they see."""
    (tmp_path / "a").write_text("x\n")
    proposal = await proposal_of(context_at(tmp_path), path="a", old_string="x", new_string="x\u202e\u200by")
    assert "+x⟨U+202E⟩⟨U+200B⟩y" in (proposal.diff or "")


def test_both_forms_of_arguments_are_accepted() -> None:
    flat = Input.model_validate({"path": "a", "old_string": "x", "new_string": "y", "replace_all": True})
    listed = Input.model_validate(
        {"path": "a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": True}]}
    )
    as_text = Input.model_validate(
        {"path": "a", "edits": '{"old_string": "x", "new_string": "y", "replaceAll": true}'}
    )
    with_null = Input.model_validate({"path": "a", "edits": None, "old_string": "x", "new_string": "y"})
    assert flat == listed == as_text
    assert len(with_null.edits) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a"},
        {"path": "a", "edits": []},
        {"path": "a", "old_string": "x"},
        {"path": "a", "edits": "x"},
    ],
)
def test_incomplete_arguments_are_errors(arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Input.model_validate(arguments)


async def test_parallel_edits_of_one_file_never_lose_one(tmp_path: Path) -> None:
    """Whoever comes second is told, and nothing of the first is overwritten."""
    file = tmp_path / "a"
    file.write_text("one\ntwo\n")
    context = context_at(tmp_path)
    first = (await proposal_of(context, path="a", old_string="one", new_string="1")).edit
    second = (await proposal_of(context, path="a", old_string="two", new_string="2")).edit
    assert first is not None
    assert second is not None
    outcomes = await asyncio.gather(context.editor.apply(first, ""), context.editor.apply(second, ""))
    assert sorted(outcome.outcome for outcome in outcomes) == ["applied", "stale"]
    assert file.read_text() in ("1\ntwo\n", "one\n2\n")


async def test_a_link_that_leads_elsewhere_by_now_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x\n")
    (tmp_path / "other").write_text("x\n")
    link = tmp_path / "link"
    link.symlink_to("real")
    context = context_at(tmp_path)
    edit = (await proposal_of(context, path="link", old_string="x", new_string="y")).edit
    link.unlink()
    link.symlink_to("other")
    assert edit is not None
    assert (await context.editor.apply(edit, "")).outcome == "stale"
    assert (tmp_path / "other").read_text() == "x\n"
