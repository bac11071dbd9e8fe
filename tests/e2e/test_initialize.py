"""What a client is told at the start, and how little it waits for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lsp_client import LspClient, ResponseError, editor, server_environment
from tests.support.lsp_profiles import PROFILES, VSCODE, Profile

_LATER = {
    "litellm",
    "httpx",
    "rich",
    "prompt_toolkit",
    "tree_sitter",
    "html_to_markdown",
    "websockets",
    "yaml",
    "pydantic",
}

_INITIALIZE = """
import asyncio, json, sys
from magent_lsp.lsp.server import make_server

class Writer:
    sent = b""
    def write(self, data): Writer.sent += data
    def close(self): pass

async def main():
    server = make_server()
    server.protocol.set_writer(Writer())
    server.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"processId": None, "rootUri": None, "capabilities": {},
         "initializationOptions": {"magent": {"model": "x/y", "client": {"events": True}}}}}))
    while b"capabilities" not in Writer.sent:
        await asyncio.sleep(0)

asyncio.run(main())
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
async def test_every_editor_gets_the_contract(tmp_path: Path, profile: Profile) -> None:
    async with editor(tmp_path, profile=profile, initialize=False) as client:
        result = await client.initialize(magent={"warmUp": False})
        capabilities = result["capabilities"]
        assert capabilities["positionEncoding"] == "utf-16"
        assert capabilities["textDocumentSync"]["change"] == 2
        assert capabilities["textDocumentSync"]["openClose"] is True
        assert capabilities["codeActionProvider"]["codeActionKinds"] == [
            "quickfix",
            "refactor.rewrite",
            "source",
        ]
        assert capabilities["workspace"]["workspaceFolders"]["supported"] is True
        assert result["serverInfo"]["name"] == "magent-lsp"
        await client.shutdown()
        assert client.process is not None
        assert await client.process.wait() == 0


async def test_all_commands_are_advertised(tmp_path: Path) -> None:
    async with editor(tmp_path, initialize=False) as client:
        result = await client.initialize(magent={"warmUp": False})
        names = result["capabilities"]["executeCommandProvider"]["commands"]
    wanted = """prompt ask steer cancel pending respond answer undo
            redo status agents models slashCommands skills
        tools sessions searchSessions newSession forkSession renameSession summarizeSession exportSession
        compactSession deleteSession saveAgent explainPermission grants revokeGrant trust openChat send
        doctor"""
    assert set(names) == {f"magent.{name}" for name in wanted.split()}


def test_initialize_is_answered_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INITIALIZE],
        env=server_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not _LATER & set(json.loads(done.stdout))


async def test_requests_before_initialize_are_refused(tmp_path: Path) -> None:
    async with editor(tmp_path, initialize=False) as client:
        with pytest.raises(ResponseError) as refused:
            await client.command("magent.status")
        assert refused.value.code == -32002


async def test_a_second_initialize_and_requests_after_shutdown_are_refused(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        with pytest.raises(ResponseError) as refused:
            await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert refused.value.code == -32600
        await client.request("shutdown")
        with pytest.raises(ResponseError) as refused:
            await client.command("magent.status")
        assert refused.value.code == -32600


async def test_nonsense_on_the_wire_is_answered_and_survived(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[]) as client:
        for params in (None, {}, {"textDocument": 5}, [1, 2]):
            with pytest.raises(ResponseError) as refused:
                await client.request("textDocument/codeAction", params)
            assert refused.value.code == -32602
        with pytest.raises(ResponseError) as refused:
            await client.request("no/such/method", {})
        assert refused.value.code == -32601
        client.notify("no/such/notification", {"jsonrpc": "2.0", "id": 3})
        client.notify("textDocument/didChange", {"nothing": True})
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///never/opened"}})
        await client.link.send({"jsonrpc": "1.0", "what": "is this"})
        assert (await client.command("magent.status"))["runs"] == []
        assert client.messages == []


async def test_a_command_argument_may_look_like_a_message(tmp_path: Path) -> None:
    """A nested object with a `jsonrpc` key is data, not a message to be handled."""
    async with editor(tmp_path, script=[{"text": "fine"}]) as client:
        odd = {"jsonrpc": "2.0", "method": "exit"}
        run = await client.command(
            "magent.prompt", prompt="hi", uri=client.folder.as_uri(), diagnostics=[odd]
        )
        assert (await client.finished(run["runId"]))["text"] == "fine"


async def test_settings_may_be_missing_or_odd(tmp_path: Path) -> None:
    for options in (None, 5, [], {"magent": None}, {"magent": {"client": {"events": "x", "eval": 3}}}):
        async with editor(tmp_path, initialize=False, profile=VSCODE) as client:
            await client.initialize(initializationOptions=options)
            assert await client.command("magent.pending") == []


async def test_custom_messages_go_only_to_clients_that_declared_them(tmp_path: Path) -> None:
    async def methods(client: LspClient) -> set[str]:
        run = await client.command("magent.prompt", prompt="hi")
        await client.finished(run["runId"])
        await client.until(lambda: client.shown or client.events)
        return {message["method"] for message in client.everything if message["method"].startswith("magent/")}

    async with editor(tmp_path, script=[{"text": "Hello."}]) as client:
        assert await methods(client) == set()
    async with editor(tmp_path, script=[{"text": "Hello."}], client={"events": True}) as client:
        assert await methods(client) == {"magent/event"}
        types = [event["event"]["type"] for event in client.events]
        assert types[0] == "run_started"
        assert types[-1] == "run_finished"
        assert [event["seq"] for event in client.events] == list(range(1, len(client.events) + 1))
