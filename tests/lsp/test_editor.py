"""Edits in real buffers over a real connection: what landed is known, and nothing of the person's is lost."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.config import Client
from magent_lsp.core.document import Position, Span
from magent_lsp.core.edits import CreateFile, DeleteFile, EditOutcome, RenameFile
from magent_lsp.core.tool import Proposal
from magent_lsp.tools.edit_file import TOOL as EDIT
from tests.support.edit_context import call, context_at
from tests.support.scripted_editor import (
    FAST,
    NO_ANSWER,
    RESOURCES,
    Refusal,
    connected,
    edit_of,
)

TEXT = "one\ntwo\nthree\n"
SAVES = Client(save=True)


class Late(list[EditOutcome]):
    """Outcomes that came late, and a way to wait for the first."""

    def __init__(self) -> None:
        super().__init__()
        self._come = asyncio.Event()

    def take(self, outcome: EditOutcome) -> None:
        """Keep an outcome."""
        self.append(outcome)
        self._come.set()

    async def first(self) -> EditOutcome:
        """The first outcome, waited for with a bound."""
        async with asyncio.timeout(5):
            await self._come.wait()
        return self[0]


# -- honest clients ---------------------------------------------------------------------------------


async def test_an_edit_reaches_the_buffer_as_whole_lines_with_its_version(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT, version=3)
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "Edit a.py")
        assert (outcome.outcome, outcome.saved) == ("applied", False)
        assert client.buffers[uri].text == "one\n2\nthree\n"
        assert not (tmp_path / "a.py").exists(), "never written to the disk under a buffer"
        (change,) = client.edits[0]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 3}
        assert change["edits"] == [
            {
                "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
                "newText": "2\n",
            }
        ]


@pytest.mark.parametrize(
    "text",
    [
        "one\r\ntwo\r\nthree",
        "\ufeffone\ntwo\n",
        "a\x0cone\u2028😀 two\nthree\n",
        "one\rtwo\r",
        "two",
        "😀two😀\n",
    ],
)
async def test_right_place_whatever_the_text_is(tmp_path: Path, text: str) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", text)
        assert (await editor.read(tmp_path / "a.py")).text == text
        outcome = await editor.apply(edit_of(tmp_path / "a.py", text, "two", "2😀"), "")
        assert outcome.outcome == "applied"
        assert client.buffers[uri].text == text.replace("two", "2😀")


async def test_our_edit_and_the_next_keys_in_one_notification(tmp_path: Path) -> None:
    """Eglot bundles them; compared only after the notification, the edit would seem lost."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def bundling(params: dict[str, Any]) -> Any:
            changes = client.apply(params)
            assert changes is not None
            buffer = client.buffers[uri]
            typed = buffer.apply([{"range": buffer.range("three"), "newText": "three and more"}])
            client.after(lambda: client.changed(uri, [*changes[uri], *typed]))
            return {"applied": True}

        client.on_edit = bundling
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"
        assert client.buffers[uri].text == "one\n2\nthree and more\n"
        assert (await editor.read(tmp_path / "a.py")).text == "one\n2\nthree and more\n"


async def test_many_changes_for_one_edit(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "ab\n")

        async def piecemeal(params: dict[str, Any]) -> Any:
            place = {"line": 0, "character": 0}
            buffer = client.buffers[uri]
            for character in "zyx":
                client.changed(
                    uri, buffer.apply([{"range": {"start": place, "end": place}, "newText": character}])
                )
            return {"applied": True}

        client.on_edit = piecemeal
        assert (
            await editor.apply(edit_of(tmp_path / "a.py", "ab\n", "ab", "xyzab"), "")
        ).outcome == "applied"


