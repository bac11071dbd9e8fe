"""A session survives a crash at any byte, a full disk and whatever else ends up in its file."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from magent_lsp.core.session import Todo
from magent_lsp.engine.history import normalise
from magent_lsp.store.blobs import BlobStore
from magent_lsp.store.journal import JournalFile
from magent_lsp.store.records import decode
from magent_lsp.store.sessions import SessionStore
from magent_lsp.store.transcript import read

WRITER = """
import sys
from pathlib import Path
from magent_lsp.core.messages import UserMessage
from magent_lsp.store.sessions import SessionStore
store = SessionStore(Path(sys.argv[1]))
session = store.open(sys.argv[3]) if len(sys.argv) > 3 else store.create(Path(sys.argv[2]), "build")
print(session.id, flush=True)
for n in range(len(session.messages), 1_000_000):
    session.append(UserMessage(id=f"m{n}", text=f"ü{n} " * (n % 300)))
    print(n, flush=True)
"""


def test_kill_9_at_any_moment_costs_at_most_the_record_being_written(tmp_path: Path) -> None:
    told: list[str] = []
    store = SessionStore(tmp_path / "state", tell=told.append)
    arguments = [sys.executable, "-c", WRITER, str(tmp_path / "state"), str(tmp_path)]
    random_ = random.Random(7)
    session_id = ""
    for kills in range(1, 7):
        with subprocess.Popen(
            [*arguments, *([session_id] if session_id else [])], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout
            session_id = child.stdout.readline().strip()
            child.stdout.readline()
            time.sleep(random_.uniform(0, 0.05))
            child.send_signal(signal.SIGKILL)
            written = [int(line) for line in child.stdout.read().splitlines() if line.strip()]
        session = store.open(session_id)
        ids = [message.id for message in session.messages]  # type: ignore[union-attr]
        assert ids == [f"m{n}" for n in range(len(ids))], "no hole and no repetition"
        assert len(ids) > (max(written[:-1]) if len(written) > 1 else 0)
        store.close(session)
        # A record is one write, but a kill can end a write between two pages of the file.
        assert len(read(store.path(session_id)).problems) <= kills
    assert all("record" in line and "is skipped" in line for line in told), told


def whole_session(state: Path) -> tuple[Path, list[Message]]:
    """A small session with every kind of record, and its file."""
    store = SessionStore(state)
    session = store.create(state, "build")
    said: list[Message] = [
        UserMessage(id="u1", text="ünï 😀"),
        AssistantMessage(id="a1", tool_calls=(ToolCall(id="c", name="bash", arguments="{}"),)),
        ToolMessage(id="t1", call_id="c", name="bash", text="out\nput"),
        AssistantMessage(id="a2", text="done"),
    ]
    for message in said:
        session.append(message)
    session.set_todos((Todo(content="x", status="pending"),))
    session.add_usage(Usage(input_tokens=1))
    session.rename("Title")
    session.journal("edit", {"run_id": "r", "path": "/a", "before": "1", "after": "2"})
    path = store.path(session.id)
    store.close_all()
    return path, said


def test_a_file_cut_at_any_byte_gives_all_whole_records_and_can_go_on(tmp_path: Path) -> None:
    path, said = whole_session(tmp_path / "state")
    content = path.read_bytes()
    lines = content.split(b"\n")
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        written = read(path)
        whole = content[: cut + 1].count(b"\n") - 1 if cut < len(content) else len(lines) - 1
        messages = [
            line for line in lines[1 : max(whole, 0) + 1] if b'"message":{' in line or b'"result":{' in line
        ]
        assert written.messages == said[: len(messages)], cut
        assert len(written.problems) <= 1, cut
    # a torn tail spoils no later record
    path.write_bytes(content[: content.index(b"done") + 2])
    store = SessionStore(tmp_path / "state", normalise=normalise)
    session = store.open(path.stem)
    before = path.read_bytes()
    session.append(UserMessage(id="next", text="go on"))
    assert path.read_bytes().startswith(before), "what was there is never rewritten"
    store.close_all()
    assert store.open(path.stem).messages == [*said[:3], UserMessage(id="next", text="go on")]
    store.close_all()


@settings(max_examples=150)
@given(data=st.data())
def test_damage_anywhere_costs_only_the_damaged_lines(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, said = whole_session(tmp_path_factory.mktemp("damage"))
    lines = path.read_bytes().split(b"\n")
    at = data.draw(st.integers(1, len(lines) - 1))
    lines[at] = data.draw(st.one_of(st.binary(max_size=40), st.just(b"\x00" * 500), st.just(lines[at][:-1])))
    path.write_bytes(b"\n".join(lines))
    found = read(path).messages
    assert [message for message in said if message in found] == found
    assert len(found) >= len(said) - 1


@given(st.binary(max_size=200))
def test_no_line_can_do_more_than_be_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(line)


def test_records_of_a_newer_version_are_skipped_or_read_as_far_as_they_are_known(tmp_path: Path) -> None:
    path, said = whole_session(tmp_path / "state")
    with path.open("ab") as file:
        file.write(b'\n{"kind":"hologram","v":2,"time":"","data":1}')
        file.write(
            b'\n{"kind":"todo","v":2,"items":[{"content":"y","status":"paused","color":"red"}],"new":1}'
        )
        file.write(
            b'\n{"kind":"message","v":2,"message":{"role":"assistant","id":"z","text":"hi","finish":"odd"}}'
        )
    written = read(path)
    assert written.messages == [*said, AssistantMessage(id="z", text="hi")]
    assert written.todos == (Todo(content="y", status="pending"),)
    assert [problem.line for problem in written.problems] == [11]
    assert "does not know" in written.problems[0].message


def test_text_that_no_file_can_hold_does_not_end_a_run(tmp_path: Path) -> None:
    told: list[str] = []
    store = SessionStore(tmp_path, tell=told.append)
    session = store.create(tmp_path, "build")
    session.append(UserMessage(id="u", text="lone \ud800 surrogate"))
    session.journal("message", object())
    session.journal("edit", {"no": "path"})
    session.append(AssistantMessage(id="a", text="still here"))
    store.close(session)
    assert [m.text for m in store.open(session.id).messages] == ["lone \ufffd surrogate", "still here"]
    store.close_all()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_told_once_and_never_raised() -> None:
    told: list[str] = []
    file = JournalFile(Path("/dev/full"), told.append)
    for _ in range(3):
        file.append(b"{}")
        file.sync()
    file.close()
    assert len(told) == 1
    assert "No space left on device" in told[0]


def test_what_a_full_disk_did_not_take_is_written_once_it_can_be(tmp_path: Path) -> None:
    """A real limit of the kernel cuts a record in the middle; it is there again when the limit is gone."""
    resource = pytest.importorskip("resource")
    told: list[str] = []
    path = tmp_path / "s.jsonl"
    file = JournalFile(path, told.append)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        file.append(b'{"n":1}')
        resource.setrlimit(resource.RLIMIT_FSIZE, (12, hard))
        file.append(b'{"n":2}')
        file.append(b'{"n":3}')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert os.strerror(errno.EFBIG) in told[0]
    file.append(b'{"n":4}')
    file.close()
    lines = path.read_bytes().split(b"\n")
    assert [line for line in lines if line.endswith(b"}")] == [b'{"n":%d}' % n for n in (1, 2, 3, 4)]
    assert len(told) == 1


def test_a_state_folder_that_cannot_be_made_leaves_a_session_in_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    told: list[str] = []
    store = SessionStore(tmp_path / "state", tell=told.append)
    session = store.create(tmp_path, "build")
    session.append(UserMessage(id="u", text="hello"))
    store.sync(session)
    store.close(session)
    assert session.messages
    assert len(told) == 1
    assert "goes on in memory" in told[0]
    blobs = BlobStore(tmp_path / "state", tell=told.append)
    assert blobs.get(blobs.put("x")) is None
    assert len(told) == 2


def test_a_long_session_loads_whole(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, normalise=normalise)
    session = store.create(tmp_path, "build")
    for n in range(10_000):
        session.append(UserMessage(id=f"m{n}", text="some words " * 20))
    store.close(session)
    assert [message.id for message in store.open(session.id).messages] == [f"m{n}" for n in range(10_000)]
    store.close_all()
