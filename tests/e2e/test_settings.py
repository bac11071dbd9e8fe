"""Settings come in several ways, change while the server runs, and are never fatal."""

import json
from pathlib import Path
from typing import Any

from tests.support.lsp_client import LspClient, editor
from tests.support.lsp_profiles import POOR, VSCODE


def script(home: Path, name: str, text: str) -> str:
    path = home / f"{name}.json"
    path.write_text(json.dumps([{"text": text, "repeat": True}]))
    return f"scripted:{path}"


async def says(client: LspClient) -> str:
    run = await client.command("magent.prompt", prompt="who are you?")
    text = (await client.finished(run["runId"]))["text"]
    assert isinstance(text, str)
    return text


async def test_the_section_is_pulled_and_beats_the_options(tmp_path: Path) -> None:
    async with editor(tmp_path, initialize=False) as client:
        client.settings = {"model": script(tmp_path, "pulled", "pulled"), "apiBase": None}
        await client.initialize(magent={"model": script(tmp_path, "options", "options"), "warmUp": False})
        assert await says(client) == "pulled"
        assert any(r["method"] == "workspace/didChangeWatchedFiles" for r in client.registrations)


async def test_settings_are_pushed_in_two_forms(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=POOR, initialize=False) as client:
        await client.initialize(magent={"model": script(tmp_path, "options", "options"), "warmUp": False})
        assert await says(client) == "options"
        for name, form in (("wrapped", lambda s: {"magent": s}), ("bare", lambda s: s)):
            section = {"model": script(tmp_path, name, name)}
            client.notify("workspace/didChangeConfiguration", {"settings": form(section)})
            assert await says(client) == name
        for nothing in (None, {}, {"pylsp": {"x": 1}}, []):
            client.notify("workspace/didChangeConfiguration", {"settings": nothing})
            assert await says(client) == "bare"
        client.notify("workspace/didChangeConfiguration", {"settings": {"magent": None}})
        assert await says(client) == "options"


async def test_a_change_that_says_nothing_is_asked_for(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=VSCODE, initialize=False) as client:
        client.settings = {"model": script(tmp_path, "one", "one")}
        await client.initialize(magent={"warmUp": False})
        assert await says(client) == "one"
        client.settings = {"model": script(tmp_path, "two", "two")}
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert await says(client) == "two"


async def test_a_bad_value_is_reported_once_with_its_file(tmp_path: Path) -> None:
    def complaints(client: LspClient) -> list[str]:
        return [text for _, text in client.messages if "maxTurns" in text]

    config = tmp_path / "config" / "config.yaml"
    config.parent.mkdir()
    config.write_text(f"model: {script(tmp_path, 'm', 'fine')}\nmaxTurns: many\n")
    async with editor(tmp_path) as client:
        await client.until(lambda: client.diagnostics.get(config.as_uri()))
        [problem] = client.diagnostics[config.as_uri()]
        assert problem["range"]["start"]["line"] == 1
        assert "maxTurns" in problem["message"]
        assert await says(client) == "fine"
        assert await says(client) == "fine"
        [complaint] = complaints(client)
        assert f"{config}:2" in complaint
        status = await client.command("magent.status")
        assert any("maxTurns" in item["message"] for item in status["problems"])
        config.write_text(f"model: {script(tmp_path, 'm', 'fine')}\n")
        client.notify("textDocument/didSave", {"textDocument": {"uri": config.as_uri()}})
        await client.until(lambda: client.diagnostics[config.as_uri()] == [])
        assert len(complaints(client)) == 1


async def test_a_bad_agent_is_shown_on_its_file(tmp_path: Path) -> None:
    files = {".magent/agent/broken.md": "---\ndescription: [\n---\nx\n"}
    async with editor(tmp_path, script=[], files=files) as client:
        uri = (tmp_path / "ws/.magent/agent/broken.md").as_uri()
        await client.until(lambda: client.diagnostics.get(uri))


async def test_files_that_appear_are_read_when_the_client_says_so(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:

        async def names() -> set[str]:
            return {item["name"] for item in await client.command("magent.slashCommands")}

        assert "later" not in await names()
        path = tmp_path / "ws/.magent/commands/later.md"
        path.parent.mkdir(parents=True)
        path.write_text("---\ndescription: Later\n---\nLater\n")
        params: dict[str, Any] = {"changes": [{"uri": path.as_uri(), "type": 1}]}
        client.notify("workspace/didChangeWatchedFiles", params)
        assert "later" in await names()


async def test_workspace_folders_come_and_go(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("from the other folder")
    calls = [{"tool": "read_file", "arguments": {"path": str(other / "b.txt")}}]
    steps = [{"text": "", "calls": calls}, {"when": {"tool": "from the other"}, "text": "Read."}]
    async with editor(tmp_path, script=steps) as client:
        event = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        run = await client.command("magent.prompt", prompt="read it")
        assert (await client.finished(run["runId"]))["text"] == "Read."
        assert client.questions == []
        assert other.as_posix() in (await client.command("magent.status"))["folders"]
        gone = {"added": [], "removed": [{"uri": other.as_uri(), "name": "other"}]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": gone})
        assert other.as_posix() not in (await client.command("magent.status"))["folders"]


async def test_the_editors_log_follows_the_setting(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[], settings={"log": "debug"}) as client:
        await client.command("magent.status")
        client.notify("textDocument/didChange", {"odd": True})
        await client.until(lambda: client.logs)
    async with editor(tmp_path, script=[], settings={"log": "off"}) as client:
        await client.command("magent.status")
        client.notify("textDocument/didChange", {"odd": True})
        await client.command("magent.status")
        assert client.logs == []
