"""One writer: a second server reads and forks, a dead owner is replaced, a living one never."""

import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from magent_lsp.core.messages import (
    UserMessage,
)
from magent_lsp.store.lock import SessionLocked
from magent_lsp.store.sessions import SessionStore
from tests.support.sessions import SAID, another, talk


def test_a_second_server_cannot_write_but_can_read_and_fork(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    second = another(store)
    with pytest.raises(SessionLocked, match=f"process {os.getpid()} on .* fork it"):
        second.open(session.id)
    reading = second.open(session.id, read_only=True)
    reading.append(UserMessage(id="x", text="not written"))
    with pytest.raises(SessionLocked):
        second.rename(session.id, "mine")
    with pytest.raises(SessionLocked):
        second.delete(session.id)
    fork = second.fork(session.id)
    assert fork.messages == SAID
    second.close_all()
    store.close(session)
    assert another(store).open(session.id).messages == SAID


def test_threads_of_one_server_get_the_same_session(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    store.close(session)
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(store.open, [session.id] * 8))
        assert all(each is opened[0] for each in opened)
        list(threads.map(store.close, opened))
    assert store.open(session.id).messages == SAID


def test_a_closed_session_is_free_and_leaves_no_lock(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    store.close(session)
    assert not list(store.folder.rglob("*.lock"))
    second = another(store)
    second.open(session.id)
    second.close_all()


CHILD = """
import sys
from pathlib import Path
from magent_lsp.core.messages import UserMessage
from magent_lsp.store.sessions import SessionStore
store = SessionStore(Path(sys.argv[1]))
session = store.create(Path(sys.argv[2]), "build") if len(sys.argv) < 4 else store.open(sys.argv[3])
session.append(UserMessage(id="first", text="from the child"))
print(session.id, flush=True)
sys.stdin.read()
"""


def test_a_dead_owner_is_replaced_and_a_living_one_is_not(tmp_path: Path, store: SessionStore) -> None:
    arguments = [sys.executable, "-c", CHILD, str(store.folder.parent), str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        session_id = child.stdout.readline().strip()
        try:
            with pytest.raises(SessionLocked, match=str(child.pid)):
                store.open(session_id)
        finally:
            child.kill()
    assert store.open(session_id).messages[0].text == "from the child"


def test_a_reused_pid_is_not_taken_for_the_owner(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    path = store.path(session.id)
    store.close(session)
    lock = path.with_suffix(".lock")
    if not Path("/proc/self/stat").exists():
        pytest.skip("the start time of a process is only known on Linux")
    owner = {"pid": os.getpid(), "host": platform.node(), "started": "1@long-ago", "token": "x"}
    lock.write_text(json.dumps(owner))
    assert store.open(session.id).messages == SAID


@pytest.mark.parametrize("content", [b"", b"\x00\x00", b"{", b"[]", b'{"pid": "x"}'])
def test_a_damaged_lock_does_not_lock_a_session_for_ever(
    store: SessionStore, tmp_path: Path, content: bytes
) -> None:
    session = talk(store, tmp_path)
    path = store.path(session.id)
    store.close(session)
    path.with_suffix(".lock").write_bytes(content)
    assert store.open(session.id).messages == SAID


def test_an_owner_on_another_machine_holds_until_it_is_long_silent(
    store: SessionStore, tmp_path: Path
) -> None:
    session = talk(store, tmp_path)
    path = store.path(session.id)
    store.close(session)
    lock = path.with_suffix(".lock")
    lock.write_text(json.dumps({"pid": 1, "host": "elsewhere", "started": "", "token": "x"}))
    with pytest.raises(SessionLocked, match="elsewhere"):
        store.open(session.id)
    for file in (lock, path):
        os.utime(file, (time.time() - 2 * 86_400,) * 2)
    assert store.open(session.id).messages == SAID


def test_of_many_servers_that_find_a_dead_owner_one_gets_the_session(
    store: SessionStore, tmp_path: Path
) -> None:
    session = talk(store, tmp_path)
    path = store.path(session.id)
    store.close(session)
    dead = {"pid": 999_999_999, "host": platform.node(), "started": "", "token": "x"}
    path.with_suffix(".lock").write_text(json.dumps(dead))
    arguments = [sys.executable, "-c", CHILD, str(store.folder.parent), str(tmp_path), session.id]
    children = [
        subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for _ in range(4)
    ]
    won = [child.stdout.readline().strip() for child in children if child.stdout]
    for child in children:
        child.communicate("")
    assert sorted(won) == ["", "", "", session.id]
