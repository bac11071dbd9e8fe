"""What was said is on disk as it happens, and comes back."""

import json
import os
import platform
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.errors import CallerError, UnknownId, UserError
from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from magent_lsp.core.session import Session, Todo
from magent_lsp.engine.history import normalise
from magent_lsp.store.lock import SessionLocked
from magent_lsp.store.sessions import SessionStore

SAID: list[Message] = [
    UserMessage(
        id="u1", text="Fix the bug in ünï.py\nplease", images=(Image(media_type="image/png", data="aGk="),)
    ),
    AssistantMessage(
        id="a1",
        text="Looking.",
        tool_calls=(ToolCall(id="c1", name="bash", arguments='{"command": "ls"}'),),
        finish="tool_calls",
        usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5),
        model="test/model",
    ),
    ToolMessage(id="t1", call_id="c1", name="bash", text="a\r\nb\n\x0c\u2028", status="failed"),
    AssistantMessage(id="a2", text='Done: "quotes" \\ and 😀'),
]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 27, 15, 45, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, told: list[str]) -> Iterator[SessionStore]:
    store = SessionStore(tmp_path / "state", normalise=normalise, tell=told.append, now=Clock())
    yield store
    store.close_all()


def another(store: SessionStore, told: list[str] | None = None) -> SessionStore:
    """A second server, or the same after a restart."""
    told = [] if told is None else told
    return SessionStore(store.folder.parent, normalise=normalise, tell=told.append, now=Clock())


def talk(store: SessionStore, folder: Path, said: list[Message] = SAID) -> Session:
    session = store.create(folder, "build", "test/model")
    for message in said:
        session.append(message)
    return session


def test_everything_comes_back_after_a_restart(store: SessionStore, tmp_path: Path, told: list[str]) -> None:
    session = talk(store, tmp_path)
    session.set_todos((Todo(content="one", status="in_progress"), Todo(content="two", status="pending")))
    session.add_usage(Usage(input_tokens=10, output_tokens=2, cached_tokens=3, cost_usd=0.5))
    session.add_usage(Usage(input_tokens=1, estimated=True))
    session.rename("The bug")
    store.close(session)
    back = another(store).open(session.id)
    assert back.messages == SAID
    assert (back.folder, back.agent, back.model, back.title) == (tmp_path, "build", "test/model", "The bug")
    assert back.todos == session.todos
    assert back.usage == session.usage
    assert back.created == session.created
    assert told == []


