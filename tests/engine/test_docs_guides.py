"""The guides to hooks, agents and plans say what the program does: their examples are run here."""

import re
from pathlib import Path
from typing import get_args

import pytest

from magent_lsp.core.messages import ToolMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.engine import mentions, plans
from magent_lsp.engine.crew import MAX_MEMBERS
from magent_lsp.engine.loop import MAX_HELD
from magent_lsp.engine.subagents import MAX_CHILDREN, MAX_DEPTH
from magent_lsp.store.hooks import DEFAULT_TIMEOUT, MAX_TIMEOUT, HookEvent
from tests.engine.conftest import Desk
from tests.support.model_server import ModelServer, call

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
HOOKS = (GUIDE / "hooks.md").read_text(encoding="utf-8")
AGENTS = (GUIDE / "agents-and-plans.md").read_text(encoding="utf-8")


def example(page: str, name: str) -> str:
    match = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w+\n(.*?)\n```", page, re.DOTALL)
    assert match, f"the guide has no example {name!r}"
    return match[1] + "\n"


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("guard.py", "check.sh"):
        path = folder / name
        path.write_text(example(HOOKS, name))
        path.chmod(0o755)
    return folder


async def test_the_guard_and_the_check_of_the_guide(
    desk: Desk, server: ModelServer, bin_folder: Path
) -> None:
    file = desk.magent.dirs.config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(example(HOOKS, "config").replace("~/bin", str(bin_folder)))
    desk.magent.reload()
    assert desk.magent.problems == ()
    server.reply(calls=[call("bash", command="git push"), call("bash", command="pytest --version")])
    server.reply("Done.")
    server.reply(calls=[call("write_file", path="NOTES.md", content="notes\n")])
    server.reply("Really done.")
    started = desk.magent.start(RunRequest(prompt="go"))
    assert (await desk.magent.wait(started.run_id)).text == "Really done."
    messages = desk.magent.session(started.session_id).messages
    push, test, _ = [m for m in messages if isinstance(m, ToolMessage)]
    assert "Pushing is done by hand here." in push.text
    assert '"command": "pytest --version -x"' in test.text
    assert any("Write NOTES.md first." in m.text for m in messages)


def test_the_table_has_every_event_once() -> None:
    table = HOOKS.partition("<!-- events -->")[2].partition("<!-- end of events -->")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*get_args(HookEvent)]


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"({DEFAULT_TIMEOUT:g} if left out, at most {MAX_TIMEOUT:g})" in HOOKS
    assert f"at most {MAX_HELD} times" in HOOKS
    limits = f"Limits: {MAX_DEPTH} deep, {MAX_CHILDREN} in one run, {MAX_MEMBERS} open in the background."
    assert limits in AGENTS
    assert f"At most {mentions.MOST_FILES} files and {mentions.MOST_CHARACTERS:,} characters" in AGENTS
    assert plans.slug("Greet people by name") in AGENTS


async def test_the_agent_of_the_guide_works_for_people_and_agents(desk: Desk, server: ModelServer) -> None:
    path = desk.magent.dirs.user / "agent" / "reviewer.md"
    path.parent.mkdir(parents=True)
    path.write_text(example(AGENTS, "reviewer.md"))
    desk.magent.reload()
    assert desk.magent.problems == ()
    server.reply(calls=[call("delegate", agent="reviewer", prompt="review a.py")])
    server.reply(calls=[call("write_file", path="x", content="x"), call("bash", command="ls")])
    server.reply("fine")
    server.reply("It is fine.")
    assert (await desk.run("go")).text == "It is fine."
    assert not (desk.workspace / "x").exists()
    assert set(server.requests[1].tools) == {"read_file", "grep", "bash"}
    server.reply("fine")
    assert (await desk.run("look", agent="reviewer")).text == "fine"
