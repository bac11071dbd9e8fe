"""Hooks through the protocol: every event runs, a guard guards, and a crash never takes the run with it."""

import json
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from magent_lsp.store.hooks import EVENTS
from tests.support.chat import Talk
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    rules = {"bash": "allow", "write_file": "allow", "fetch": "ask"}
    async with on_stage(
        tmp_path_factory.mktemp("hooks"), files={"a.py": "x = 1\n"}, permission=rules
    ) as stage:
        yield stage


def use(stage: Stage, **hooks: list[dict[str, Any]]) -> None:
    """Hooks of the person's own config, which count from the next prompt on."""
    path = stage.home / "config" / "config.yaml"
    path.write_text(yaml.safe_dump({"hooks": hooks}))
    stage.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})


def script(stage: Stage, name: str, code: str) -> str:
    path = stage.home / f"{name}.py"
    path.write_text(f"import json, sys\ntold = json.load(sys.stdin)\n{code}\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def recorder(stage: Stage) -> tuple[str, Path]:
    log = stage.home / "hooks.log"
    log.unlink(missing_ok=True)
    return script(stage, "record", f"open({str(log)!r}, 'a').write(json.dumps(told) + '\\n')"), log


async def test_every_event_is_told(stage: Stage) -> None:
    command, log = recorder(stage)
    use(stage, **{event: [{"command": command}] for event in EVENTS})
    stage.client.always = "Allow once"
    stage.cast(
        "do all",
        say(
            "",
            call("bash", command="true"),
            call("read_file", path="missing.py"),
            call("fetch", url="http://127.0.0.1:9/x"),
            call("delegate", agent="explore", prompt="a hooked task"),
        ),
        say("Done."),
    )
    stage.cast("a hooked task", say("looked"))
    run = await stage.run("do all")
    assert run.text == "Done.", run.error
    stage.cast("do all", say("NOTES"), say("more"))
    await stage.run("/compact", sessionId=run.session_id)
    await stage.run("/clear", sessionId=run.session_id)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert {each["hook_event_name"] for each in told} == set(EVENTS)
    assert {each["session_id"] for each in told} == {run.session_id}
    before = [
        each for each in told if each["hook_event_name"] == "PreToolUse" and each["tool_name"] == "bash"
    ]
    assert before[0]["tool_input"]["command"] == "true"
    assert before[0]["cwd"] == str(stage.workspace)


async def test_a_guard_blocks_changes_and_tells(stage: Stage) -> None:
    guard = script(
        stage,
        "guard",
        "command = told['tool_input'].get('command', '')\n"
        "if 'push' in command:\n    print('not from here', file=sys.stderr)\n    sys.exit(2)\n"
        "out = {'hookSpecificOutput': {'updatedInput': {'command': 'echo changed > b.txt'}, "
        "'additionalContext': 'MIND THE GAP'}}\n"
        "print(json.dumps(out))",
    )
    use(stage, PreToolUse=[{"matcher": "Bash", "hooks": [{"type": "command", "command": guard}]}])
    stage.cast(
        "be guarded",
        say(
            "",
            call("bash", command="git push"),
            call("bash", command="echo kept"),
            call("read_file", path="a.py"),
        ),
        say("ok"),
    )
    run = await stage.run("be guarded")
    assert "not from here" in run.results("bash")[0]
    assert (stage.workspace / "b.txt").read_text() == "changed\n"
    assert "MIND THE GAP" in str(stage.asked("be guarded")[1].messages)
    assert "x = 1" in run.results("read_file")[0], "the matcher means bash alone"


@pytest.mark.parametrize(
    "how",
    [
        "sys.exit(3)",
        "import os; os.kill(os.getpid(), 9)",
        "print('{nonsense')",
        "import time; time.sleep(60)",
    ],
)
@pytest.mark.parametrize("closed", [False, True])
async def test_a_hook_that_fails_never_takes_the_run_with_it(stage: Stage, how: str, closed: bool) -> None:
    part = f"fail {how[:12]} {closed}"
    broken = script(stage, "broken", how)
    timeout = 0.5 if "sleep" in how else 20
    use(
        stage,
        PreToolUse=[{"command": broken, "timeout": timeout, "failClosed": closed}],
        Stop=[{"command": broken, "timeout": timeout}],
    )
    asked = len(stage.client.questions)
    stage.client.always = "Allow once"
    stage.cast(part, say("", call("bash", command="true")), say("survived"))
    run = await stage.run(part)
    assert (run.stop, run.text) == ("end_turn", "survived")
    failed = [event for event in run.of("tool_call_finished") if event["status"] == "failed"]
    assert bool(failed) == closed
    if not closed:
        assert (len(stage.client.questions) > asked) == ("exit(3)" not in how), (
            "nobody decided, so a person does"
        )
    assert any("hook" in event["message"] for event in run.of("notice"))


async def test_a_blocked_prompt_and_a_stop_that_sends_the_agent_on(stage: Stage) -> None:
    no = script(
        stage, "no", "print('not today', file=sys.stderr); sys.exit(2 if 'secret' in told['prompt'] else 0)"
    )
    more = script(
        stage,
        "more",
        "sys.exit(0) if told['stop_hook_active'] else (print('write tests', file=sys.stderr), sys.exit(2))",
    )
    use(stage, UserPromptSubmit=[{"command": no}], Stop=[{"command": more}])
    blocked = await stage.run("a secret thing")
    assert blocked.stop == "error"
    assert "not today" in (blocked.error or "")
    stage.cast("plain thing", say("finished?"), say("with tests"))
    run = await stage.run("plain thing")
    assert run.text == "with tests"
    assert "write tests" in stage.asked("plain thing")[1].last


async def test_hooks_of_a_project_run_only_once_it_is_trusted(stage: Stage) -> None:
    use(stage)
    command, log = recorder(stage)
    stage.write(".magent/config.yaml", yaml.safe_dump({"hooks": {"SessionStart": [{"command": command}]}}))
    stage.cast("not trusted", say("ok"))
    await stage.run("not trusted")
    assert not log.exists()
    await stage.trust()
    stage.cast("now trusted", say("ok"))
    await stage.run("now trusted")
    assert log.exists()


async def test_a_prompt_that_a_hook_blocked_is_no_history_of_a_chat_either(stage: Stage) -> None:
    """It would go out with the next message, past the hook."""
    guard = script(
        stage,
        "no_names",
        "if 'Ada' in told['prompt']: print('no names, please', file=sys.stderr); sys.exit(2)",
    )
    use(stage, UserPromptSubmit=[{"command": guard}])
    talk = Talk(stage, "guarded")
    await talk.send(say("One."))
    talk.write("Ada did it.\n")
    await talk.send()
    assert "> - magent: A hook blocked this prompt: no names, please" in talk.text
    talk.write("Somebody did it.\n")
    await talk.send(say("Two."))
    use(stage)
    assert talk.asked() == [("user", "guarded"), ("assistant", "One."), ("user", "Somebody did it.")]
