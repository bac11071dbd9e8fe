"""Subagents through the protocol: side by side, in the background, by name, with no borrowed rights."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from magent_lsp.engine.subagents import MAX_CHILDREN
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("sub"), files={"a.py": "x = 1\n"}) as stage:
        yield stage


def give(agent: str, prompt: str, **more: object) -> object:
    return call("delegate", agent=agent, prompt=prompt, **more)


async def test_two_of_one_reply_work_side_by_side_each_in_a_session_that_can_be_opened(stage: Stage) -> None:
    stage.cast("look twice", say("", give("explore", "find ONE"), give("explore", "find TWO")), say("Both."))
    # Neither goes on before both were asked.
    stage.cast("find ONE", say(["one", " is here"], hold=True))
    stage.cast("find TWO", say(["two", " is there"], hold=True))
    started = await stage.start("look twice")
    await stage.reached("look twice", "find ONE", "find TWO")
    running = (await stage.client.command("magent.status"))["runs"]
    assert len([run for run in running if run.get("parentRunId") == started["runId"]]) == 2
    stage.server.release()
    run = await stage.ended(started)
    assert sorted(run.results("delegate")) == ["one is here", "two is there"]
    assert run.text == "Both."
    children = [e for e in stage.client.events if e["event"].get("parentRunId") == run.run_id]
    sessions = {child["sessionId"] for child in children}
    assert len(sessions) == 2
    exported = [await stage.client.command("magent.exportSession", sessionId=each) for each in sessions]
    assert any("find ONE" in str(text) for text in exported)
    stage.cast("find ONE", say("still me"))
    for each in sessions:
        chat = await stage.client.command("magent.openChat", sessionId=each)
        assert chat["sessionId"] == each


async def test_a_background_agent_is_listed_spoken_to_waited_for_and_closed(stage: Stage) -> None:
    stage.cast(
        "go behind",
        say("", give("explore", "dig in", background=True)),
        say("", call("list_agents")),
        say("", call("wait_agent", agent="explore-1")),
        say("", call("message_agent", agent="explore-1", message="dig deeper")),
        say("", call("wait_agent", agent="explore-1")),
        say("", call("close_agent", agent="explore-1")),
        say("", call("list_agents")),
        say("All dug."),
    )
    stage.cast("dig in", say("found a bone"), say("found gold"))
    run = await stage.run("go behind")
    assert run.text == "All dug.", run.error
    assert "explore-1 works in the background" in run.results("delegate")[0]
    listed, empty = run.results("list_agents")
    assert "explore-1" in listed
    assert "dig in" in listed
    assert "No agent is open" in empty
    assert run.results("wait_agent") == ["found a bone", "found gold"]
    assert "is closed" in run.results("close_agent")[0]
    again = stage.asked("dig in")[1]
    assert "dig deeper" in again.last
    assert "found a bone" in str(again.messages), "it remembers"


async def test_a_background_agent_lives_on_in_the_next_prompt(stage: Stage) -> None:
    stage.cast("open one", say("", give("explore", "keep watch", background=True)), say("ok"), say("ok"))
    stage.cast("keep watch", say("watching"), say("saw a fox"))
    await stage.run("open one")
    stage.cast(
        "ask it", say("", call("message_agent", agent="explore-2", message="and?")), say("a"), say("b")
    )
    run = await stage.run("ask it")
    assert "explore-2" in run.results("message_agent")[0]
    assert "saw a fox" in str(stage.asked("ask it")[-1].messages)


async def test_cancel_of_the_parent_ends_all(stage: Stage) -> None:
    stage.cast(
        "start and stop", say("", give("explore", "never A"), give("general", "never B", background=True))
    )
    stage.cast("never A", say("no", first_delay=60))
    stage.cast("never B", say("no", first_delay=60))
    started = await stage.start("start and stop")
    await stage.reached("never A", "never B")
    await stage.client.command("magent.cancel", runId=started["runId"])
    assert (await stage.client.finished(started["runId"], seconds=20))["stopReason"] == "cancelled"
    assert (await stage.client.command("magent.status"))["runs"] == []
    for request in (*stage.asked("never A"), *stage.asked("never B")):
        assert await request.wait_closed()


async def test_a_child_never_has_more_than_its_parent(stage: Stage) -> None:
    stage.write(
        ".magent/agent/boss.md",
        "---\ndescription: B\npermission:\n  edit: deny\n  bash: deny\n---\nYou give orders.\n",
    )
    stage.write(
        ".magent/agent/doer.md",
        "---\ndescription: D\npermission: allow\n---\nYou do everything.\n",
    )
    await stage.trust()
    tries = (
        call("write_file", path="owned", content="x"),
        call("edit_file", path="a.py", old_string="x = 1", new_string="owned"),
        call("bash", command="touch owned"),
        give("general", "a grandchild's try"),
    )
    stage.cast("order it", say("", give("doer", "do it all")), say("over"))
    stage.cast("do it all", say("", *tries), say("could not"))
    stage.cast("a grandchild's try", say("", *tries[:3]), say("nor I"))
    stage.client.always = "Allow once"
    run = await stage.run("order it", agent="boss")
    assert run.stop == "end_turn"
    assert not (stage.workspace / "owned").exists()
    assert (stage.workspace / "a.py").read_text() == "x = 1\n"
    assert stage.client.questions == []
    assert not {"write_file", "edit_file", "bash"} & set(stage.asked("do it all")[0].tools)
    assert not {"write_file", "edit_file", "bash"} & set(stage.asked("a grandchild's try")[0].tools)
    assert len(stage.asked("a grandchild's try")) == 2


async def test_depth_and_number_are_capped(stage: Stage) -> None:
    stage.cast("deep", say("", give("general", "level 1")), say("end"))
    for level in (1, 2, 3):
        stage.cast(f"level {level}", say("", give("general", f"level {level + 1}")), say(f"end {level}"))
    await stage.run("deep")
    assert stage.asked("level 3")
    assert "3 deep" in str(stage.asked("level 3")[-1].messages)
    assert not [part for part, _ in stage.requests if part == "level 4"]
    many = [give("explore", f"crowd {n}") for n in range(MAX_CHILDREN + 1)]
    stage.cast("crowd ", *[say(f"c{n}") for n in range(MAX_CHILDREN)])
    stage.cast("a mob", say("", *many), say("end"))
    run = await stage.run("a mob")
    assert sum("at most" in text for text in run.results("delegate")) == 1
    assert len(stage.asked("crowd ")) == MAX_CHILDREN
