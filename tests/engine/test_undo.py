"""A run can be taken back, and nothing that a person wrote since is lost by it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.core.document import Document, split_lines
from magent_lsp.core.edits import (
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    RenameFile,
    Replacement,
    TextEdits,
    apply_replacements,
)
from magent_lsp.core.errors import ToolError
from magent_lsp.core.messages import UserMessage
from magent_lsp.core.session import Session
from magent_lsp.engine.merge import merge, text_edit
from magent_lsp.engine.undo import Undo
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.blobs import BlobStore
from magent_lsp.store.sessions import SessionStore

ROOT = Path("/ws")


class Buffers(DiskEditor):
    """An editor whose files are in memory; it refuses what a real one would refuse."""

    def __init__(self, **texts: str) -> None:
        super().__init__()
        self.texts = {ROOT / name: text for name, text in texts.items()}
        self.refused: set[Path] = set()
        self.typed: dict[Path, str] = {}
        """Texts that a person types just before the next edit of the file arrives."""

    async def read(self, path: Path) -> Document:
        if path not in self.texts:
            raise ToolError(f"There is no {path}.")
        return Document(path=path, text=self.texts[path], origin="buffer")

    async def apply(self, edit: FileEdit, label: str) -> EditOutcome:
        if edit.path in self.typed:
            self.texts[edit.path] = self.typed.pop(edit.path)
        if edit.path in self.refused:
            return EditOutcome(path=edit.path, outcome="rejected", detail="The editor refused.")
        match edit:
            case TextEdits():
                if self.texts.get(edit.path) != edit.before:
                    return EditOutcome(path=edit.path, outcome="stale")
                self.texts[edit.path] = apply_replacements(edit.before, edit.replacements)
                assert self.texts[edit.path] == edit.after
            case CreateFile():
                if edit.path in self.texts:
                    return EditOutcome(path=edit.path, outcome="rejected", detail="It exists.")
                self.texts[edit.path] = edit.text
            case DeleteFile():
                if self.texts.get(edit.path) != edit.before:
                    return EditOutcome(path=edit.path, outcome="stale")
                del self.texts[edit.path]
            case RenameFile():
                if edit.target in self.texts or edit.path not in self.texts:
                    return EditOutcome(path=edit.path, outcome="rejected", detail="It exists.")
                self.texts[edit.target] = self.texts.pop(edit.path)
        return EditOutcome(path=edit.path, outcome="applied")


class Agent:
    """Edits files and remembers it, as the executor does."""

    def __init__(self, state: Path, editor: Buffers) -> None:
        self.sessions = SessionStore(state)
        self.session: Session = self.sessions.create(ROOT, "build")
        self.session.append(UserMessage(id="u", text="go"))
        self.state = state
        self.editor = editor
        self.undo = Undo(BlobStore(state), self.sessions)

    async def make(self, edit: FileEdit, run: str = "r") -> None:
        await self.undo.keep(self.session, run, edit)
        outcome = await self.editor.apply(edit, "edit")
        assert outcome.outcome == "applied", outcome

    async def change(self, name: str, after: str, run: str = "r") -> None:
        before = self.editor.texts[ROOT / name]
        whole = Replacement(0, len(before), after)
        await self.make(TextEdits(path=ROOT / name, replacements=(whole,), before=before, after=after), run)

    async def restart(self) -> None:
        """The server ends and another begins."""
        self.sessions.close_all()
        self.sessions = SessionStore(self.state)
        self.undo = Undo(BlobStore(self.state), self.sessions)


@pytest.fixture
def editor() -> Buffers:
    return Buffers(a="one\ntwo\nthree\nfour\nfive\n", b="b\n")


@pytest.fixture
async def agent(tmp_path: Path, editor: Buffers) -> AsyncIterator[Agent]:
    agent = Agent(tmp_path / "state", editor)
    yield agent
    agent.sessions.close_all()


@pytest.mark.parametrize("restart", [False, True])
async def test_a_run_is_taken_back_and_brought_back(agent: Agent, editor: Buffers, restart: bool) -> None:
    before = dict(editor.texts)
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    await agent.change("b", "B\n")
    await agent.make(CreateFile(path=ROOT / "new", text="fresh"))
    after = dict(editor.texts)
    for _ in range(2):
        if restart:
            await agent.restart()
        report = await agent.undo.undo("r", editor)
        assert set(report.restored) == {ROOT / "a", ROOT / "b", ROOT / "new"}
        assert report.conflicts == ()
        assert editor.texts == before
        if restart:
            await agent.restart()
        report = await agent.undo.redo("r", editor)
        assert set(report.restored) == {ROOT / "a", ROOT / "b", ROOT / "new"}
        assert editor.texts == after


async def test_only_the_named_run_is_taken_back(agent: Agent, editor: Buffers) -> None:
    await agent.change("a", "1\ntwo\nthree\nfour\nfive\n", "first")
    await agent.change("a", "1\ntwo\nthree\nfour\n5\n", "second")
    report = await agent.undo.undo("first", editor)
    assert editor.texts[ROOT / "a"] == "one\ntwo\nthree\nfour\n5\n"
    assert report.restored == (ROOT / "a",)


async def test_what_the_person_wrote_since_stays(agent: Agent, editor: Buffers) -> None:
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    editor.texts[ROOT / "a"] = "zero\none\nTWO\nthree\nfour\nfive, mine\n"
    await agent.undo.undo("r", editor)
    assert editor.texts[ROOT / "a"] == "zero\none\ntwo\nthree\nfour\nfive, mine\n"
    await agent.undo.redo("r", editor)
    assert editor.texts[ROOT / "a"] == "zero\none\nTWO\nthree\nfour\nfive, mine\n"


async def test_the_line_break_that_an_editor_puts_at_the_end_is_no_change_of_a_person(
    agent: Agent, editor: Buffers
) -> None:
    before = dict(editor.texts)
    await agent.change("a", "one\ntwo\nthree\nfour\nFIVE")
    await agent.change("b", "B")
    await agent.make(CreateFile(path=ROOT / "new", text="fresh"))
    editor.texts |= {ROOT / "a": "zero\none\ntwo\nthree\nfour\nFIVE\n", ROOT / "new": "fresh\n"}
    editor.texts[ROOT / "b"] = "B\n"
    report = await agent.undo.undo("r", editor)
    assert report.conflicts == ()
    assert editor.texts == {**before, ROOT / "a": "zero\none\ntwo\nthree\nfour\nfive\n"}


async def test_a_blank_line_that_a_person_puts_at_the_end_stays(agent: Agent, editor: Buffers) -> None:
    await agent.change("b", "B\n")
    editor.texts[ROOT / "b"] = "B\n\n"
    report = await agent.undo.undo("r", editor)
    assert editor.texts[ROOT / "b"] == "B\n\n"
    assert report.conflicts == (ROOT / "b",)


async def test_what_the_person_wrote_between_two_edits_stays(agent: Agent, editor: Buffers) -> None:
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    editor.texts[ROOT / "a"] = "one\nTWO\nthree\nfour\nmine\n"
    await agent.change("a", "1\nTWO\nthree\nfour\nmine\n")
    report = await agent.undo.undo("r", editor)
    assert editor.texts[ROOT / "a"] == "one\ntwo\nthree\nfour\nmine\n"
    assert report.restored == (ROOT / "a",), "several edits of one file are one change"


async def test_a_conflict_leaves_that_file_alone_and_names_it(agent: Agent, editor: Buffers) -> None:
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    await agent.change("b", "B\n")
    editor.texts[ROOT / "a"] = "one\nTWO, but mine\nthree\nfour\nfive\n"
    report = await agent.undo.undo("r", editor)
    assert editor.texts == {ROOT / "a": "one\nTWO, but mine\nthree\nfour\nfive\n", ROOT / "b": "b\n"}
    assert (report.restored, report.conflicts) == ((ROOT / "b",), (ROOT / "a",))
    assert report.reasons == ("'a' was left alone: the same lines were changed since.",)
    # once the person has made room, the same undo takes the rest back
    editor.texts[ROOT / "a"] = "one\nTWO\nthree\nfour\nfive\n"
    report = await agent.undo.undo("r", editor)
    assert (report.restored, report.conflicts) == ((ROOT / "a",), ())
    assert editor.texts[ROOT / "a"] == "one\ntwo\nthree\nfour\nfive\n"
    assert set((await agent.undo.redo("r", editor)).restored) == {ROOT / "a", ROOT / "b"}


async def test_a_created_file_is_removed_only_if_unchanged(agent: Agent, editor: Buffers) -> None:
    await agent.make(CreateFile(path=ROOT / "x", text="x"))
    await agent.make(CreateFile(path=ROOT / "y", text="y"))
    editor.texts[ROOT / "y"] = "y, mine"
    report = await agent.undo.undo("r", editor)
    assert ROOT / "x" not in editor.texts
    assert editor.texts[ROOT / "y"] == "y, mine"
    assert report.conflicts == (ROOT / "y",)
    assert "changed since it was created" in report.reasons[0]


async def test_a_file_created_and_edited_in_one_run_goes_away(agent: Agent, editor: Buffers) -> None:
    await agent.make(CreateFile(path=ROOT / "x", text="1\n"))
    await agent.change("x", "2\n")
    await agent.undo.undo("r", editor)
    assert ROOT / "x" not in editor.texts
    await agent.undo.redo("r", editor)
    assert editor.texts[ROOT / "x"] == "2\n"


async def test_a_deleted_file_comes_back_unless_there_is_another(agent: Agent, editor: Buffers) -> None:
    before = dict(editor.texts)
    for path, text in before.items():
        await agent.make(DeleteFile(path=path, before=text))
    editor.texts[ROOT / "b"] = "mine"
    report = await agent.undo.undo("r", editor)
    assert editor.texts == {ROOT / "a": before[ROOT / "a"], ROOT / "b": "mine"}
    assert report.conflicts == (ROOT / "b",)


async def test_moved_files_move_back_with_what_was_written_since(agent: Agent, editor: Buffers) -> None:
    before = dict(editor.texts)
    await agent.make(RenameFile(path=ROOT / "b", target=ROOT / "c", before="b\n"))
    await agent.change("c", "b\nmore\n")
    await agent.make(CreateFile(path=ROOT / "b", text="another\n"))
    after = dict(editor.texts)
    assert (await agent.undo.undo("r", editor)).conflicts == ()
    assert editor.texts == before
    assert (await agent.undo.redo("r", editor)).conflicts == ()
    assert editor.texts == after


async def test_a_moved_file_whose_old_place_is_taken_stays(agent: Agent, editor: Buffers) -> None:
    await agent.make(RenameFile(path=ROOT / "b", target=ROOT / "c", before="b\n"))
    editor.texts[ROOT / "b"] = "mine"
    report = await agent.undo.undo("r", editor)
    assert editor.texts[ROOT / "b"] == "mine"
    assert editor.texts[ROOT / "c"] == "b\n"
    assert set(report.conflicts) == {ROOT / "b", ROOT / "c"}


async def test_an_edit_that_is_refused_is_a_conflict_and_can_be_tried_again(
    agent: Agent, editor: Buffers
) -> None:
    await agent.change("b", "B\n")
    editor.refused = {ROOT / "b"}
    report = await agent.undo.undo("r", editor)
    assert (report.restored, report.conflicts) == ((), (ROOT / "b",))
    assert "The editor refused." in report.reasons[0]
    editor.refused = set()
    assert (await agent.undo.undo("r", editor)).restored == (ROOT / "b",)


async def test_text_typed_while_undo_is_at_work_is_merged(agent: Agent, editor: Buffers) -> None:
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    editor.typed[ROOT / "a"] = "one\nTWO\nthree\nfour\nfive!\n"
    report = await agent.undo.undo("r", editor)
    assert editor.texts[ROOT / "a"] == "one\ntwo\nthree\nfour\nfive!\n"
    assert report.restored == (ROOT / "a",)


async def test_undo_twice_changes_nothing_more(agent: Agent, editor: Buffers) -> None:
    await agent.change("b", "B\n")
    await agent.undo.undo("r", editor)
    editor.texts[ROOT / "b"] = "B\n"  # the person liked it after all
    report = await agent.undo.undo("r", editor)
    assert (report.restored, report.conflicts) == ((), ())
    assert editor.texts[ROOT / "b"] == "B\n"
    assert (await agent.undo.undo("unknown", editor)).restored == ()
    assert (await agent.undo.redo("unknown", editor)).restored == ()


async def test_what_the_person_took_back_themselves_is_no_conflict(agent: Agent, editor: Buffers) -> None:
    await agent.change("b", "B\n")
    editor.texts[ROOT / "b"] = "b\n"
    await agent.make(DeleteFile(path=ROOT / "a", before=(a := editor.texts[ROOT / "a"])))
    editor.texts[ROOT / "a"] = a
    await agent.make(CreateFile(path=ROOT / "new", text="x"))
    del editor.texts[ROOT / "new"]
    before = dict(editor.texts)
    report = await agent.undo.undo("r", editor)
    assert (report.restored, report.conflicts) == ((), ())
    assert editor.texts == before


async def test_texts_that_are_no_longer_kept_leave_the_file_alone(agent: Agent, editor: Buffers) -> None:
    await agent.change("b", "B\n")
    await agent.restart()
    BlobStore(agent.state).prune(max_bytes=0)
    report = await agent.undo.undo("r", editor)
    assert report.conflicts == (ROOT / "b",)
    assert "no longer kept" in report.reasons[0]
    assert editor.texts[ROOT / "b"] == "B\n"


async def test_a_large_file_is_restored_if_unchanged_and_else_refused(agent: Agent, editor: Buffers) -> None:
    big = "".join(f"line {n}\n" for n in range(200_000))
    editor.texts[ROOT / "big"] = big
    await agent.change("big", big.replace("line 100000\n", "changed\n"))
    editor.texts[ROOT / "big"] += "mine\n"
    report = await agent.undo.undo("r", editor)
    assert "too large to be merged" in report.reasons[0]
    editor.texts[ROOT / "big"] = editor.texts[ROOT / "big"].removesuffix("mine\n")
    assert (await agent.undo.undo("r", editor)).restored == (ROOT / "big",)
    assert editor.texts[ROOT / "big"] == big


async def test_the_event_loop_is_not_held_by_large_texts(agent: Agent, editor: Buffers) -> None:
    big = "x" * 80 + "\n"
    editor.texts[ROOT / "big"] = big * 100_000
    edit = text_edit(ROOT / "big", big * 100_000, big * 100_001)
    loop = asyncio.get_running_loop()
    longest = last = 0.0

    async def tick() -> None:
        nonlocal longest, last
        last = loop.time()
        while True:
            await asyncio.sleep(0.001)
            longest, last = max(longest, loop.time() - last), loop.time()

    ticking = asyncio.create_task(tick())
    drop = await agent.undo.keep(agent.session, "r", edit)
    drop()
    ticking.cancel()
    assert longest < 0.2


async def test_an_edit_that_was_not_made_is_not_taken_back(agent: Agent, editor: Buffers) -> None:
    """A file of the person's that happens to hold what the agent would have written stays."""
    create = CreateFile(path=ROOT / "c", text="same")
    drop = await agent.undo.keep(agent.session, "r", create)
    drop()
    await agent.change("a", "one\nTWO\nthree\nfour\nfive\n")
    editor.texts[ROOT / "c"] = "same"
    for _ in range(2):
        report = await agent.undo.undo("r", editor)
        assert report.conflicts == ()
        assert editor.texts[ROOT / "c"] == "same"
        await agent.restart()


