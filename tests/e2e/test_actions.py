"""Code actions: what is offered where, and that it costs nothing to ask."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import ResponseError, editor
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
            "Magent: Trust this project's config",
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
        await client.finished(run["runId"], seconds=20)
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


async def test_the_last_run_can_be_undone_by_action(tmp_path: Path) -> None:
    edits = [{"old_string": "return n", "new_string": "return n * 2"}]
    calls = [{"tool": "edit_file", "arguments": {"path": "a.py", "edits": edits}}]
    script = [{"text": "", "calls": calls}, {"text": "Done."}]
    settings = {"permission": {"edit_file": "allow"}}
    async with editor(tmp_path, script=script, files={"a.py": TEXT}, settings=settings) as client:
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="double it", uri=buffer.uri)
        await client.finished(run["runId"])
        assert buffer.text == TEXT.replace("return n", "return n * 2")
        offered = await client.actions(buffer.uri, buffer.range("TODO"))
        undo = next(action for action in offered if action["title"] == "Magent: Undo: double it")
        assert (await client.act(undo))["restored"] == [buffer.uri]
        assert buffer.text == TEXT


async def test_a_chat_document_offers_to_send(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "Hello."}]) as client:
        opened = await client.command("magent.openChat")
        buffer = client.open(Path(opened["uri"].removeprefix("file://")), language="markdown")
        client.type(buffer, buffer.text, f"{buffer.text}Hi\n")
        offered = await client.actions(buffer.uri, buffer.range("Hi"))
        assert titles(offered) == ["Magent: Send this message"]
        await client.act(offered[0])
        await client.until(lambda: "Hello." in buffer.text)


async def test_a_project_is_trusted_by_action(tmp_path: Path) -> None:
    config = "permission:\n  bash: allow\n"
    files = {"a.py": TEXT, ".magent/config.yaml": config}
    async with editor(tmp_path, script=[], files=files) as client:
        buffer = client.open("a.py")
        assert (await client.command("magent.status"))["trusted"] is False
        offered = await client.actions(buffer.uri, buffer.range("TODO"))
        client.always = "Trust it"
        told = await client.act(
            next(a for a in offered if a["title"] == "Magent: Trust this project's config")
        )
        assert told["trusted"] is False
        assert told["items"]
        await client.until(lambda: any("trusted now" in text for _, text in client.messages))
        assert "bash" in client.questions[0]["message"]
        assert (await client.command("magent.status"))["trusted"] is True


async def test_whoever_asks_to_trust_gets_an_answer(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        told = await client.command("magent.trust")
        assert told["trusted"] is True
        await client.until(lambda: any("nothing to trust" in text for _, text in client.messages))
        command = tmp_path / "ws/.magent/commands/x.md"
        command.parent.mkdir(parents=True)
        command.write_text("See !`rm -rf $1`\n")  # while the server runs, and nobody told it
        client.always = "Trust it"
        assert (await client.command("magent.trust"))["trusted"] is False
        await client.until(lambda: any("trusted now" in text for _, text in client.messages))
        assert "`rm -rf $1`" in client.questions[0]["message"]
        assert (await client.command("magent.trust"))["trusted"] is True
        await client.until(lambda: any("trusted already" in text for _, text in client.messages))
        assert len(client.questions) == 1


async def test_trust_is_for_what_was_shown(tmp_path: Path) -> None:
    files = {".magent/config.yaml": "permission:\n  bash: allow\n"}
    async with editor(tmp_path, script=[], files=files, profile=POOR) as client:
        told = await client.command("magent.trust")
        await client.until(lambda: client.messages)
        (tmp_path / "ws/.magent/config.yaml").write_text("permission:\n  '*': allow\n")
        with pytest.raises(ResponseError, match="'digest'"):
            await client.command("magent.trust", digest=told["digest"])
        assert (await client.command("magent.status"))["trusted"] is False
        told = await client.command("magent.trust")
        assert (await client.command("magent.trust", digest=told["digest"]))["trusted"] is True
