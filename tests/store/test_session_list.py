"""The list of sessions, search in them, and files there that are none."""

import os
from pathlib import Path

from magent_lsp.core.messages import (
    Image,
    UserMessage,
)
from magent_lsp.store.sessions import SessionStore
from tests.support.sessions import SAID, another, talk


def test_the_list_shows_what_a_picker_needs_with_the_last_used_first(
    store: SessionStore, tmp_path: Path
) -> None:
    first = talk(store, tmp_path)
    second = talk(store, tmp_path / "other")
    second.rename("Named")
    os.utime(store.path(first.id), (1, 1))
    infos = store.list()
    assert [info.id for info in infos] == [second.id, first.id]
    assert [info.title for info in infos] == ["Named", "Fix the bug in ünï.py"]
    assert infos[1].updated == "1970-01-01T00:00:01.000Z"
    assert [info.id for info in store.list(tmp_path)] == [first.id]
    assert infos[0].folder == tmp_path / "other"
    assert store.list(tmp_path / "nowhere") == []


def test_ids_sort_by_time(store: SessionStore, tmp_path: Path) -> None:
    ids = [store.create(tmp_path, "build").id for _ in range(5)]
    assert ids == sorted(ids)
    assert ids[0].startswith("20261127-1545")


def test_a_session_in_which_nothing_was_said_leaves_nothing(store: SessionStore, tmp_path: Path) -> None:
    session = store.create(tmp_path, "build")
    assert store.list() == []
    assert store.open(session.id) is session
    store.close(session)
    assert not [path for path in store.folder.rglob("*") if path.is_file()]


def test_a_session_that_was_only_begun_can_be_gone_on_with(store: SessionStore, tmp_path: Path) -> None:
    """The editor was closed a moment after the first prompt; the client still has the id."""
    session = store.create(tmp_path, "build")
    session.rename("Fix the")
    store.close(session)
    assert store.list() == []
    assert another(store).open(session.id).title == "Fix the"


def test_the_last_session_is_the_last_used_one_that_fits(store: SessionStore, tmp_path: Path) -> None:
    first = talk(store, tmp_path)
    store.create(tmp_path, "build")
    asked = store.create(tmp_path, "ask")
    asked.append(SAID[0])
    child = store.create(tmp_path, "build", parent=first.id)
    child.append(SAID[0])
    other = talk(store, tmp_path / "other")
    assert store.last(tmp_path, lambda agent: agent != "ask") == first.id
    assert store.last(tmp_path, lambda agent: True) == asked.id
    assert store.last(tmp_path / "other", lambda agent: True) == other.id
    assert store.last(tmp_path / "nowhere", lambda agent: True) is None
    fork = store.fork(first.id)
    os.utime(store.path(asked.id), (1, 1))
    os.utime(store.path(first.id), (2, 2))
    assert store.last(tmp_path, lambda agent: True) == fork.id


def test_a_title_in_the_middle_of_a_long_session_is_found(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    session.rename("Early")
    for n in range(100):
        session.append(UserMessage(id=f"m{n}", text="x" * 2_000))
    session.rename("Renamed")
    for n in range(100):
        session.append(UserMessage(id=f"n{n}", text="x" * 2_000))
    store.sync(session)
    assert store.list()[0].title == "Renamed"


def test_an_image_in_the_first_prompt_does_not_hide_the_session(store: SessionStore, tmp_path: Path) -> None:
    big = UserMessage(id="u", text="see", images=(Image(media_type="image/png", data="A" * 100_000),))
    session = talk(store, tmp_path, [big])
    session.rename("Picture")
    assert [info.title for info in store.list()] == ["Picture"]


def test_search_finds_what_was_said_and_not_the_format(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    talk(store, tmp_path, [UserMessage(id="z", text="something else")])
    for text in ("FIX THE BUG", "ÜNÏ", '"quotes" \\', "😀"):
        assert [found.session.id for found in store.search(text)] == [session.id], text
    assert store.search("bug")[0].excerpt == "Fix the bug in ünï.py please"
    assert store.search("bug")[0].message_id == "u1"
    for text in ("arguments", "assistant", "", "  "):
        assert store.search(text) == []


def test_foreign_and_broken_files_do_not_break_the_list(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    folder = store.path(session.id).parent
    (folder / "notes.jsonl").write_text("hello")
    (folder / "20261127-154501-aaaa.jsonl").write_bytes(b"\xff\x00" * 100)
    (folder / "20261127-154501-bbbb.jsonl").mkdir()
    (store.folder / "stray.jsonl").write_text("{}")
    assert [info.id for info in store.list()] == [session.id]
    assert [found.session.id for found in store.search("bug")] == [session.id]
