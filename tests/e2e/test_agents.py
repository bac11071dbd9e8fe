"""Agents through the protocol: who works, chosen for a session or a prompt, from files that come and go."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.lsp_client import ResponseError
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

BUILT_IN = {"build", "plan", "general", "explore", "ask"}
HIDDEN = {"compaction", "title", "summary"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("agents"), files={"a.py": "x = 1\n"}) as stage:
        yield stage


def started(run: Any) -> dict[str, Any]:
    [event] = run.of("run_started")
    return event


async def ask(stage: Stage, question: str, **more: Any) -> Any:
    uri = stage.client.open("a.py").uri
    place = {"line": 0, "character": 0}
    return await stage.client.command("magent.ask", uri=uri, position=place, question=question, **more)


async def names(stage: Stage) -> set[str]:
    return {agent["name"] for agent in await stage.client.command("magent.agents")}


async def test_the_built_in_agents_are_listed_and_the_hidden_ones_are_not(stage: Stage) -> None:
    listed = await stage.client.command("magent.agents")
    assert {agent["name"] for agent in listed} >= BUILT_IN
    assert not {agent["name"] for agent in listed} & HIDDEN
    assert {agent["mode"] for agent in listed} <= {"primary", "subagent", "all"}
    assert [agent["name"] for agent in listed if agent["default"]] == ["build"]


async def test_an_agent_for_one_prompt_and_for_a_session(stage: Stage) -> None:
    stage.cast("who are you", say("b"), say("a"), say("still"))
    first = await stage.run("who are you")
    assert started(first)["agent"] == "build"
    asked = await stage.run("who are you now", sessionId=first.session_id, agent="ask")
    assert started(asked)["agent"] == "ask"
    again = await stage.run("who are you then", sessionId=first.session_id)
    assert started(again)["agent"] == "build", "an agent for one prompt is for that prompt"
    asked = await ask(stage, "why?", sessionId=first.session_id)
    assert started(await stage.ended(asked))["agent"] == "ask"
    again = await stage.run("and now", sessionId=first.session_id)
    assert started(again)["agent"] == "build", "a question in between changes nothing"
    asked = await ask(stage, "what?")
    begun = await stage.ended(asked)
    assert started(begun)["agent"] == "ask"
    asked = await ask(stage, "and?", sessionId=begun.session_id)
    await stage.ended(asked)
    opened = await stage.client.command("magent.openChat", sessionId=begun.session_id)
    assert "agent:" not in Path(opened["uri"].removeprefix("file://")).read_text()
    for prompt in ("now do it", "go on"):
        again = await stage.run(prompt, sessionId=begun.session_id)
        assert started(again)["agent"] == "build", "nor does a question that comes first"
    await stage.run("/model openai/gpt-x", sessionId=begun.session_id)
    listed = await stage.client.command("magent.sessions")
    assert [it["agent"] for it in listed if it["sessionId"] == begun.session_id] == ["build"]
    begun = await stage.ended(await ask(stage, "what else?"))
    for agent in ("general", "build"):
        more = {"agent": agent} if agent == "general" else {}
        again = await stage.run(f"{agent} it", sessionId=begun.session_id, **more)
        assert started(again)["agent"] == agent, "a subagent is asked once"
    session = await stage.client.command("magent.newSession", agent="ask")
    stage.cast("in a session of ask", say("yes"))
    run = await stage.run("in a session of ask", sessionId=session["sessionId"])
    assert started(run)["agent"] == "ask"
    assert "write_file" not in stage.asked("in a session of ask")[0].tools
    with pytest.raises(ResponseError, match="no agent 'nobody'"):
        await stage.start("x", agent="nobody")


async def test_a_model_for_one_prompt_and_for_a_session(stage: Stage) -> None:
    stage.cast("which model", say("1"), say("2"))
    run = await stage.run("which model", model="openai/gpt-4o-mini")
    await stage.run("and now", sessionId=run.session_id)
    session = await stage.client.command("magent.newSession", model="openai/gpt-4.1")
    stage.cast("model of a session", say("3"))
    await stage.run("model of a session", sessionId=session["sessionId"])
    used = [
        request.json["model"] for request in (*stage.asked("which model"), *stage.asked("model of a session"))
    ]
    assert used == ["gpt-4o-mini", "gpt-4o", "gpt-4.1"]


async def test_an_agents_file_says_how_it_works(stage: Stage) -> None:
    stage.write(
        ".magent/agent/careful.md",
        "---\ndescription: Careful\nmode: all\ntemperature: 0.3\ntopP: 0.5\nmaxTurns: 2\n"
        "options:\n  seed: 7\npermission:\n  '*': deny\n  read_file: allow\n---\nYou are CAREFUL.\n",
    )
    await stage.trust()
    stage.cast("be careful", *[say("", call("read_file", path="a.py", offset=n)) for n in (1, 2, 3, 4)])
    run = await stage.run("be careful", agent="careful")
    assert run.stop == "max_turns"
    request = stage.asked("be careful")[0]
    assert (request.json["temperature"], request.json["top_p"], request.json["seed"]) == (0.3, 0.5, 7)
    assert request.tools == ["read_file"]
    system = str(request.messages[0]["content"])
    assert "You are CAREFUL." in system
    assert str(stage.workspace) not in system
    assert str(stage.workspace) in str(request.messages[1]["content"])


async def test_a_file_that_changes_counts_without_a_restart_and_a_run_keeps_what_it_began_with(
    stage: Stage,
) -> None:
    path = stage.write(".magent/agent/turncoat.md", "---\ndescription: One\n---\nYou are the FIRST.\n")
    assert "turncoat" in await names(stage)
    stage.cast("hold on", say(["a", "b"], call("read_file", path="a.py"), hold=True), say("done"))
    run = await stage.start("hold on", agent="turncoat")
    await stage.client.until(
        lambda: any(e["type"] == "text_delta" for e in stage.client.of_run(run["runId"]))
    )
    stage.write(".magent/agent/turncoat.md", "---\ndescription: Two\n---\nYou are the SECOND.\n")
    [listed] = [a for a in await stage.client.command("magent.agents") if a["name"] == "turncoat"]
    assert listed["description"] == "Two"
    stage.server.release()
    await stage.ended(run)
    assert all("FIRST" in str(request.messages[0]["content"]) for request in stage.asked("hold on"))
    assert len(stage.asked("hold on")) == 2
    stage.cast("next time", say("ok"))
    await stage.run("next time", agent="turncoat")
    assert "SECOND" in str(stage.asked("next time")[0].messages[0]["content"])
    path.unlink()
    stage.tell(path)
    assert "turncoat" not in await names(stage)


async def test_a_project_replaces_a_built_in_agent_only_when_it_is_trusted(stage: Stage) -> None:
    stage.write(".claude/agents/ask.md", "---\nname: ask\ndescription: Ours\n---\nYou answer for the SHOP.\n")
    stage.cast("who answers", say("theirs"))
    await stage.run("who answers", agent="ask")
    assert "SHOP" not in str(stage.asked("who answers")[0].messages[0]["content"])
    await stage.trust()
    stage.cast("who answers then", say("ours"))
    await stage.run("who answers then", agent="ask")
    assert "SHOP" in str(stage.asked("who answers then")[0].messages[0]["content"])


async def test_saving_an_agent_keeps_what_a_person_wrote_in_its_file(stage: Stage) -> None:
    path = stage.write(
        ".magent/agent/mine.md", "---\n# my comment\ndescription: Old\nmode: subagent\n---\nMy own words.\n"
    )
    saved = await stage.client.command("magent.saveAgent", name="mine", description="New", maxTurns=4)
    assert saved == {"uri": path.as_uri()}
    text = path.read_text()
    assert "# my comment" in text
    assert "My own words." in text
    assert "description: New" in text
    [listed] = [a for a in await stage.client.command("magent.agents") if a["name"] == "mine"]
    assert listed["description"] == "New"


async def test_saving_an_agent_whose_file_is_open_changes_the_buffer_and_keeps_what_is_typed(
    stage: Stage,
) -> None:
    text = "---\ndescription: Old\n---\nMy own words.\n"
    path = stage.write(".magent/agent/typed.md", text)
    buffer = stage.client.open(path, text.replace("Old", "Typed") + "Not saved.\n", language="markdown")
    saved = await stage.client.command("magent.saveAgent", name="typed", maxTurns=4)
    assert saved == {"uri": path.as_uri()}
    await stage.client.until(lambda: "maxTurns" in buffer.text)
    assert buffer.text == ("---\ndescription: Typed\nmaxTurns: 4\n---\nMy own words.\nNot saved.\n")
    assert path.read_text() == text, "nothing is written under a buffer"
    stage.client.type(buffer, buffer.text, "---\nmode: [\n---\n")
    with pytest.raises(ResponseError, match="YAML"):
        await stage.client.command("magent.saveAgent", name="typed", maxTurns=5)
    assert buffer.text == "---\nmode: [\n---\n"
    stage.client.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})
