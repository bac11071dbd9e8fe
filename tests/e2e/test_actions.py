"""Code actions: what is offered where, and that it costs nothing to ask."""

from pathlib import Path
from typing import Any

from tests.support.lsp_client import editor
from tests.support.lsp_profiles import EMACS, POOR

TEXT = "# TODO: return twice the number\ndef twice(n):\n    return n\n"

PROBLEM = {
    "range": {"start": {"line": 2, "character": 11}, "end": {"line": 2, "character": 12}},
    "severity": 1,
    "message": "wrong result",
    "source": "tests",
}


def titles(actions: list[Any]) -> list[str]:
    return [action["title"] for action in actions]


async def test_what_is_offered(tmp_path: Path) -> None:
    command = (
        "---\ndescription: Makes it nice\ncodeAction: true\nkind: refactor.rewrite\n---\nMake it nice.\n"
    )
    files = {"a.py": TEXT, ".magent/commands/nice.md": command}
    async with editor(tmp_path, script=[], files=files) as client:
        buffer = client.open("a.py")
        offered = await client.actions(buffer.uri, buffer.range("return n"), diagnostics=[PROBLEM])
        assert titles(offered) == [
            "Magent: Fix: wrong result",
            "Magent: Improve",
            "Magent: Write tests",
            "Magent: Document",
            "Magent: Explain",
            "Magent: /nice: Makes it nice",
            "Magent: Open chat",
        ]
        at_comment = await client.actions(buffer.uri, buffer.range("TODO"))
        assert "Magent: Do what this comment says" in titles(at_comment)


async def test_only_is_respected(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[], files={"a.py": TEXT}, profile=EMACS) as client:
        buffer = client.open("a.py")
        place = buffer.range("return n")
        offered = await client.actions(buffer.uri, place, only=["quickfix"], diagnostics=[PROBLEM])
        assert titles(offered) == ["Magent: Fix: wrong result", "Magent: Explain"]
        offered = await client.actions(buffer.uri, place, only=["refactor"])
        assert {action["kind"] for action in offered} == {"refactor.rewrite"}
        offered = await client.actions(buffer.uri, place, only=["source"])
        assert titles(offered) == ["Magent: Open chat"]
        assert await client.actions(buffer.uri, place, only=["source.organizeImports"]) == []
        assert await client.actions(buffer.uri, place, only=["refactor.extract", "other"]) == []


async def test_settings_switch_actions_off(tmp_path: Path) -> None:
    off = dict.fromkeys(("improve", "tests", "document", "fix", "comment", "commands", "chat"), False)
    settings = {"actions": off}
    async with editor(tmp_path, script=[], files={"a.py": TEXT}, settings=settings) as client:
        buffer = client.open("a.py")
        offered = await client.actions(buffer.uri, buffer.range("TODO"), diagnostics=[PROBLEM])
        assert titles(offered) == ["Magent: Explain"]


async def test_clients_that_know_only_commands_get_commands(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[], files={"a.py": TEXT}, profile=POOR) as client:
        buffer = client.open("a.py")
        offered = await client.actions(buffer.uri, buffer.range("return n"))
        assert {type(action["command"]) for action in offered} == {str}


async def test_a_diagnostic_reaches_the_model_with_the_fix(tmp_path: Path) -> None:
    script = [{"when": {"user": "wrong result"}, "text": "Seen."}]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        offered = await client.actions(buffer.uri, PROBLEM["range"], diagnostics=[PROBLEM])
        run = await client.act(offered[0])
        assert (await client.finished(run["runId"]))["text"] == "Seen."


async def test_diagnostics_of_the_context_are_known_to_the_tool(tmp_path: Path) -> None:
    script = [
        {"text": "", "calls": [{"tool": "diagnostics", "arguments": {"path": "a.py"}}]},
        {"when": {"tool": "wrong result"}, "text": "Seen."},
    ]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        await client.actions(buffer.uri, PROBLEM["range"], diagnostics=[PROBLEM])
        run = await client.command("magent.prompt", prompt="look")
        assert (await client.finished(run["runId"]))["text"] == "Seen."


async def test_a_running_run_can_be_cancelled_by_action(tmp_path: Path) -> None:
    script = [{"text": "never", "first_delay": 60, "repeat": True}]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="one")
        offered = await client.actions(buffer.uri, buffer.range("TODO"))
        assert offered[0]["title"] == "Magent: Cancel"
        assert await client.act(offered[0]) == {"cancelled": [run["runId"]]}
        await client.finished(run["runId"], seconds=2)
        offered = await client.actions(buffer.uri, buffer.range("TODO"))
        assert offered[0]["title"] != "Magent: Cancel"


async def test_the_selection_is_read_when_the_action_runs(tmp_path: Path) -> None:
    """Between the menu and the choice the person may have typed."""
    script = [{"when": {"user": "return n \\* 2"}, "text": "Seen."}]
    async with editor(tmp_path, script=script, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        line = {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}
        offered = await client.actions(buffer.uri, line)
        client.type(buffer, "return n", "return n * 2")
        run = await client.act(next(a for a in offered if a["title"] == "Magent: Improve"))
        assert (await client.finished(run["runId"]))["text"] == "Seen."
