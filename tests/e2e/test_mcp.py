"""MCP servers through the protocol: listed, asked for, called, and held to what a person allowed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from tests.support.lsp_client import NO_ANSWER, NoAnswer, editor
from tests.support.stage import Ended, Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

ODD = Path(__file__).parents[1] / "support" / "mcp_odd.py"


def odd(*words: str, **more: Any) -> dict[str, Any]:
    """An entry of the server made by hand, which starts at once."""
    return {"command": sys.executable, "args": [str(ODD), *words], **more}


@pytest.fixture(scope="module")
def far() -> Iterator[subprocess.Popen[str]]:
    """A server that runs already; its first line is its address. It starts while others do."""
    argv = [sys.executable, "-m", "tests.support.mcp_server", "http"]
    with subprocess.Popen(argv, cwd=ODD.parents[2], stdout=subprocess.PIPE, text=True) as server:
        yield server
        server.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory, far: subprocess.Popen[str]) -> AsyncIterator[Stage]:
    home = tmp_path_factory.mktemp("mcp")
    sample = {
        "command": sys.executable,
        "args": ["-m", "tests.support.mcp_server"],
        "cwd": str(ODD.parents[2]),
        "env": {"CANCEL_NOTE": str(home / "cancelled"), "SAMPLE_TOKEN": "${MY_TOKEN:-sample-token-1}"},
        "startTimeout": 60,
    }
    async with on_stage(home, client={"events": True, "input": True}, mcpServers={"sample": sample}) as stage:
        yield stage


def configure(stage: Stage, **settings: Any) -> None:
    """The person's own config, which counts from the next prompt on."""
    path = stage.home / "config" / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    stage.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})


def offered(stage: Stage, part: str) -> list[str]:
    """Names of the tools that the model was shown with the last request of a part."""
    return stage.asked(part)[-1].tools


async def use(stage: Stage, part: str, name: str, answer: Any = "Allow once", **arguments: Any) -> Ended:
    """A run in which the model uses one tool."""
    stage.client.questions.clear()
    stage.client.always = answer
    stage.cast(part, say("", call(name, **arguments)), say("Done."))
    return await stage.run(part)


async def test_a_tool_is_listed_asked_for_and_its_result_reaches_the_model(stage: Stage) -> None:
    run = await use(stage, "sum up", "mcp__sample__add", a=1, b=2)
    names = offered(stage, "sum up")
    ours = [name for name in names if not name.startswith("mcp__")]
    assert names[: len(ours)] == ours, "ours come first"
    assert names[len(ours) :] == sorted(names[len(ours) :])
    (question,) = stage.client.questions
    assert "add of the MCP server sample" in question["message"]
    assert '{"a": 1, "b": 2}' in question["message"]
    assert run.stop == "end_turn"
    assert '"sum": 3' in str(stage.asked("sum up")[-1].messages[-1]["content"])


async def test_a_rejected_call_never_reaches_the_server(stage: Stage) -> None:
    run = await use(stage, "reject it", "mcp__sample__change", answer="Reject")
    assert run.stop == "rejected"
    assert "two numbers" in json.dumps(stage.asked("reject it")[-1].json["tools"])


async def test_a_tool_named_like_ours_is_not_ours(stage: Stage) -> None:
    """It would get at what ours may do without a question."""
    stage.write("a.txt", "OURS")
    stage.client.always = "Allow once"
    stage.client.questions.clear()
    both = (call("read_file", path="a.txt"), call("mcp__sample__read_file", path="a.txt"))
    stage.cast("read both", say("", *both), say("Done."))
    run = await stage.run("read both")
    assert "OURS" in run.results("read_file")[0]
    assert run.results("mcp__sample__read_file") == ["REMOTE a.txt"]
    (question,) = stage.client.questions
    assert "says that it only reads" in question["message"], "a hint is shown, and opens nothing"


