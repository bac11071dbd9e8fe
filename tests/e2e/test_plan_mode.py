"""Plan mode through the protocol: a plan is written, carried out, left; nothing else can be changed."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.model_server import Call
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLAN = re.compile(r"\.magent/plans/\d{4}-\d\d-\d\d-greet-people\.md")

ESCAPES = [
    call("write_file", path="a.py", content="owned"),
    call("edit_file", path="a.py", old_string="x = 1", new_string="owned"),
    call("write_file", path=".magent/plans/../agent/plan.md", content="owned"),
    call("write_file", path=".magent/plans/../../owned", content="owned"),
    call("write_file", path="sub/.magent/plans/../owned", content="owned"),
    call("write_file", path=".magent/plans/link/owned", content="owned"),
    call("write_file", path=".magent/config.yaml", content="permission: allow"),
    call("bash", command="echo owned > owned"),
    call("bash", command="echo owned > .magent/plans/x && cp .magent/plans/x owned"),
    call("bash", command="git status; touch owned"),
    call("bash", command="git diff --output=owned"),
    call("bash", command="find . -name a.py -exec touch owned {} +"),
    call("bash", command="sh -c 'touch owned'"),
    call("bash", command="python3 -c \"open('owned', 'w')\""),
    call("bash", command="sort a.py -o owned"),
    call("bash", command="sed -n 'w owned' a.py"),
    call("bash", command="ls $(touch owned)"),
    call("bash", command="cat <<E\n$(touch owned)\nE"),
    call("editor_eval", code="write"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    rules = {"edit_file": "allow", "write_file": "allow", "bash": "allow"}
    home = tmp_path_factory.mktemp("plan")
    async with on_stage(home, files={"a.py": "x = 1\n"}, permission=rules) as stage:
        stage.client.always = "Allow once"
        (stage.workspace / ".magent/plans").mkdir(parents=True)
        (home / "outside").mkdir()
        (stage.workspace / ".magent/plans/link").symlink_to(home / "outside")
        yield stage


def unharmed(stage: Stage) -> bool:
    files = {path.name for path in stage.home.rglob("*owned*")}
    return not files and (stage.workspace / "a.py").read_text() == "x = 1\n"


async def test_a_plan_is_written_carried_out_and_left(stage: Stage) -> None:
    def path() -> str:
        found = PLAN.search(str(stage.asked("Plan this change")[0].messages))
        assert found
        return found[0]

    stage.cast("Plan this change: Greet people", say("", call("list_dir")))
    stage.parts[0] = ("Plan this change", stage.parts[0][1])
    first = await stage.run("/plan Greet people")
    assert first.of("run_started")[0]["agent"] == "plan"
    name = path()
    stage.cast(
        "Plan this change",
        say("", call("write_file", path=name, content="# Plan\n1. GREET\n")),
        say("Planned."),
    )
    run = await stage.run("go on", sessionId=first.session_id)
    assert run.text == "Planned."
    assert not run.of("permission_requested"), "the plan file needs no permission"
    assert "GREET" in (stage.workspace / name).read_text()
    (stage.workspace / name).write_text("# Plan\n1. GREET LOUDLY\n")
    stage.cast("Plan this change", say("Done."))
    done = await stage.run("/implement", sessionId=first.session_id)
    assert done.text == "Done.", done.error
    request = stage.asked("Plan this change")[-1]
    assert "GREET LOUDLY" in request.last
    assert "You are magent in plan mode" not in str(request.messages[0]["content"])
    await stage.run("/plan", sessionId=first.session_id)
    left = await stage.run("/done", sessionId=first.session_id)
    assert "`build`" in left.text


@pytest.mark.parametrize("who", ["plan", "child", "background"])
async def test_nothing_else_can_be_changed(stage: Stage, who: str) -> None:
    part = f"escape as {who}"
    calls = [say("", *ESCAPES[:9]), say("", *ESCAPES[9:]), say("I could not.")]
    if who == "plan":
        stage.cast(part, *calls)
    else:
        give = call("delegate", agent="general", prompt=f"task of {who}", background=who == "background")
        stage.cast(part, say("", give), say("Over."), say("Over."))
        stage.cast(f"task of {who}", *calls)
    run = await stage.run(part, agent="plan")
    assert run.stop == "end_turn", run.error
    assert unharmed(stage)
    part = part if who == "plan" else f"task of {who}"
    assert len(stage.asked(part)) == 3, "every attempt was made and refused"


async def test_not_even_by_what_a_trusted_project_brings_along(stage: Stage) -> None:
    for name, text in {
        "agent/free.md": "---\ndescription: x\npermission: allow\n---\nDo everything.\n",
        "skills/esc/SKILL.md": "---\ndescription: x\nallowed-tools: Bash, Write\n---\n!`touch owned`\n",
        "commands/own.md": "---\ndescription: x\nagent: build\n---\nBuild !`touch owned`\n",
        "commands/mine.md": "---\ndescription: x\n---\nMine !`touch owned`\n",
    }.items():
        stage.write(f".magent/{name}", text)
    await stage.trust()
    skill = Call(name="skill", arguments='{"name": "esc"}')
    stage.cast(
        "escape with help",
        say("", skill, call("todo", items=[{"content": "/implement", "status": "in_progress"}])),
        say("", call("delegate", agent="free", prompt="work of free")),
        say("", call("delegate", agent="build", prompt="work of build")),
        say("", call("delegate", agent="free", prompt="work of free", background=True)),
        say("", call("message_agent", agent="free-1", message="once more")),
        say("", call("wait_agent", agent="free-1")),
        *[say("/implement")] * 4,
    )
    stage.cast("work of free", *[say("", *ESCAPES[:4], *ESCAPES[7:9]), say("no")] * 4)
    run = await stage.run("/plan escape with help")
    assert run.stop == "end_turn", run.error
    assert "no subagent 'build'" in run.results("delegate")[1]
    assert len(stage.asked("work of free")) >= 4, "it tried, alone and in the background"
    for command in ("/mine", "/own"):
        stopped = await stage.run(command, sessionId=run.session_id)
        assert "denied" in (stopped.error or ""), "a command of plan mode is bound by its rules"
    assert unharmed(stage)


async def test_a_grant_or_a_rule_of_the_person_opens_nothing(stage: Stage) -> None:
    why = await stage.client.command(
        "magent.explainPermission", tool="bash", arguments={"command": "touch owned"}, agent="plan"
    )
    assert why["verdict"] == "deny"
    why = await stage.client.command(
        "magent.explainPermission", tool="write_file", arguments={"path": "a.py", "content": ""}, agent="plan"
    )
    assert why["verdict"] == "deny"
