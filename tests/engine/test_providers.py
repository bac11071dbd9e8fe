"""Each kind of provider through the whole engine: what they lack, refuse, sign and cut."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.app import Magent
from magent_lsp.core.messages import AssistantMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
from tests.engine.conftest import Desk, Record
from tests.support.model_request import Request
from tests.support.model_server import ModelServer, Reply, Tokens, call
from tests.support.model_wire import Wire

WIRES: list[Wire] = ["openai", "anthropic", "ollama"]
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "maxTokens": 4000}


def use(desk: Desk, server: ModelServer, wire: Wire, **settings: Any) -> None:
    desk.environ["ANTHROPIC_API_KEY"] = "sk-ant-test-secret-1234"
    desk.set(model=server.model(wire), apiBase=server.base(wire), **settings)


def restarted(desk: Desk, tmp_path: Path) -> Desk:
    """The same person after a restart of the editor: nothing is known but what the disk holds."""
    events = Record()
    magent = Magent(
        folders=[desk.workspace],
        editor=DiskEditor(),
        sink=events,
        dirs=Dirs.under(tmp_path / "home"),
        environ=desk.environ,
        overrides=desk.overrides,
    )
    return Desk(magent, events, desk.workspace, [], [], desk.overrides, desk.environ)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_edit_over_every_wire(desk: Desk, server: ModelServer, wire: Wire) -> None:
    use(desk, server, wire)
    server.reply("Looking.", calls=[call("read_file", path="a.py")])
    edits = [{"old_string": "'helo'", "new_string": "'hello'"}]
    server.reply(calls=[call("edit_file", path="a.py", edits=edits)])
    server.reply("Fixed.")
    outcome = await desk.run("fix it")
    assert (outcome.stop_reason, outcome.text, outcome.error) == ("end_turn", "Fixed.", None)
    assert "'hello'" in (desk.workspace / "a.py").read_text()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_without_tools_works_all_the_same(desk: Desk, server: ModelServer, wire: Wire) -> None:
    use(desk, server, wire)
    answers = [
        Reply(text='{"name": "read_file", "arguments": {"path": "a.py"}}'),
        Reply(text="It says helo."),
    ]

    def respond(request: Request) -> Reply:
        if request.json.get("tools"):
            return Reply(fault="status", status=400, message="m does not support tools")
        return answers.pop(0)

    server.respond = respond
    outcome = await desk.run("what does it say?")
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "It says helo.")
    assert [event.name for event in desk.events.of("tool_call_finished")] == ["read_file"]
    assert "def hello" in server.requests[-1].last


async def test_a_small_local_model_writes_its_calls_as_json(desk: Desk, server: ModelServer) -> None:
    use(desk, server, "ollama")
    server.reply('```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```')
    server.reply("It says helo.")
    outcome = await desk.run("what does it say?")
    assert outcome.text == "It says helo."
    assert "name" not in "".join(event.text for event in desk.events.of("text_delta"))


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_server_that_does_not_stream(desk: Desk, server: ModelServer, wire: Wire) -> None:
    use(desk, server, wire)
    server.respond = lambda request: Reply(
        text="Read." if request.messages[-1]["role"] == "tool" or "tool_result" in str(request.json) else "",
        calls=() if "helo" in str(request.json["messages"]) else [call("read_file", path="a.py")],
        plain=True,
    )
    outcome = await desk.run("read it")
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "Read.")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_request_ends_with_the_providers_words(
    desk: Desk, server: ModelServer, wire: Wire
) -> None:
    use(desk, server, wire)
    server.fault("policy")
    started = desk.magent.start(RunRequest(prompt="hello"))
    outcome = await desk.magent.wait(started.run_id)
    assert outcome.stop_reason == "error"
    assert "content policy" in (outcome.error or "")
    assert len(server.requests) == 1, "a refusal is not tried again"
    server.reply("Fine.")
    assert (await desk.run("something else", session_id=started.session_id)).text == "Fine."


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_answer_that_is_filtered_away_ends_with_what_was_said(
    desk: Desk, server: ModelServer, wire: Wire
) -> None:
    use(desk, server, wire)
    server.reply("I cannot help with that.", finish="content_filter")
    started = desk.magent.start(RunRequest(prompt="hello"))
    outcome = await desk.magent.wait(started.run_id)
    assert (outcome.stop_reason, outcome.error) == ("error", "I cannot help with that.")
    server.reply("Fine.")
    assert (await desk.run("something else", session_id=started.session_id)).text == "Fine."


# --- thinking -------------------------------------------------------------------------------------------


def thinking_of(request: Request) -> list[str]:
    """The signatures of the thinking blocks that were sent."""
    return re.findall(r'"signature": ?"([^"]*)"', json.dumps(request.json))


async def test_signed_thinking_goes_back_within_the_turn(desk: Desk, server: ModelServer) -> None:
    use(desk, server, "anthropic", modelSettings=THINKING)
    server.reply(reasoning="First I look.", signature="c2lnMQ==", calls=[call("read_file", path="a.py")])
    server.reply("It says helo.", reasoning="Now I know.", signature="c2lnMg==")
    server.reply("Yes.")
    started = desk.magent.start(RunRequest(prompt="read it"))
    await desk.magent.wait(started.run_id)
    await desk.run("sure?", session_id=started.session_id)
    second = server.requests[1].json["messages"]
    [block] = [b for m in second for b in m["content"] if isinstance(b, dict) and b.get("type") == "thinking"]
    assert (block["thinking"], block["signature"]) == ("First I look.", "c2lnMQ==")
    assert second[-2]["content"][0] == block, "the thinking stands before the call that it led to"
    assert all(request.json["thinking"]["type"] == "enabled" for request in server.requests)
    assert "".join(event.text for event in desk.events.of("reasoning_delta")) == "First I look.Now I know."


@pytest.mark.parametrize("kept", [False, True])
async def test_after_a_restart_a_turn_goes_on_with_or_without_its_thinking(
    desk: Desk, server: ModelServer, tmp_path: Path, kept: bool
) -> None:
    """The turn broke off between a call and the answer to it, the one place where Claude insists."""
    use(desk, server, "anthropic", modelSettings=THINKING, saveReasoning=kept)
    server.reply(reasoning="First I look.", signature="c2lnMQ==", calls=[call("read_file", path="a.py")])
    server.fault("status", 401)
    started = desk.magent.start(RunRequest(prompt="read it"))
    assert (await desk.magent.wait(started.run_id)).stop_reason == "error"
    text = desk.magent.sessions.path(started.session_id).read_text()
    assert ("First I look." in text, "c2lnMQ==" in text) == (kept, kept)
    await desk.magent.close()
    again = restarted(desk, tmp_path)
    server.reply("It says helo.")
    outcome = await again.run("go on", session_id=started.session_id)
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "It says helo.")
    sent = server.requests[-1]
    assert thinking_of(sent) == (["c2lnMQ=="] if kept else [])
    assert ("thinking" in sent.json) == kept
    server.reply("Yes.", reasoning="Sure.", signature="c2lnMw==")
    await again.run("sure?", session_id=started.session_id)
    assert "thinking" in server.requests[-1].json, "the next turn thinks again"
    await again.magent.close()


# --- the prefix -----------------------------------------------------------------------------------------


def bare(value: Any) -> str:
    """JSON without the marks for the cache, which move on."""
    return re.sub(r', "cache_control": \{"type": "ephemeral"\}', "", json.dumps(value))


def marks(value: Any) -> int:
    return json.dumps(value).count('"cache_control"')


async def test_every_request_begins_with_the_bytes_of_the_one_before(
    desk: Desk, server: ModelServer, tmp_path: Path
) -> None:
    (desk.workspace / "AGENTS.md").write_text("Write tests.\n")
    server.reply(calls=[call("read_file", path="a.py"), call("list_dir")])
    server.reply("one", usage=Tokens(500, 5, cached=400))
    server.reply(calls=[call("todo", items=[{"content": "x", "status": "in_progress"}])])
    server.reply("two")
    started = desk.magent.start(RunRequest(prompt="first"))
    await desk.magent.wait(started.run_id)
    await desk.run("second", session_id=started.session_id)
    await desk.magent.close()
    again = restarted(desk, tmp_path)
    server.reply("three")
    outcome = await again.run("after a restart", session_id=started.session_id)
    assert (outcome.text, outcome.error) == ("three", None)
    await again.magent.close()
    contents = [request.content for request in server.requests]
    assert len(contents) == 5
    for earlier, later in itertools.pairwise(contents):
        head = json.dumps(json.loads(earlier)["messages"], separators=(",", ":"), ensure_ascii=False)[:-1]
        assert head.encode() in later, "the messages are no longer those that were sent before"
        tools = json.dumps(json.loads(earlier)["tools"], separators=(",", ":"), ensure_ascii=False)
        assert tools.encode() in later


async def test_claude_is_told_what_to_cache_and_gets_the_same_beginning(
    desk: Desk, server: ModelServer, tmp_path: Path
) -> None:
    use(desk, server, "anthropic")
    server.reply(calls=[call("read_file", path="a.py")])
    server.reply("one")
    server.reply("two")
    started = desk.magent.start(RunRequest(prompt="first"))
    await desk.magent.wait(started.run_id)
    await desk.run("second", session_id=started.session_id)
    await desk.magent.close()
    again = restarted(desk, tmp_path)
    server.reply("three")
    await again.run("after a restart", session_id=started.session_id)
    await again.magent.close()
    bodies = [request.json for request in server.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert bare(earlier["system"]) == bare(later["system"])
        assert json.dumps(earlier["tools"]) == json.dumps(later["tools"])
        assert bare(later["messages"]).startswith(bare(earlier["messages"])[:-1])
    assert [marks(body["system"]) for body in bodies] == [1, 1, 1, 1]
    assert [marks(body["messages"][-1]) for body in bodies] == [1, 1, 1, 1]
    assert all(marks(body) <= 4 for body in bodies), "Claude takes four marks"
    # a mark of the request before is where the next one finds the cache
    assert marks(bodies[1]["messages"][:1]) == 1


@pytest.mark.parametrize(("agent", "most"), [("build", 14_000), ("ask", 6_000)])
async def test_what_every_request_begins_with_is_small(
    desk: Desk, server: ModelServer, agent: str, most: int
) -> None:
    """On a laptop's processor every thousand tokens cost 15 seconds."""
    server.reply("Hello.")
    await desk.run("hello", agent=agent)
    sent = server.requests[0].json
    system = sent["messages"][0]["content"].encode()
    tools = json.dumps(sent["tools"], separators=(",", ":")).encode()
    assert len(system) + len(tools) <= most


async def test_what_the_cache_saved_is_counted(desk: Desk, server: ModelServer) -> None:
    use(desk, server, "anthropic")
    server.reply("one", usage=Tokens(10_000, 5, cached=9_000))
    server.reply("one", usage=Tokens(10_000, 5))
    cached, whole = await desk.run("hello"), await desk.run("hello")
    assert (cached.usage.cached_tokens, whole.usage.cached_tokens) == (9_000, 0)
    assert (cached.usage.cost_usd or 0) < (whole.usage.cost_usd or 0) / 2


async def test_reasoning_is_on_disk_only_if_the_person_wants_it(desk: Desk, server: ModelServer) -> None:
    for save in (False, True):
        desk.set(saveReasoning=save)
        server.reply("Hello.", reasoning="a private thought")
        started = desk.magent.start(RunRequest(prompt="hello"))
        await desk.magent.wait(started.run_id)
        text = desk.magent.sessions.path(started.session_id).read_text()
        assert ("a private thought" in text) == save
        session = desk.magent.session(started.session_id)
        [answer] = [m for m in session.messages if isinstance(m, AssistantMessage)]
        assert answer.reasoning == "a private thought"
