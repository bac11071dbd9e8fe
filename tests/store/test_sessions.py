"""What was said is on disk as it happens, and comes back."""

import json
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.errors import CallerError, UnknownId, UserError
from magent_lsp.core.messages import (
    AssistantMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from magent_lsp.core.session import Todo
from magent_lsp.engine.history import normalise
from magent_lsp.store.sessions import SessionStore
from tests.support.sessions import SAID, another, talk


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
