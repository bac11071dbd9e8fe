"""Hooks beside the calls: prompts, sessions, stops, subagents, permission requests, compaction."""

from pathlib import Path

from magent_lsp.core.request import RunRequest
from tests.engine.conftest import Desk
from tests.support.hooks import HookWriter, results, told, use
from tests.support.model_server import ModelServer, call


async def test_after_a_call_a_hook_tells_the_model(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(
        desk,
        PostToolUse=[say({"decision": "block", "reason": "run the linter"}, matcher="read_file", log=log)],
        PostToolUseFailure=[say({"additionalContext": "try again later"}, log=log)],
    )
    server.reply(calls=[call("read_file", path="a.py"), call("bash", command="cat missing")])
    server.reply("ok")
    await desk.run("go")
    read, failed = results(desk)
    assert read.status == "completed"
    assert "run the linter" in read.text
    assert "def hello" in read.text
    assert "try again later" in failed.text
    after, failure_ = told(log)
    assert "def hello" in after["tool_response"]["text"]
    assert "missing" in failure_["error"]


async def test_a_prompt_is_blocked_or_gets_context(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(desk, UserPromptSubmit=[say("the sprint ends today", log=log)])
    server.reply("ok")
    await desk.run("hello")
    assert "the sprint ends today" in str(server.requests[0].messages)
    assert told(log)[0]["prompt"] == "hello"
    use(desk, UserPromptSubmit=[say({"decision": "block", "reason": "no secrets, please"})])
    outcome = await desk.run("my password is x")
    assert outcome.stop_reason == "error"
    assert "no secrets, please" in (outcome.error or "")
    assert len(server.requests) == 1


async def test_a_session_begins_and_ends_once(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(
        desk,
        SessionStart=[say("branch: main", log=log)],
        SessionEnd=[say(log=log)],
        Stop=[say(log=log)],
    )
    server.reply("one")
    server.reply("two")
    started = desk.magent.start(RunRequest(prompt="first"))
    await desk.magent.wait(started.run_id)
    await desk.run("/todos", session_id=started.session_id)
    await desk.run("second", session_id=started.session_id)
    assert "branch: main" in str(server.requests[0].messages[-1])
    assert "branch: main" not in str(server.requests[1].messages[-1])
    await desk.run("/clear", session_id=started.session_id)
    server.reply("three")
    await desk.run("third", session_id=started.session_id)
    await desk.magent.close()
    events = [(each["hook_event_name"], each.get("source") or each.get("reason")) for each in told(log)]
    assert events == [
        ("SessionStart", "startup"),
        ("Stop", None),
        ("Stop", None),
        ("SessionEnd", "clear"),
        ("SessionStart", "clear"),
        ("Stop", None),
        ("SessionEnd", "other"),
    ]
    assert desk.events.types()[-1] == "run_finished"


async def test_a_stop_hook_sends_the_run_on_but_not_for_ever(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(desk, Stop=[say({"decision": "block", "reason": "run the tests first"}, log=log)])
    for _ in range(10):
        server.reply("Done.")
    outcome = await desk.run("go")
    assert outcome.stop_reason == "end_turn"
    assert "".join(delta.text for delta in desk.events.of("text_delta")) == "\n\n".join(["Done."] * 6)
    said = [notice.message for notice in desk.events.of("notice")]
    assert said.count("Stop hook: run the tests first") == 5
    assert len(server.requests) == 6
    assert "run the tests first" in str(server.requests[1].messages[-1])
    assert [each["stop_hook_active"] for each in told(log)] == [False] + [True] * 5
    assert any(message.startswith("The Stop hook kept the run from ending 5 times") for message in said)


async def test_subagents_have_their_own_events(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    use(
        desk,
        SubagentStart=[say("look in src", log=log, matcher="explore")],
        SubagentStop=[say(log=log)],
        PreToolUse=[say(log=log, matcher="read_file")],
    )
    server.reply(calls=[call("delegate", agent="explore", prompt="find it")])
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("found")
    server.reply("all done")
    await desk.run("go")
    assert "look in src" in str(server.requests[1].messages)
    begun, read, ended = told(log)
    assert [each["hook_event_name"] for each in (begun, read, ended)] == [
        "SubagentStart",
        "PreToolUse",
        "SubagentStop",
    ]
    assert begun["agent_type"] == read["agent_type"] == ended["agent_type"] == "explore"
    assert ended["last_assistant_message"] == "found"
    assert begun["session_id"] == desk.events.envelopes[0].session_id != begun["agent_id"]


async def test_a_permission_request_is_denied_by_a_hook_and_never_granted(
    desk: Desk, server: ModelServer, say: HookWriter, log: Path
) -> None:
    allow = {"hookSpecificOutput": {"decision": {"behavior": "allow"}}}
    deny = {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "never push"}}}
    use(
        desk,
        PermissionRequest=[say(allow, log=log, matcher="write_file"), say(deny, matcher="bash")],
        Notification=[say(log=log)],
    )
    server.reply(calls=[call("write_file", path="b.py", content="x\n"), call("bash", command="git push")])
    server.reply("ok")
    await desk.run("go")
    assert [request.tool for request in desk.asked] == ["write_file"]
    assert "never push" in results(desk)[1].text
    request, notification = told(log)
    assert request["tool_input"] == {"path": "b.py", "content": "x\n"}
    assert notification["notification_type"] == "permission_prompt"


async def test_compaction_asks_first(desk: Desk, server: ModelServer, say: HookWriter, log: Path) -> None:
    use(desk, PreCompact=[say({"decision": "block", "reason": "not now"}, log=log)])
    server.reply("one")
    started = desk.magent.start(RunRequest(prompt="first"))
    await desk.magent.wait(started.run_id)
    server.reply("two")
    await desk.run("second", session_id=started.session_id)
    outcome = await desk.run("/compact the plan", session_id=started.session_id)
    assert "not now" in (outcome.error or "")
    (data,) = told(log)
    assert (data["trigger"], data["custom_instructions"]) == ("manual", "the plan")