async def test_a_client_that_applies_and_never_answers(tmp_path: Path) -> None:
    """ALE does: the change itself is the answer."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def mute(params: dict[str, Any]) -> Any:
            await client.honest(params)
            return NO_ANSWER

        client.on_edit = mute
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"
        assert client.buffers[uri].text == "one\n2\nthree\n"


# -- clients that do not take it ----------------------------------------------------------------------


async def test_a_refused_edit_is_tried_once_more_and_changes_nothing(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        client.on_edit = client.refusing
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "rejected"
        assert len(client.edits) == 2
        assert client.buffers[uri].text == TEXT


async def test_a_client_that_was_only_busy_takes_the_second_try(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)

        async def busy(params: dict[str, Any]) -> Any:
            client.on_edit = client.honest
            return {"applied": False, "failureReason": "busy"}

        client.on_edit = busy
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"


async def test_a_person_who_said_no_is_not_asked_again(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)

        async def declined(params: dict[str, Any]) -> Any:
            raise Refusal("User cancelled server edit")

        client.on_edit = declined
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "rejected"
        assert "User cancelled" in outcome.detail
        assert len(client.edits) == 1


async def test_keys_typed_while_the_edit_travels_make_it_stale(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def typing(params: dict[str, Any]) -> Any:
            client.replace(uri, "three", "three typed")
            return await client.honest(params)

        client.on_edit = typing
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert client.buffers[uri].text == "one\ntwo\nthree typed\n"


async def test_eglot_says_by_an_error_that_it_is_ahead(tmp_path: Path) -> None:
    """The edit is stale, and by then we know the newer text, so that a retry can hit it."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def ahead(params: dict[str, Any]) -> Any:
            client.after(lambda: client.replace(uri, "one", "typed one"))
            raise Refusal("Edits on 'a.py' require version -1, you have 0")

        client.on_edit = ahead
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert (await editor.read(tmp_path / "a.py")).text == "typed one\ntwo\nthree\n"


async def test_an_older_text_is_never_sent(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        await client.type(uri, "two", "zwei")
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert "line 2" in outcome.detail
        assert client.edits == []


async def test_a_client_that_lies_is_not_believed(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        client.on_edit = client.lying
        first = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert first.outcome == "unknown"
        second = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "one", "1"), "")
        assert second.outcome == "rejected"
        assert "not confirmed" in second.detail
        assert len(client.edits) == 1
        await client.type(uri, "three", "3")
        client.on_edit = client.honest
        now = client.buffers[uri].text
        third = await editor.apply(edit_of(tmp_path / "a.py", now, "one", "1"), "")
        assert third.outcome == "applied", "a change after the answer shows what the buffer holds"