async def test_pictures_failures_and_long_texts(stage: Stage) -> None:
    run = await use(stage, "look at it", "mcp__sample__picture")
    assert "Look:" in run.results("mcp__sample__picture")[0]
    assert "image_url" in json.dumps(stage.asked("look at it")[-1].messages)
    run = await use(stage, "break it", "mcp__sample__fail")
    (event,) = run.of("tool_call_finished")
    assert event["status"] == "failed"
    assert "it is broken" in event["output"]
    run = await use(stage, "say a lot", "mcp__sample__big")
    (text,) = run.results("mcp__sample__big")
    assert len(text) < 31_000
    kept = Path(text.partition("the whole is in ")[2].partition(",")[0])
    assert len(kept.read_text()) > 1_000_000


async def test_bad_arguments_are_refused_before_anybody_is_asked(stage: Stage) -> None:
    run = await use(stage, "forget b", "mcp__sample__add", a=1)
    assert "missing: b" in run.results("mcp__sample__add")[0]
    assert stage.client.questions == []


async def test_no_secret_of_ours_is_in_its_environment(stage: Stage) -> None:
    run = await use(stage, "look around", "mcp__sample__environment")
    (text,) = run.results("mcp__sample__environment")
    assert "sk-test-secret-value" not in text
    assert "OPENAI_API_KEY" not in text
    assert '"SAMPLE_TOKEN": "[redacted]"' in text, "it has its own, which nobody else gets to see"


async def test_what_a_server_may_ask_of_us(stage: Stage) -> None:
    run = await use(stage, "ask for roots", "mcp__sample__roots")
    assert json.loads(run.results("mcp__sample__roots")[0]) == [stage.workspace.as_uri()]
    run = await use(stage, "use my model", "mcp__sample__sample")
    assert "refused" in run.results("mcp__sample__sample")[0]
    asked: list[Any] = []
    stage.client.on["magent/input"] = lambda params: asked.append(params) or {"value": "7"}
    run = await use(stage, "ask the person", "mcp__sample__order")
    assert run.results("mcp__sample__order") == ["accept size=7"]
    assert "How large?" in asked[0]["message"]
    stage.client.on["magent/input"] = lambda params: None
    run = await use(stage, "ask in vain", "mcp__sample__order")
    assert run.results("mcp__sample__order") == ["cancel None"]


async def test_a_question_of_a_server_ends_with_its_call(stage: Stage) -> None:
    """A dialog that nobody needs any more would keep all later ones from opening."""
    asked = asyncio.Event()

    def never(params: Any) -> NoAnswer:
        asked.set()
        return NO_ANSWER

    stage.client.on["magent/input"] = never
    stage.client.always = "Allow once"
    stage.cast("ask for ever", say("", call("mcp__sample__order")), say("Done."))
    started = await stage.start("ask for ever")
    async with asyncio.timeout(10):
        await asked.wait()
    await stage.client.command("magent.cancel", runId=started["runId"])
    assert (await stage.ended(started)).stop == "cancelled"
    del stage.client.on["magent/input"]
    run = await use(stage, "ask me something else", "mcp__sample__add", a=1, b=2)
    assert run.stop == "end_turn"


async def test_subagents_have_what_their_agent_may(stage: Stage) -> None:
    stage.client.always = "Allow once"
    stage.client.questions.clear()
    both = (
        call("delegate", agent="general", prompt="count for me"),
        call("delegate", agent="explore", prompt="look for me"),
    )
    stage.cast("share the work", say("", *both), say("Done."))
    stage.cast("count for me", say("", call("mcp__sample__add", a=1, b=2)), say("three"))
    stage.cast("look for me", say("nothing"))
    assert (await stage.run("share the work")).stop == "end_turn"
    assert "mcp__sample__add" in offered(stage, "count for me")
    assert not [name for name in offered(stage, "look for me") if name.startswith("mcp__")]
    assert "add of the MCP server sample" in stage.client.questions[-1]["message"]


async def test_a_run_on_a_part_asks_for_every_call(stage: Stage) -> None:
    """A server could write where the run may not."""
    configure(stage, permission={"mcp__sample__*": "allow"})
    await use(stage, "all over the place", "mcp__sample__add", a=1, b=2)
    assert stage.client.questions == []
    buffer = stage.client.open("part.py", "x = 1\n")
    stage.client.always = "Reject"
    stage.cast("only here", say("", call("mcp__sample__add", a=1, b=2)))
    run = await stage.run("only here", uri=buffer.uri, scope="buffer")
    assert run.stop == "rejected"
    assert [action["title"] for action in stage.client.questions[-1]["actions"]] == ["Allow once", "Reject"]
    configure(stage)