@pytest.mark.parametrize("made", [True, False])
async def test_a_crash_in_the_middle_of_an_edit_costs_nothing(
    agent: Agent, editor: Buffers, made: bool
) -> None:
    """The step is known before the edit is made: what is in the file says whether it was."""
    before = editor.texts[ROOT / "a"]
    await agent.change("a", before.replace("two", "TWO"))
    after = editor.texts[ROOT / "a"].replace("four", "FOUR")
    await agent.undo.keep(agent.session, "r", text_edit(ROOT / "a", editor.texts[ROOT / "a"], after))
    if made:
        editor.texts[ROOT / "a"] = after
    await agent.restart()
    editor.texts[ROOT / "a"] = "mine\n" + editor.texts[ROOT / "a"]
    report = await agent.undo.undo("r", editor)
    assert report.conflicts == ()
    assert editor.texts[ROOT / "a"] == "mine\n" + before


async def test_real_files_on_disk_keep_their_bytes(tmp_path: Path, agent: Agent) -> None:
    disk = DiskEditor()
    path = tmp_path / "a.txt"
    content = b"\xef\xbb\xbfone\r\ntwo\x0c\rthree\xe2\x80\xa8x\nlast"
    path.write_bytes(content)
    text = (await disk.read(path)).text
    edit = text_edit(path, text, text.replace("two", "TWO"))
    await agent.undo.keep(agent.session, "r", edit)
    assert (await disk.apply(edit, "edit")).outcome == "applied"
    create = CreateFile(path=tmp_path / "sub" / "new.txt", text="new")
    await agent.undo.keep(agent.session, "r", create)
    assert (await disk.apply(create, "edit")).outcome == "applied"
    report = await agent.undo.undo("r", disk)
    assert report.conflicts == ()
    assert path.read_bytes() == content
    assert not create.path.exists()
    await agent.undo.redo("r", disk)
    assert path.read_bytes() == content.replace(b"two", b"TWO")
    assert create.path.read_text() == "new"


