"""Without an editor the disk is the truth, and people are asked through what the caller gives."""

import asyncio
from pathlib import Path

from magent_lsp.core.edits import CreateFile, Replacement, TextEdits
from magent_lsp.core.request import Answer, PermissionReply, PermissionRequest, Question
from magent_lsp.headless.editor import DiskEditor

REQUEST = PermissionRequest(
    request_id="1",
    run_id="r",
    session_id="s",
    tool_call_id="c",
    tool="bash",
    title="Run ls",
    reason="",
    options=(),
)


async def test_people_are_asked_through_the_given_functions() -> None:
    async def permission(request: PermissionRequest) -> PermissionReply | None:
        return PermissionReply(reply="allow_once")

    async def question(question: Question) -> Answer | None:
        return Answer(values=(question.title,))

    editor = DiskEditor(permission=permission, question=question)
    assert await editor.request_permission(REQUEST) == PermissionReply(reply="allow_once")
    assert await editor.ask(Question(title="t", message="")) == Answer(values=("t",))
    nobody = DiskEditor()
    assert await nobody.request_permission(REQUEST) is None
    assert await nobody.ask(Question(title="t", message="")) is None
    assert list(nobody.documents()) == []
    assert not nobody.can_save


async def test_a_cancelled_write_is_whole_and_the_next_one_waits_for_it(tmp_path: Path) -> None:
    """A cancel in the middle of a write must not let another write begin beside it."""
    file = tmp_path / "a"
    editor = DiskEditor()
    await editor.apply(CreateFile(path=file, text="0"), "")
    for number in range(20):
        before = (await editor.read(file)).text
        edit = TextEdits(
            path=file,
            replacements=(Replacement(0, len(before), "1" * number),),
            before=before,
            after="1" * number,
        )
        task = asyncio.create_task(editor.apply(edit, ""))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert (await editor.read(file)).text in (before, "1" * number)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
