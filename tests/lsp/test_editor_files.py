"""Files that are saved, closed, new, removed, moved or known under several names."""

from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.config import Client
from magent_lsp.core.edits import CreateFile, DeleteFile, RenameFile
from tests.support.scripted_editor import (
    RESOURCES,
    connected,
    edit_of,
)

TEXT = "one\ntwo\nthree\n"
SAVES = Client(save=True)


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
