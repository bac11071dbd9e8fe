"""Hooks as real processes, end to end: if these fail, a guard that somebody relies on does not guard."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from magent_lsp.core.request import PermissionReply, RunRequest
from tests.engine.conftest import Desk
from tests.support.hooks import HookWriter, decide, results, told, use
from tests.support.model_server import ModelServer, call


async def test_a_hook_blocks_a_call_and_the_model_is_told_why(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(desk, PreToolUse=[say(err="not on Fridays", code=2, matcher="bash", log=log)])
    server.reply(calls=[call("bash", command="touch x"), call("read_file", path="a.py")])
    server.reply("I see.")
    outcome = await desk.run("go")
    assert outcome.stop_reason == "end_turn"
    blocked, read = results(desk)
    assert (blocked.status, read.status) == ("failed", "completed")
    assert "not on Fridays" in blocked.text
    assert not (desk.workspace / "x").exists()
    assert desk.asked == []
    (data,) = told(log)
    assert (data["tool_name"], data["tool_input"]["command"]) == ("bash", "touch x")
    assert data["hook_event_name"] == "PreToolUse"
    assert data["session_id"] == desk.events.envelopes[0].session_id
    assert Path(data["transcript_path"]).is_file()
    assert data["cwd"] == str(desk.workspace)


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
async def test_a_hook_raises_and_never_lowers(
    desk: Desk, server: ModelServer, say: HookWriter, verdict: str
) -> None:
    """`allow` does not open what is asked or denied; `ask` and `deny` close what is allowed."""
    use(desk, PreToolUse=[say(decide(verdict, "because"))])
    desk.answers += [PermissionReply(reply="reject", feedback="no")] * 3
    (desk.workspace / ".env").write_text("KEY=1\n")
    server.reply(
        calls=[
            call("read_file", path="a.py"),
            call("write_file", path="b.py", content="x\n"),
            call("read_file", path=".env"),
        ]
    )
    server.reply("ok")
    await desk.run("go")
    read, _, secret = results(desk)
    assert (read.status == "completed") is (verdict == "allow")
    assert not (desk.workspace / "b.py").exists()
    assert "KEY=1" not in secret.text
    asked = {"allow": ["write_file"], "ask": ["read_file", "write_file"], "deny": []}[verdict]
    assert [request.tool for request in desk.asked] == asked
    if verdict == "ask":
        assert desk.asked[0].reason == "because"


async def test_a_hook_changes_the_input_which_is_judged_again(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    (desk.workspace / ".env").write_text("KEY=1\n")
    use(desk, PreToolUse=[say(decide("allow", updatedInput={"path": ".env"}), matcher="read_file")])
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("ok")
    await desk.run("go")
    (result,) = results(desk)
    assert result.status == "failed"
    assert "KEY=1" not in result.text


async def test_a_rewritten_call_passes_the_other_guards_too(
    desk: Desk, server: ModelServer, say: HookWriter, tmp_path: Path
) -> None:
    guard = tmp_path / "guard.sh"
    guard.write_text('if grep -q forbidden; then echo "forbidden" >&2; exit 2; fi\n')
    use(
        desk,
        PreToolUse=[
            {"command": f"sh {guard}"},
            say({"updatedInput": {"command": "ls forbidden"}}, matcher="bash"),
        ],
    )
    server.reply(calls=[call("bash", command="ls")])
    server.reply("ok")
    await desk.run("go")
    assert "forbidden" in results(desk)[0].text
    assert results(desk)[0].status == "failed"


async def test_a_changed_call_runs_and_the_model_knows(
    desk: Desk, server: ModelServer, say: HookWriter
) -> None:
    use(desk, PreToolUse=[say({"updatedInput": {"command": "echo changed"}, "additionalContext": "dry run"})])
    server.reply(calls=[call("bash", command="echo original")])
    server.reply("ok")
    await desk.run("go")
    text = results(desk)[0].text
    assert text.startswith("changed")
    assert "A hook changed the arguments" in text
    assert "dry run" in text
    assert desk.events.of("tool_call_finished")[0].title == "Run echo changed"


async def test_a_change_that_does_not_fit_is_refused(
    desk: Desk, server: ModelServer, say: HookWriter
) -> None:
    use(desk, PreToolUse=[say({"updatedInput": {"nonsense": 1}})])
    server.reply(calls=[call("bash", command="touch x")])
    server.reply("ok")
    await desk.run("go")
    assert "does not fit" in results(desk)[0].text
    assert not (desk.workspace / "x").exists()


FAULTS: dict[str, dict[str, Any]] = {
    "time-out": {"command": "sleep 30", "timeout": 0.2},
    "crash": {"command": "kill -9 $$"},
    "not found": {"command": "no-such-program-at-all"},
    "bad JSON": {"command": 'echo \'{"permissionDecision": "maybe"}\''},
    "cut JSON": {"command": "echo '{\"a\":'"},
    "no object": {"command": "echo '{}}'"},
}


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_guard_that_fails_asks_or_denies(
    desk: Desk, server: ModelServer, fault: str, closed: bool
) -> None:
    use(desk, PreToolUse=[{**FAULTS[fault], "failClosed": closed}])
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("ok")
    outcome = await desk.run("go")
    assert outcome.stop_reason == "end_turn"
    assert [request.tool for request in desk.asked] == ([] if closed else ["read_file"])
    assert (results(desk)[0].status == "failed") is closed
    assert any("hook" in notice.message for notice in desk.events.of("notice"))


async def test_another_exit_code_is_reported_and_lets_things_go_on(
    desk: Desk, server: ModelServer, say: HookWriter
) -> None:
    use(desk, PreToolUse=[say(code=1, err="oops")], Stop=[say(code=3)])
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("ok")
    assert (await desk.run("go")).text == "ok"
    assert desk.asked == []
    messages = [notice.message for notice in desk.events.of("notice")]
    assert any("exit code 1: oops" in message for message in messages)
    assert any("exit code 3" in message for message in messages)


async def test_the_strictest_of_several_wins_and_they_run_side_by_side(
    desk: Desk, server: ModelServer, say: HookWriter, tmp_path: Path
) -> None:
    """Each of the two waits for the other: one after the other, both would time out."""
    a, b = tmp_path / "a", tmp_path / "b"
    wait = "touch {0}; while [ ! -e {1} ]; do sleep 0.02; done"
    use(
        desk,
        PreToolUse=[
            {"command": wait.format(a, b), "timeout": 5, "failClosed": True},
            {"command": wait.format(b, a), "timeout": 5, "failClosed": True},
            say(decide("allow")),
            say(decide("ask")),
            say({"decision": "block", "reason": "the strictest"}),
        ],
    )
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("ok")
    await desk.run("go")
    assert "the strictest" in results(desk)[0].text
    assert desk.asked == []


async def test_matchers_take_our_names_and_claude_s(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(
        desk,
        PreToolUse=[
            say(log=log, matcher="Write|Edit"),
            say(log=log, matcher="write_file"),
            say(err="no", code=2, matcher="Bash.+"),
        ],
    )
    server.reply(
        calls=[
            call("write_file", path="b.py", content="x\n"),
            call("edit_file", path="a.py", edits=[{"old_string": "helo", "new_string": "hello"}]),
            call("bash", command="ls"),
        ]
    )
    server.reply("ok")
    await desk.run("go")
    assert [result.status for result in results(desk)] == ["completed"] * 3
    names = {(each["tool_name"], *sorted(each["tool_input"])) for each in told(log)}
    assert names == {
        ("Write", "content", "file_path"),
        ("write_file", "content", "path"),
        ("Edit", "file_path", "new_string", "old_string", "replace_all"),
    }


async def test_a_claude_hook_changes_the_input_in_its_own_words(
    desk: Desk, server: ModelServer, say: HookWriter
) -> None:
    use(desk, PreToolUse=[say({"updatedInput": {"file_path": "c.py", "content": "y\n"}}, matcher="Write")])
    server.reply(calls=[call("write_file", path="b.py", content="x\n")])
    server.reply("ok")
    await desk.run("go")
    assert (desk.workspace / "c.py").read_text() == "y\n"
    assert not (desk.workspace / "b.py").exists()
    assert desk.asked[0].title == "Create c.py"


async def test_continue_false_ends_the_run_with_its_reason(
    desk: Desk, server: ModelServer, say: HookWriter
) -> None:
    use(desk, PreToolUse=[say({"continue": False, "stopReason": "enough for today"})])
    server.reply(calls=[call("bash", command="touch x")])
    outcome = await desk.run("go")
    assert outcome.stop_reason == "error"
    assert "enough for today" in (outcome.error or "")
    assert not (desk.workspace / "x").exists()
    assert len(server.requests) == 1


async def test_cancel_kills_hooks_within_a_second(desk: Desk, server: ModelServer, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    use(desk, PreToolUse=[{"command": f"echo $$ > {pipe}; sleep 60; :"}])
    server.reply(calls=[call("read_file", path="a.py")])
    started = desk.magent.start(RunRequest(prompt="go"))
    async with asyncio.timeout(60):
        pid = (await asyncio.to_thread(pipe.read_text)).strip()
    desk.magent.cancel(started.run_id)
    async with asyncio.timeout(20):
        assert (await desk.magent.wait(started.run_id)).stop_reason == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


async def test_a_project_s_hooks_run_only_once_it_is_trusted(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    folder = desk.workspace / ".magent"
    folder.mkdir()
    hook = say(err="project says no", code=2, log=log)
    (folder / "config.yaml").write_text(yaml.safe_dump({"hooks": {"PreToolUse": [hook], "Stop": [hook]}}))
    desk.magent.reload()
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("ok")
    await desk.run("go")
    assert told(log) == []
    desk.magent.trust(desk.magent.review_trust())
    server.reply(calls=[call("read_file", path="a.py")])
    for _ in range(6):
        server.reply("ok")
    await desk.run("go")
    assert told(log)[0]["tool_name"] == "read_file"


async def test_hooks_get_no_secrets_and_give_none_to_the_model(
    desk: Desk, server: ModelServer, tmp_path: Path
) -> None:
    out = tmp_path / "env"
    use(desk, UserPromptSubmit=[{"command": f"env > {out}; echo sk-test-secret-value-123456"}])
    server.reply("ok")
    await desk.run("hello")
    assert "sk-test-secret" not in out.read_text()
    assert f"CLAUDE_PROJECT_DIR={desk.workspace}" in out.read_text()
    assert "sk-test-secret" not in json.dumps(server.requests[0].json)


async def test_a_hook_s_word_is_bounded(desk: Desk, server: ModelServer) -> None:
    use(desk, UserPromptSubmit=[{"command": "head -c 5000000 /dev/zero | tr '\\0' x"}])
    server.reply("ok")
    await desk.run("hello")
    assert len(json.dumps(server.requests[0].json["messages"])) < 60_000
