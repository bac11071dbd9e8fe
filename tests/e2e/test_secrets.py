"""A key that the process knows reaches nobody, the model that said it itself included."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from magent_lsp.core.redact import MASK
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "sk-test-secret-value-123456"
"""The key that the stage has in its environment."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("secrets"), files={"a.py": "x = 1\n"}) as stage:
        stage.client.always = "Allow once"
        yield stage


@pytest.fixture(autouse=True)
def nothing_told(stage: Stage) -> Any:
    """Whatever a test does, no body of a request may hold it, and nothing that the editor is sent."""
    yield
    assert [request.number for request in stage.server.requests if SECRET.encode() in request.content] == []
    assert SECRET not in str(stage.client.everything)


def sent(stage: Stage, part: str) -> list[dict[str, Any]]:
    """The last request of a part, without the system prompt."""
    return stage.asked(part)[-1].messages[1:]


async def test_what_the_model_says_comes_back_to_it_without_and_its_call_ran_with_it(stage: Stage) -> None:
    write = call("write_file", path="key.txt", content=f"KEY={SECRET}\n")
    show = call("bash", command=f"printf %s {SECRET} | wc -c")
    stage.cast("spill it", say(f"It is {SECRET}.", write, show), say("Done."), say("Gladly."))
    run = await stage.run("spill it")
    assert (stage.workspace / "key.txt").read_text() == f"KEY={SECRET}\n"
    assert run.results("bash") == [str(len(SECRET))], "it ran as it was said"
    user, said, *results = sent(stage, "spill it")
    assert said["content"] == f"It is {MASK}."
    assert [each["function"]["name"] for each in said["tool_calls"]] == ["write_file", "bash"]
    assert [MASK in each["function"]["arguments"] for each in said["tool_calls"]] == [True, True]
    assert [each["tool_call_id"] for each in results] == [each["id"] for each in said["tool_calls"]]
    await stage.run("and again", sessionId=run.session_id)
    assert sent(stage, "spill it")[:4] == [user, said, *results]


async def test_nor_does_half_an_answer_that_broke_off(stage: Stage) -> None:
    broken = say([f"It is {SECRET}. ", "And ", "now"], fault="cut", after=2)
    stage.cast("break off", broken, broken, say("Here."))
    run = await stage.run("break off")
    assert run.stop == "error"
    await stage.run("go on", sessionId=run.session_id)
    assert MASK in str(sent(stage, "break off"))


async def test_nor_does_a_summary_or_what_is_put_beside_it(stage: Stage) -> None:
    todos = call("todo", items=[{"content": f"use {SECRET}", "status": "in_progress"}])
    stage.cast("sum up", say(f"I know {SECRET}.", todos), say("So far."))
    run = await stage.run("sum up")
    stage.cast("<conversation", say(f"NOTES: the key is {SECRET}."))
    stage.cast("goes on from an earlier part", say("On."))
    compacted = await stage.run(f"/compact mind {SECRET}", sessionId=run.session_id)
    assert "is summarised now" in compacted.text, compacted.error
    await stage.run("go on", sessionId=run.session_id)
    told = str(sent(stage, "goes on from an earlier part"))
    assert f"NOTES: the key is {MASK}." in told
    assert f"use {MASK}" in told
    summary = stage.asked("<conversation")[-1].last
    assert f"mind {MASK}" in summary


async def test_nor_does_a_subagent_or_whoever_it_works_for(stage: Stage) -> None:
    stage.cast(
        "delegate it",
        say(f"I give {SECRET} away.", call("delegate", agent="explore", prompt=f"look for {SECRET}")),
        say("Found."),
    )
    stage.cast("look for", say(f"{SECRET}?", call("glob", pattern=f"*{SECRET}*")), say(f"No {SECRET}."))
    run = await stage.run("delegate it")
    assert run.text == "Found."
    assert f"No {MASK}." in str(sent(stage, "delegate it"))


async def test_nor_what_a_person_says_to_it_on_the_way(stage: Stage) -> None:
    stage.cast("steer me", say("Begin.", call("list_dir"), hold=True), say("Fine."))
    started = await stage.start("steer me")
    await stage.reached("steer me")
    assert (await stage.client.command("magent.steer", runId=started["runId"], message=SECRET))["ok"]
    stage.server.release()
    await stage.ended(started)
    assert sent(stage, "steer me")[-1]["content"] == MASK