def test_records_are_on_disk_before_the_session_is_closed(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    assert another(store).open(session.id, read_only=True).messages == SAID


def test_an_open_session_is_the_same_object(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    assert store.open(session.id) is session


def test_what_the_model_has_read_and_its_skills_come_back(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path, SAID[:2])
    session.journal("tool", {"seen": {"/a.py": "old"}})
    session.journal("tool", {"result": SAID[2], "seen": {"/a.py": "abc"}, "skills": {"testing": "body"}})
    store.close(session)
    back = store.open(session.id)
    assert back.messages == SAID[:3]
    assert back.seen == {"/a.py": "abc"}
    assert back.skills == {"testing": "body"}


def test_a_chosen_model_and_agent_come_back(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    session.journal("meta", {"agent": "plan", "model": "other/model"})
    store.close(session)
    back = store.open(session.id)
    assert (back.agent, back.model, back.folder) == ("plan", "other/model", tmp_path)
    assert store.list()[0].agent == "plan"


def test_an_interrupted_session_can_go_on(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path, SAID[:2])
    store.close(session)
    back = store.open(session.id)
    assert back.messages == normalise(SAID[:2])
    assert isinstance(back.messages[-1], ToolMessage)


@dataclass(frozen=True)
class Grant:
    """Looks like a permission rule."""

    tool: str
    pattern: str
    verdict: str
    source: Any


def test_a_resumed_session_allows_nothing_that_was_allowed_before(
    store: SessionStore, tmp_path: Path
) -> None:
    session = talk(store, tmp_path)
    session.grant(Grant("bash", "git push *", "allow", "grant 1"))
    session.grant(Grant("bash", "make *", "ask", "grant 2"))
    session.grant(Grant("bash", "rm *", "deny", "grant 3"))
    store.close(session)
    back = store.open(session.id)
    assert [(rule.tool, rule.pattern, rule.verdict) for rule in back.grants] == [("bash", "rm *", "deny")]
    assert store.fork(session.id).grants == []


def test_reasoning_is_kept_only_if_wanted(store: SessionStore, tmp_path: Path) -> None:
    thinking = AssistantMessage(
        id="a", text="x", reasoning="secret plan", reasoning_blocks=({"signature": "s"},)
    )
    session = talk(store, tmp_path, [SAID[0], thinking])
    assert b"secret plan" not in store.path(session.id).read_bytes()
    store.save_reasoning = True
    session = talk(store, tmp_path, [SAID[0], thinking])
    store.close(session)
    assert store.open(session.id).messages == [SAID[0], thinking]


def test_secrets_never_reach_the_file(store: SessionStore, tmp_path: Path) -> None:
    store.redact = lambda text: text.replace("sk-123", "***")
    session = talk(store, tmp_path, [UserMessage(id="u", text="my key is sk-123")])
    session.rename("sk-123")
    assert b"sk-123" not in store.path(session.id).read_bytes()
    store.close(session)
    assert store.open(session.id).messages[0].text == "my key is ***"


def test_only_the_owner_can_read_sessions(store: SessionStore, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no mode bits")
    old = os.umask(0)
    try:
        session = talk(store, tmp_path)
    finally:
        os.umask(old)
    path = store.path(session.id)
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


# --- one writer -----------------------------------------------------------------------------------------


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


# --- listing --------------------------------------------------------------------------------------------


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


# --- changing -------------------------------------------------------------------------------------------


def test_a_fork_goes_its_own_way_from_a_message(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    session.rename("Bug")
    fork = store.fork(session.id, "a1")
    assert fork.messages == SAID[:3], "the results of a message's calls come along"
    assert (fork.parent, fork.title, fork.agent) == (session.id, "Bug (fork)", "build")
    fork.append(UserMessage(id="f", text="another way"))
    store.close(fork)
    store.close(session)
    assert store.open(session.id).messages == SAID
    back = store.open(fork.id)
    assert back.messages == [*SAID[:3], UserMessage(id="f", text="another way")]
    assert {info.id: info.forked for info in store.list()} == {session.id: False, fork.id: True}
    assert store.fork(session.id, "u1").messages == SAID[:1]


def test_a_fork_at_an_unknown_message_says_so(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    with pytest.raises(UnknownId, match="no message 'nope'"):
        store.fork(session.id, "nope")


def test_a_rename_of_a_closed_session_stays(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    store.close(session)
    store.rename(session.id, "Later")
    assert store.list()[0].title == "Later"
    assert another(store).open(session.id).title == "Later"


def test_a_deleted_session_is_gone(store: SessionStore, tmp_path: Path) -> None:
    session, other = talk(store, tmp_path), talk(store, tmp_path)
    store.delete(session.id)
    assert [info.id for info in store.list()] == [other.id]
    with pytest.raises(UnknownId):
        store.open(session.id)
    session.append(UserMessage(id="late", text="a run that did not know"))
    assert [info.id for info in store.list()] == [other.id]


@pytest.mark.parametrize(
    "bad", ["", "nope", "../../etc/passwd", "20261127-154501-zzzz", "*", "20261127-154501-*"]
)
def test_unknown_ids_are_named(store: SessionStore, tmp_path: Path, bad: str) -> None:
    talk(store, tmp_path)
    for use in (store.open, store.fork, store.delete, store.export, store.edits):
        with pytest.raises(UnknownId, match="There is no session"):
            use(bad)


# --- compaction -----------------------------------------------------------------------------------------


def test_a_compacted_session_comes_back_compacted_and_its_export_is_whole(
    store: SessionStore, tmp_path: Path
) -> None:
    session = talk(store, tmp_path)
    session.journal("compaction", {"id": "s1", "summary": "We fixed it.", "kept_from": "a2"})
    session.append(UserMessage(id="u2", text="thanks"))
    store.close(session)
    back = store.open(session.id)
    assert back.messages == [
        UserMessage(id="s1", text="We fixed it.", synthetic=True),
        SAID[3],
        UserMessage(id="u2", text="thanks"),
    ]
    assert "Fix the bug" in store.export(session.id)


def test_pruned_outputs_come_back_pruned(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    session.journal("compaction", {"id": "s1", "pruned": {"t1": "[output left out]"}})
    store.close(session)
    assert store.open(session.id).messages[2].text == "[output left out]"
    assert "\u2028" in store.export(session.id, "text")


def test_a_compaction_whose_first_kept_message_is_lost_keeps_everything(
    store: SessionStore, tmp_path: Path
) -> None:
    session = talk(store, tmp_path)
    session.journal("compaction", {"id": "s1", "summary": "Sum.", "kept_from": "gone"})
    store.close(session)
    assert store.open(session.id).messages[1:] == SAID


# --- export ---------------------------------------------------------------------------------------------


def test_exports_hold_the_conversation_without_secrets(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    session.rename("Bug")
    session.append(UserMessage(id="k", text="the key is sk-123"))
    session.set_todos((Todo(content="one", status="completed"),))

    def redact(text: str) -> str:
        return text.replace("sk-123", "[secret]")

    markdown = store.export(session.id, "markdown", redact)
    assert markdown.startswith("# Bug\n")
    assert "## User\n\nFix the bug in ünï.py" in markdown
    assert '"command": "ls"' in markdown
    assert "- [x] one" in markdown
    plain = store.export(session.id, "text", redact)
    assert "User: Fix the bug" in plain
    data = json.loads(store.export(session.id, "json", redact))
    assert [message["role"] for message in data["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert data["messages"][1]["toolCalls"][0]["name"] == "bash"
    assert data["title"] == "Bug"
    for text in (markdown, plain, json.dumps(data)):
        assert "sk-123" not in text
        assert "[secret]" in text


def test_a_fence_in_an_output_does_not_end_the_block(store: SessionStore, tmp_path: Path) -> None:
    output = ToolMessage(id="t1", call_id="c1", name="bash", text="```\n# not a heading\n```")
    session = talk(store, tmp_path, [*SAID[:2], output])
    assert "````\n```\n# not a heading\n```\n````" in store.export(session.id)


def test_an_unknown_format_is_named(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    with pytest.raises(CallerError, match="'pdf' is not one of markdown, json, text"):
        store.export(session.id, "pdf")


def test_edits_are_found_by_their_run(store: SessionStore, tmp_path: Path) -> None:
    session = talk(store, tmp_path)
    talk(store, tmp_path)
    session.journal("edit", {"run_id": "r1", "path": "/a.py", "before": "x", "after": "y"})
    assert store.session_of_run("r1") == session.id
    assert store.session_of_run("r") is None
    assert [edit.path for edit in store.edits(session.id)] == ["/a.py"]
    assert store.fork(session.id).id != store.session_of_run("r1")


def test_a_session_whose_first_record_is_damaged_can_still_be_exported(
    store: SessionStore, tmp_path: Path, told: list[str]
) -> None:
    session = talk(store, tmp_path)
    path = store.path(session.id)
    store.close(session)
    path.write_bytes(path.read_bytes().replace(b'\n{"kind":"meta"', b'\n{"kind":\xffmeta"'))
    with pytest.raises(UserError, match="first record is damaged"):
        store.open(session.id)
    assert "Fix the bug" in store.export(session.id)
    assert any("cannot be read and is skipped" in text for text in told)
    with pytest.raises(UserError):
        store.open(session.id)  # the failed attempt did not leave it locked