async def test_progress_shows_and_cancel_reaches_the_server(stage: Stage) -> None:
    stage.client.always = "Allow once"
    stage.cast("take your time", say("", call("mcp__sample__slow")), say("Done."))
    started = await stage.start("take your time")
    await stage.client.until(
        lambda: any(
            "one of three (1/3)" in str(value.get("message"))
            for values in stage.client.progress.values()
            for value in values
        )
    )
    await stage.client.command("magent.cancel", runId=started["runId"])
    run = await stage.ended(started)
    assert run.stop == "cancelled"
    note = stage.home / "cancelled"
    await until(note.exists)


async def until(what: Callable[[], bool]) -> None:
    """Wait for something outside of the protocol."""
    async with asyncio.timeout(20):
        while not what():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_the_lists_and_the_doctor_know_them(stage: Stage) -> None:
    await stage.run("hello")
    tools = await stage.client.command("magent.tools")
    kinds = {tool["name"]: tool["kind"] for tool in tools}
    assert kinds["mcp__sample__read_file"] == "read"
    assert kinds["mcp__sample__add"] == "other"
    assert not [t for t in await stage.client.command("magent.tools", agent="ask") if "mcp" in t["name"]]
    verdict = await stage.client.command("magent.explainPermission", tool="mcp__sample__add", arguments={})
    assert verdict["verdict"] == "ask"
    unknown = await stage.client.command("magent.explainPermission", tool="mcp__no__such", arguments={})
    assert unknown["verdict"] == "ask", "rules speak of servers that do not run too"
    run = await stage.run("/doctor")
    assert "**sample**" in run.text
    assert "tools" in run.text


async def test_an_agent_that_may_not_is_not_offered_any(stage: Stage) -> None:
    stage.cast("only look", say("Done."))
    await stage.run("only look", agent="ask")
    assert not [name for name in offered(stage, "only look") if name.startswith("mcp__")]
    stage.cast("only plan", say("Done."))
    await stage.run("only plan", agent="plan")
    assert [name for name in offered(stage, "only plan") if name.startswith("mcp__")] == [
        "mcp__sample__read_file"
    ]


async def test_hooks_hear_of_them_by_their_name(stage: Stage) -> None:
    hook = {"matcher": "mcp__sample__.*", "command": "echo not from here >&2; exit 2"}
    configure(stage, hooks={"PreToolUse": [hook]})
    run = await use(stage, "be stopped", "mcp__sample__add", a=1, b=2)
    assert "not from here" in run.results("mcp__sample__add")[0]
    configure(stage)


async def test_a_changed_definition_is_asked_for_again(stage: Stage) -> None:
    """What was allowed for good must not become something else."""
    run = await use(stage, "allow add", "mcp__sample__add", answer="Always allow mcp__sample__add", a=1, b=2)
    assert run.stop == "end_turn"
    await use(stage, "add again", "mcp__sample__add", answer="Reject", a=1, b=2)
    assert stage.client.questions == [], "it is allowed"
    await use(stage, "now change", "mcp__sample__change")
    run = await use(stage, "add three", "mcp__sample__add", answer="Reject", a=1, b=2, c=3)
    assert run.stop == "rejected"
    (question,) = stage.client.questions
    assert "its definition has changed" in question["message"]
    assert "sends them to everybody" in json.dumps(stage.asked("add three")[-1].json["tools"])


async def test_a_definition_that_changes_in_the_middle_of_a_run(stage: Stage) -> None:
    configure(stage, mcpServers={"odd": odd()})
    stage.client.always = lambda params: {"title": params["actions"][1]["title"]}
    stage.client.questions.clear()
    stage.cast(
        "change under way",
        say("", call("mcp__odd__echo", text="one")),
        say("", call("mcp__odd__echo", text="two")),
        say("", call("mcp__odd__change")),
        say("", call("mcp__odd__echo", text="three")),
        say("Done."),
    )
    run = await stage.run("change under way")
    assert run.results("mcp__odd__echo") == ["one", "two", "three"]
    asked = [question["message"].split(" of the MCP")[0].split()[-1] for question in stage.client.questions]
    assert asked == ["echo", "change", "echo"]
    assert "its definition has changed" in stage.client.questions[-1]["message"]
    configure(stage)