# --- merging --------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "\x0c\n", "d\u2028\n", "\n", "}\n"]), max_size=12)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "end"]))


@settings(max_examples=300)
@given(TEXTS, TEXTS)
def test_with_one_side_unchanged_a_merge_is_the_other(base: str, other: str) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other
    assert merge(base, other, other) == other


@settings(max_examples=300)
@given(TEXTS, st.data())
def test_text_of_the_person_survives_an_undo_wherever_it_is(after: str, data: st.DataObject) -> None:
    """The person adds marked lines anywhere; undo either keeps every one of them or leaves the file alone."""
    before = data.draw(TEXTS)
    lines = split_lines(after)
    mine = [f"mine {n}\n" for n in range(data.draw(st.integers(1, 3)))]
    for line in mine:
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    if any(not line.endswith(("\n", "\r")) for line in lines[:-1]):
        return
    merged = merge(after, "".join(lines), before)
    if merged is not None:
        found = split_lines(merged)
        assert all(line in found for line in mine)
        rest = "".join(line for line in found if line not in mine)
        assert rest == before


@settings(max_examples=300)
@given(TEXTS, TEXTS)
def test_an_edit_gives_exactly_the_text_and_touches_whole_lines(before: str, after: str) -> None:
    edit = text_edit(ROOT / "a", before, after)
    assert apply_replacements(before, edit.replacements) == after
    borders = {0, len(before)}
    at = 0
    for line in split_lines(before):
        at += len(line)
        borders.add(at)
    assert {r.start for r in edit.replacements} | {r.end for r in edit.replacements} <= borders


@pytest.mark.parametrize("size", [3_000, 40_000])
def test_edits_of_huge_texts_are_exact_as_well(size: int) -> None:
    before = "".join(f"some words in line {n}\n" for n in range(size))
    for after in (before.replace("line 7\n", "LINE\n"), before + "x", "", "x" + before, before[:-1]):
        edit = text_edit(ROOT / "a", before, after)
        assert apply_replacements(before, edit.replacements) == after