async def test_another_text_than_expected_is_diverged(tmp_path: Path) -> None:
    """Neovim drops a late edit and says `applied: true`; a formatter changes what it applied."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def other(params: dict[str, Any]) -> Any:
            client.after(lambda: client.replace(uri, "two", "something else"))
            return {"applied": True}

        client.on_edit = other
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "diverged"


# -- late, silent and dying clients ---------------------------------------------------------------------


@pytest.mark.parametrize("answers", [True, False])
async def test_a_late_change_makes_unknown_into_applied(tmp_path: Path, answers: bool) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)
        client.on_edit = client.lying if answers else client.silent
        path = tmp_path / "a.py"
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "unknown"
        waiting = asyncio.create_task(editor.apply(edit_of(path, "one\n2\nthree\n", "one", "1"), ""))
        changes = client.apply({"edit": client.edits[0]})
        assert changes is not None
        client.on_edit = client.honest
        client.changed(uri, changes[uri])
        first = await late.first()
        assert (first.path, first.outcome) == (path, "applied")
        # It was computed on the text after the first edit, which only then was there.
        assert (await waiting).outcome in ("applied", "stale")
        now = (await editor.read(path)).text
        assert (await editor.apply(edit_of(path, now, "three", "3"), "")).outcome == "applied"


async def test_a_late_refusal_lets_later_edits_go(tmp_path: Path) -> None:
    """A person who takes more than 30 seconds to say no."""
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)
        decide = asyncio.Event()

        async def hesitating(params: dict[str, Any]) -> Any:
            await decide.wait()
            return {"applied": False}

        client.on_edit = hesitating
        path = tmp_path / "a.py"
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "unknown"
        decide.set()
        assert (await late.first()).outcome == "rejected"
        client.on_edit = client.honest
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "applied"


async def test_a_client_that_dies_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py")

        async def dying(params: dict[str, Any]) -> Any:
            client.hang_up()
            return NO_ANSWER

        client.on_edit = dying
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "unknown"
        assert (tmp_path / "a.py").read_text() == TEXT


async def test_a_document_that_is_closed_meanwhile_is_unknown(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def closing(params: dict[str, Any]) -> Any:
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            return NO_ANSWER

        client.on_edit = closing
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "unknown"


async def test_a_cancelled_run_leaves_no_trace_when_the_answer_comes_late(tmp_path: Path) -> None:
    """Pygls pops up 'Error in server' for a late answer to a cancelled request."""
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)
        answer = asyncio.Event()

        async def slow(params: dict[str, Any]) -> Any:
            await answer.wait()
            return await client.honest(params)

        client.on_edit = slow
        path = tmp_path / "a.py"
        run = asyncio.create_task(editor.apply(edit_of(path, TEXT, "two", "2"), ""))
        await client.asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        late = Late()
        editor.on_late(late.take)
        answer.set()
        assert (await late.first()).outcome == "applied"
        gc.collect()
        assert client.notifications == []
        client.on_edit = client.honest
        now = (await editor.read(path)).text
        assert now == "one\n2\nthree\n"
        assert (await editor.apply(edit_of(path, now, "one", "1"), "")).outcome == "applied"


async def test_edits_of_one_file_go_one_after_the_other(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        path = tmp_path / "a.py"
        texts = [TEXT]
        for number in range(10):
            texts.append(texts[-1].replace("one", f"one {number}", 1))
        edits = [
            edit_of(path, texts[n], texts[n].split("\n")[0], texts[n + 1].split("\n")[0]) for n in range(10)
        ]
        outcomes = await asyncio.gather(*(editor.apply(edit, "") for edit in edits))
        assert [outcome.outcome for outcome in outcomes] == ["applied"] * 10
        assert client.buffers[uri].text == texts[-1]


# -- saving -------------------------------------------------------------------------------------------


async def test_a_buffer_without_unsaved_work_is_saved_and_others_are_left_dirty(tmp_path: Path) -> None:
    async with connected(tmp_path, client=SAVES) as (editor, client):
        client.on["magent/save"] = client.saving
        await client.open("clean.py", on_disk=TEXT)
        dirty = await client.open("dirty.py", "typed\n" + TEXT, on_disk=TEXT)
        clean = await editor.apply(edit_of(tmp_path / "clean.py", TEXT, "two", "2"), "")
        assert (clean.outcome, clean.saved) == ("applied", True)
        assert (tmp_path / "clean.py").read_text() == "one\n2\nthree\n"
        outcome = await editor.apply(edit_of(tmp_path / "dirty.py", "typed\n" + TEXT, "two", "2"), "")
        assert (outcome.outcome, outcome.saved) == ("applied", False)
        assert (tmp_path / "dirty.py").read_text() == TEXT
        assert await editor.save([tmp_path / "dirty.py", tmp_path / "clean.py"]) == []
        assert (tmp_path / "dirty.py").read_text() == "typed\none\n2\nthree\n", "both texts are there"
        await client.type(dirty, "typed", "more")
        assert [document.path.name for document in editor.documents() if document.unsaved] == ["dirty.py"]


async def test_a_save_that_does_not_happen_is_not_believed(tmp_path: Path) -> None:
    async with connected(tmp_path, client=SAVES) as (editor, client):

        async def lie(params: dict[str, Any]) -> Any:
            return {"saved": params["uris"]}

        client.on["magent/save"] = lie
        await client.open("a.py", "typed", on_disk="old")
        assert await editor.save([tmp_path / "a.py"]) == [tmp_path / "a.py"]


async def test_without_a_shim_nothing_is_asked_to_save(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", "typed", on_disk="old")
        assert not editor.can_save
        assert await editor.save([tmp_path / "a.py"]) == [tmp_path / "a.py"]
        assert client.requests == []


# -- closed files, new files, other names -----------------------------------------------------------------


@pytest.mark.parametrize(("client_can", "choice", "lane"), [
    (Client(), "auto", "disk"),
    (SAVES, "auto", "editor"),
    (SAVES, "disk", "disk"),
    (Client(), "editor", "editor"),
])  # fmt: skip
async def test_closed_files_take_the_lane_that_works(
    tmp_path: Path, client_can: Client, choice: str, lane: str
) -> None:
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    async with connected(tmp_path, client=client_can, closed_files=choice) as (editor, client):
        client.on["magent/save"] = client.saving
        outcome = await editor.apply(edit_of(file, TEXT, "two", "2"), "")
        assert ("workspace/applyEdit" in client.methods()) == (lane == "editor")
        if client_can.save or lane == "disk":
            assert (outcome.outcome, outcome.saved) == ("applied", True)
            assert file.read_text() == "one\n2\nthree\n"
        else:
            assert outcome.outcome == "unknown", "a hidden buffer of which the client tells nothing"
            assert file.read_text() == TEXT


async def test_a_client_that_opens_the_file_for_the_edit_tells_by_that(tmp_path: Path) -> None:
    """VS Code opens a dirty document."""
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    async with connected(tmp_path, closed_files="editor") as (editor, client):

        async def opening(params: dict[str, Any]) -> Any:
            client.apply(params)
            (buffer,) = client.buffers.values()
            item = {"uri": buffer.uri, "languageId": "", "version": 1, "text": TEXT}
            client.notify("textDocument/didOpen", {"textDocument": item})
            client.changed(buffer.uri, [{"text": buffer.text}])
            return {"applied": True}

        client.on_edit = opening
        outcome = await editor.apply(edit_of(file, TEXT, "two", "2"), "")
        assert (outcome.outcome, outcome.saved) == ("applied", False)


@pytest.mark.parametrize("client_can", [Client(), SAVES])
async def test_new_files_are_made_whole_and_never_twice(tmp_path: Path, client_can: Client) -> None:
    async with connected(tmp_path, client=client_can, workspace=RESOURCES) as (editor, client):
        client.on["magent/save"] = client.saving
        file = tmp_path / "new.py"
        assert (await editor.apply(CreateFile(path=file, text="x = 1\n"), "")).outcome == "applied"
        assert file.read_text() == "x = 1\n"
        again = await editor.apply(CreateFile(path=file, text="y\n"), "")
        assert again.outcome == "rejected"
        assert file.read_text() == "x = 1\n"
        assert (await editor.apply(CreateFile(path=tmp_path / "empty", text=""), "")).outcome == "applied"
        assert (tmp_path / "empty").exists()
        for edit in client.edits:
            create, text = edit["documentChanges"]
            assert create["options"]["ignoreIfExists"], "or Neovim empties a file that is there"
            assert text["edits"]


async def test_a_new_file_that_is_open_already_is_written_in_its_buffer(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        empty = await client.open("new.py", "")
        await client.open("full.py", "typed")
        assert (await editor.apply(CreateFile(path=tmp_path / "new.py", text="x\n"), "")).outcome == "applied"
        assert client.buffers[empty].text == "x\n"
        outcome = await editor.apply(CreateFile(path=tmp_path / "full.py", text="x\n"), "")
        assert outcome.outcome == "rejected"


@pytest.mark.parametrize("kind", ["link", "folder link", "hard link"])
async def test_a_buffer_is_found_under_every_name_of_its_file(tmp_path: Path, kind: str) -> None:
    """Else the disk would be written under the buffer."""
    (tmp_path / "real").mkdir()
    file = tmp_path / "real" / "a.py"
    file.write_text(TEXT)
    other = tmp_path / "other.py"
    if kind == "link":
        other.symlink_to(file)
    elif kind == "hard link":
        other.hardlink_to(file)
    else:
        (tmp_path / "linked").symlink_to("real")
        other = tmp_path / "linked" / "a.py"
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("real/a.py", "typed\n" + TEXT)
        assert (await editor.read(other)).text == "typed\n" + TEXT
        outcome = await editor.apply(edit_of(other, "typed\n" + TEXT, "two", "2"), "")
        assert outcome.outcome == "applied"
        assert client.buffers[uri].text == "typed\none\n2\nthree\n"
        assert file.read_text() == TEXT


async def test_a_path_that_leads_elsewhere_by_now_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "b").write_text("x\n")
    (tmp_path / "link").symlink_to("b")
    async with connected(tmp_path) as (editor, _):
        edit = edit_of(tmp_path / "link", "x\n", "x", "y")
        judged = type(edit)(**{**vars(edit), "real_path": tmp_path / "a"})
        assert (await editor.apply(judged, "")).outcome == "stale"
        assert (tmp_path / "b").read_text() == "x\n"


async def test_an_editor_without_apply_edit_keeps_its_open_files(tmp_path: Path) -> None:
    async with connected(tmp_path, workspace={}) as (editor, client):
        await client.open("a.py", on_disk=TEXT)
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "rejected"
        assert (tmp_path / "a.py").read_text() == TEXT
        assert client.requests == []


async def test_open_files_are_deleted_and_moved_only_if_nothing_is_lost(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("clean.py", on_disk=TEXT)
        await client.open("dirty.py", "typed" + TEXT, on_disk=TEXT)
        await client.open("moving.py", on_disk=TEXT)
        dirty = DeleteFile(path=tmp_path / "dirty.py", before="typed" + TEXT)
        assert (await editor.apply(dirty, "")).outcome == "rejected"
        assert (await editor.apply(DeleteFile(path=tmp_path / "clean.py", before="x"), "")).outcome == "stale"
        assert (
            await editor.apply(DeleteFile(path=tmp_path / "clean.py", before=TEXT), "")
        ).outcome == "applied"
        move = RenameFile(path=tmp_path / "moving.py", target=tmp_path / "moved.py", before=TEXT)
        assert (await editor.apply(move, "")).outcome == "applied"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["dirty.py", "moved.py"]


async def test_a_client_that_ignores_a_delete_does_not_hide_it(tmp_path: Path) -> None:
    """Eglot 1.9 ignores resource operations and says `applied: true`."""
    async with connected(tmp_path, workspace=RESOURCES) as (editor, client):
        client.on_edit = client.lying
        await client.open("a.py", on_disk=TEXT)
        assert (await editor.apply(DeleteFile(path=tmp_path / "a.py", before=TEXT), "")).outcome == "applied"
        assert not (tmp_path / "a.py").exists()


# -- reading, with the person typing ----------------------------------------------------------------------


async def test_an_open_buffer_beats_the_disk(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "typed\n", on_disk="old\n", version=4)
        document = await editor.read(tmp_path / "a.py")
        assert (document.text, document.origin, document.version) == ("typed\n", "buffer", 4)
        assert document.unsaved
        assert document.language == "python"
        await client.open("same.py", on_disk="same\n")
        await editor.read(tmp_path / "same.py")
        unsaved = {document.path.name: document.unsaved for document in editor.documents()}
        assert unsaved == {"a.py": True, "same.py": False}
        await client.close(uri)
        assert (await editor.read(tmp_path / "a.py")).origin == "disk"


@pytest.mark.parametrize(
    ("old", "new", "lands"),
    [("one", "one typed", True), ("three", "three typed", True), ("two", "zwei", False)],
    ids=["above", "below", "inside"],
)
async def test_the_person_types_while_the_model_thinks(
    tmp_path: Path, old: str, new: str, lands: bool
) -> None:
    """Above and below, the edit finds its place again; inside, it is refused; what was typed stays."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        context = context_at(tmp_path, editor)
        arguments = {"path": "a.py", "old_string": "two", "new_string": "2"}
        proposal = await call(EDIT, context, **arguments)
        assert isinstance(proposal, Proposal)
        await client.type(uri, old, new)
        assert proposal.edit is not None
        assert (await editor.apply(proposal.edit, "")).outcome == "stale"
        typed = client.buffers[uri].text
        if not lands:
            with pytest.raises(Exception, match="not in"):
                await call(EDIT, context, **arguments)
            assert client.buffers[uri].text == typed
            return
        fresh = await call(EDIT, context, **arguments)
        assert isinstance(fresh, Proposal)
        assert fresh.same == proposal.same
        assert fresh.edit is not None
        assert (await editor.apply(fresh.edit, "")).outcome == "applied"
        assert client.buffers[uri].text == typed.replace("two", "2")


async def test_diagnostics_last_until_the_document_changes(tmp_path: Path) -> None:
    from lsprotocol import types

    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "😀 x\ny\n")
        place = types.Range(
            start=types.Position(line=0, character=3), end=types.Position(line=0, character=4)
        )
        known = types.Diagnostic(
            range=place, message="bad", severity=types.DiagnosticSeverity.Warning, code=7
        )
        editor.remember_diagnostics(uri, [known])
        editor.remember_diagnostics(uri, [known])
        (diagnostic,) = await editor.diagnostics(tmp_path / "a.py")
        assert diagnostic.span == Span(Position(0, 2), Position(0, 3))
        assert (diagnostic.severity, diagnostic.message, diagnostic.code) == ("warning", "bad", "7")
        assert await editor.diagnostics(tmp_path / "b.py") == []
        assert len(await editor.diagnostics(None)) == 1
        await client.type(uri, "y", "z")
        assert await editor.diagnostics(None) == []


async def test_the_bounds_are_those_of_the_design() -> None:
    from magent_lsp.lsp.verify import Bounds

    assert (Bounds().reply, Bounds().change, Bounds().retry) == (30, 5, 0.2)
    assert FAST.reply < 1