async def test_a_crash_in_a_call_and_the_next_prompt(stage: Stage) -> None:
    configure(stage, mcpServers={"odd": odd()})
    run = await use(stage, "crash it", "mcp__odd__crash")
    (event,) = run.of("tool_call_finished")
    assert event["status"] == "failed"
    assert "exit code 3; it said: about to break" in event["output"]
    run = await use(stage, "and again", "mcp__odd__echo", text="hi")
    assert run.results("mcp__odd__echo") == ["hi"]
    configure(stage)


async def test_a_call_that_hangs_can_be_cancelled(stage: Stage) -> None:
    configure(stage, mcpServers={"odd": odd()})
    stage.client.always = "Allow once"
    stage.cast("hang", say("", call("mcp__odd__hang")), say("Done."))
    started = await stage.start("hang")
    await stage.client.until(
        lambda: [
            event
            for event in stage.client.of_run(started["runId"])
            if event["type"] == "tool_call_updated" and event["status"] == "in_progress"
        ]
    )
    clock = asyncio.get_running_loop().time
    before = clock()
    await stage.client.command("magent.cancel", runId=started["runId"])
    assert (await stage.ended(started)).stop == "cancelled"
    assert clock() - before < 1
    configure(stage)


@pytest.mark.slow
async def test_after_a_server_that_hangs_the_next_prompt_has_its_tools(stage: Stage) -> None:
    """It was asked again with every prompt, and never started again."""
    configure(stage, mcpServers={"odd": odd("silent")})
    stage.client.always = "Allow once"
    stage.cast("sleep on", say("", call("mcp__odd__sleep", text="3600")), say("Done."))
    started = await stage.start("sleep on")
    await stage.client.until(
        lambda: [
            event
            for event in stage.client.of_run(started["runId"])
            if event["type"] == "tool_call_updated" and event["status"] == "in_progress"
        ]
    )
    await stage.client.command("magent.cancel", runId=started["runId"])
    await stage.ended(started)
    clock = asyncio.get_running_loop().time
    before = clock()
    run = await use(stage, "and now", "mcp__odd__echo", text="awake")
    assert clock() - before < 8
    assert run.results("mcp__odd__echo") == ["awake"]
    assert any("is started again" in event["message"] for event in run.of("notice"))
    configure(stage)


async def test_an_answer_that_cannot_be_read_ends_the_call_at_once(stage: Stage) -> None:
    configure(stage, mcpServers={"odd": odd("raw")})
    wrong = '{"jsonrpc":"2.0","id":ID,"result":[1]}'
    run = await use(stage, "answer badly", "mcp__odd__echo", text=wrong)
    (event,) = run.of("tool_call_finished")
    assert event["status"] == "failed"
    assert "its result is [1], which is no object" in event["output"]
    half = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"half \\ud83d"}]}}'
    run = await use(stage, "answer by half", "mcp__odd__echo", text=half)
    assert run.results("mcp__odd__echo") == ["half \N{REPLACEMENT CHARACTER}"]
    configure(stage)


async def test_more_tools_than_a_request_takes(stage: Stage) -> None:
    configure(stage, mcpServers={"many": odd("many")})
    stage.cast("so many", say("Done."))
    run = await stage.run("so many")
    shown = [name for name in offered(stage, "so many") if name.startswith("mcp__many__")]
    assert 50 < len(shown) <= 100
    (notice,) = [
        event["message"] for event in run.of("notice") if "500" in event["message"] or "5" in event["message"]
    ]
    assert "left out" in notice
    configure(stage)


async def test_a_server_that_does_not_run_is_told_of(stage: Stage) -> None:
    configure(
        stage, mcpServers={"gone": {"command": "no-such-server"}, "mute": odd("mute", startTimeout=0.1)}
    )
    stage.cast("without them", say("Done."))
    run = await stage.run("without them")
    notices = " ".join(event["message"] for event in run.of("notice"))
    assert "'gone'" in notices
    assert "'mute'" in notices
    problems = [each["message"] for each in (await stage.client.command("magent.status"))["problems"]]
    assert any("'gone'" in problem and "cannot be started" in problem for problem in problems)
    configure(stage)


