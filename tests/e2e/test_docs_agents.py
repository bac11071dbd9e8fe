"""The guide to agents and plans: each of its examples is run against the real server."""

import json
import re
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio

from tests.support.lsp_client import NO_ANSWER
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "agents-and-plans.md").read_text(encoding="utf-8")
CODE = "def greet():\n    return 'oi'\n\n\ngreet()\n"
PLACE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


def example(name: str) -> Any:
    match = re.search(rf"<!-- example: {name} -->\n```json\n(.*?)\n```", GUIDE, re.DOTALL)
    assert match, f"the guide has no example {name!r}"
    return json.loads(match[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(
        tmp_path_factory.mktemp("guide"), files={"greet.py": CODE}, permission={"edit_file": "allow"}
    ) as stage:
        stage.client.always = lambda params: NO_ANSWER
        stage.client.open("greet.py")
        yield stage


async def choose(stage: Stage, title: str) -> None:
    offered = await stage.client.actions((stage.workspace / "greet.py").as_uri(), PLACE)
    [action] = [action for action in offered if action["title"] == title]
    assert title in GUIDE
    assert await stage.client.act(action) == {"ok": True}


async def test_subagents(stage: Stage) -> None:
    tasks = example("delegate")
    stage.cast("look at the cache", say("", *[call("delegate", **task) for task in tasks]), say("I know."))
    for task in tasks:
        stage.cast(task["prompt"], say(f"seen: {task['prompt'][:20]}"))
    run = await stage.run("look at the cache")
    assert {*run.results("delegate")} == {f"seen: {task['prompt'][:20]}" for task in tasks}


async def test_a_question(stage: Stage) -> None:
    arguments = example("ask_user")
    stage.cast("ask me", say("", call("ask_user", **arguments)), say("Thanks."))
    run = await stage.start("ask me")
    await stage.client.until(lambda: stage.client.questions)
    shown = stage.client.questions.pop()
    assert arguments["question"] in shown["message"]
    assert [action["title"] for action in shown["actions"]] == arguments["options"]
    await choose(stage, f"Magent: {arguments['options'][0]}: {arguments['question']}")
    assert (await stage.ended(run)).results("ask_user") == [f"The user chose: {arguments['options'][0]}"]


async def test_a_proposal(stage: Stage) -> None:
    arguments = example("propose")
    for title, answer in (("Accept", "Accepted as it is."), ("Reject", "Rejected.")):
        stage.cast(f"show me, {title}", say("", call("propose", **arguments)), say("Thanks."))
        before = len(stage.client.shown)
        run = await stage.start(f"show me, {title}")
        await stage.client.until(lambda before=before: len(stage.client.shown) > before)
        path = Path(unquote(urlsplit(stage.client.shown[-1]["uri"]).path))
        assert path.read_text() == arguments["content"]
        await choose(stage, f"Magent: {title}: {arguments['title']}")
        assert (await stage.ended(run)).results("propose")[0].startswith(answer)


async def test_a_run_on_a_place(stage: Stage) -> None:
    argument = example("scoped")
    buffer = stage.client.buffers[(stage.workspace / "greet.py").as_uri()]
    polite = call(
        "edit_file", path="greet.py", old_string="    return 'oi'\n", new_string="    # hm\n    return 'hi'\n"
    )
    beside = call("edit_file", path="greet.py", old_string="greet()\n", new_string="pass\n")
    stage.cast(
        argument["prompt"],
        say("", call("read_file", path="greet.py"), polite, beside),
        say("", call("done", summary="Polite.")),
    )
    run = await stage.ended(await stage.client.command("magent.prompt", **{**argument, "uri": buffer.uri}))
    assert run.text == "Polite."
    assert buffer.text == CODE.replace("    return 'oi'\n", "    # hm\n    return 'hi'\n")
    [began] = run.of("run_started")
    assert (began["uri"], began["range"]["start"]["line"]) == (buffer.uri, argument["range"]["start"]["line"])
    assert run.of("target_updated")[-1]["range"]["end"]["line"] == 3


async def test_a_plan(stage: Stage) -> None:
    [(prompt, topic, slug)] = re.findall(r"`(/plan ([^`]+))`.*?`\.magent/plans/[\d-]+-([a-z-]+)\.md`", GUIDE)
    plan = f".magent/plans/{date.today().isoformat()}-{slug}.md"
    stage.cast(
        topic,
        say("", call("write_file", path=plan, content="# Plan\n\n1. Greet.\n")),
        say("Planned."),
        say("", call("edit_file", path="greet.py", old_string="'hi'", new_string="'hi you'")),
        say("Implemented."),
    )
    planned = await stage.run(prompt)
    assert (stage.workspace / plan).read_text() == "# Plan\n\n1. Greet.\n"
    done = await stage.run("/implement", sessionId=planned.session_id)
    assert done.text == "Implemented."
    assert "1. Greet." in str(stage.asked(topic)[2].messages[-1])
    assert [each.of("run_started")[0]["agent"] for each in (planned, done)] == ["plan", "build"]
    left = await stage.run("/done", sessionId=planned.session_id)
    assert "`build`" in left.text