async def test_a_project_starts_nothing_before_it_is_trusted(stage: Stage) -> None:
    """A checked-out repository would run what it likes."""
    started = stage.home / "started"
    entry = odd(f"pids={started}", env={"WHO": "${MY_USER:-me}"})
    stage.write(".mcp.json", json.dumps({"mcpServers": {"theirs": entry}}))
    stage.cast("untrusted", say("Done."))
    await stage.run("untrusted")
    await stage.run("/doctor")
    assert not [name for name in offered(stage, "untrusted") if "theirs" in name]
    assert not started.exists()
    shown = await stage.client.command("magent.trust")
    text = json.dumps(shown)
    assert "WHO=${MY_USER:-me}" in text
    assert str(ODD) in text
    await stage.client.until(lambda: stage.client.questions)
    stage.client.questions.clear()
    await stage.trust()
    run = await use(stage, "trusted now", "mcp__theirs__look")
    assert json.loads(run.results("mcp__theirs__look")[0])["WHO"] == "me"
    (stage.workspace / ".mcp.json").unlink()
    stage.tell(stage.workspace / ".mcp.json")
    stage.cast("theirs no more", say("Done."))
    await stage.run("theirs no more")
    assert not [name for name in offered(stage, "theirs no more") if "theirs" in name]
    await until(lambda: gone(int(started.read_text().split()[-1])))


async def test_a_server_at_an_address(stage: Stage, far: subprocess.Popen[str]) -> None:
    assert far.stdout is not None
    url = (await asyncio.to_thread(far.stdout.readline)).strip()
    entry = {"url": url, "headers": {"Authorization": "Bearer far-away-token"}}
    configure(stage, mcpServers={"far": entry})
    run = await use(stage, "far away", "mcp__far__add", a=1, b=2)
    assert '"sum": 3' in run.results("mcp__far__add")[0]
    run = await use(stage, "far and long", "mcp__far__big")
    assert "characters left out" in run.results("mcp__far__big")[0]
    far.kill()
    await asyncio.to_thread(far.wait)
    run = await use(stage, "out of reach", "mcp__far__add", a=1, b=2)
    assert run.of("tool_call_finished")[0]["status"] == "failed"
    stage.cast("still gone", say("Done."))
    notices = [*run.of("notice"), *(await stage.run("still gone")).of("notice")]  # whichever found it out
    assert any("cannot be reached" in event["message"] for event in notices)
    configure(stage)


def gone(pid: int) -> bool:
    """Whether a process is no more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat.rpartition(b")")[2].split()[0] in b"ZX"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["kill", "hang up"])
async def test_no_server_is_left_behind(tmp_path: Path, way: str) -> None:
    """Not even of a server that ignores everything, after `kill -9` of ours."""
    pids = tmp_path / "pids"
    servers = {"odd": odd("stubborn", f"pids={pids}")}
    async with editor(tmp_path, script=[{"text": "Hello"}], settings={"mcpServers": servers}) as client:
        started = await client.command("magent.prompt", prompt="hi")
        await client.finished(started["runId"])
        running = [int(pid) for pid in pids.read_text().split()]
        assert not any(map(gone, running))
        assert client.process is not None
        if way == "kill":
            os.kill(client.process.pid, signal.SIGKILL)
        else:
            await client.shutdown()
        await client.process.wait()
        await until(lambda: all(map(gone, running)))


async def test_without_the_library_all_else_works(tmp_path: Path) -> None:
    without = "import sys; sys.modules['mcp'] = None; from magent_lsp.cli import main; main()"
    servers = {"odd": odd()}
    async with editor(
        tmp_path, script=[{"text": "Hello"}], settings={"mcpServers": servers}, code=without
    ) as client:
        started = await client.command("magent.prompt", prompt="hi")
        assert (await client.finished(started["runId"]))["text"] == "Hello"
        problems = [each["message"] for each in (await client.command("magent.status"))["problems"]]
        assert any("pipx inject magent-lsp 'mcp>=2.3,<3'" in problem for problem in problems)
