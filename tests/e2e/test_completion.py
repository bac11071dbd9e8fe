"""Completion serves our own kinds of files, and is in nobody's way in all others."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, editor
from tests.support.lsp_profiles import EMACS, NEOVIM, VSCODE, Profile

_CAPABILITIES = copy.deepcopy(VSCODE.capabilities)
_CAPABILITIES["textDocument"]["completion"]["dynamicRegistration"] = True
ABLE = Profile("able", _CAPABILITIES)


async def complete(client: LspClient, uri: str, line: int, character: int) -> set[str]:
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    found: Any = await client.request("textDocument/completion", params) or []
    return {item["label"] for item in (found["items"] if isinstance(found, dict) else found)}


async def test_it_is_registered_for_our_files_only(tmp_path: Path) -> None:
    async with editor(tmp_path, profile=ABLE, initialize=False) as client:
        result = await client.initialize(magent={"warmUp": False})
        assert "completionProvider" not in result["capabilities"]
        await client.until(
            lambda: any(r["method"] == "textDocument/completion" for r in client.registrations)
        )
        [options] = [
            r["registerOptions"] for r in client.registrations if r["method"] == "textDocument/completion"
        ]
        patterns = [item["pattern"] for item in options["documentSelector"]]
        assert "**/*.magent.md" in patterns
        assert "**" not in patterns


async def test_a_client_that_registers_nothing_is_told_at_once_and_gets_nothing_for_other_files(
    tmp_path: Path,
) -> None:
    async with editor(tmp_path, profile=NEOVIM, initialize=False) as client:
        capabilities = (await client.initialize(magent={"warmUp": False}))["capabilities"]
        assert capabilities["completionProvider"] == {"triggerCharacters": ["/", "@"]}
        assert "hoverProvider" not in capabilities, "this one can be told of later"
        agent = client.open(".claude/agents/x.md", "---\nmode: \n---\n", language="markdown")
        assert "subagent" in await complete(client, agent.uri, 1, 6)
        other = client.open("a.py", "mode: \n")
        assert await complete(client, other.uri, 0, 6) == set()


@pytest.mark.parametrize("name", ["", "Eglot"])
async def test_eglot_would_shut_out_all_other_completion_and_is_not_told(tmp_path: Path, name: str) -> None:
    able = {"completion": {"dynamicRegistration": False}, "hover": {"dynamicRegistration": False}}
    eglot = Profile(
        "eglot",
        {**EMACS.capabilities, "textDocument": {**EMACS.capabilities["textDocument"], **able}},
        client=name,
        unknown_request="null",
    )
    async with editor(tmp_path, profile=eglot, initialize=False) as client:
        capabilities = (await client.initialize(magent={"warmUp": False}))["capabilities"]
        assert "completionProvider" not in capabilities
        assert capabilities["hoverProvider"] is True


async def test_what_is_offered(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[], profile=ABLE) as client:
        chat = client.open("talk.magent.md", "## You\n\n/\nlook at @\n", language="markdown")
        assert {"improve", "undo", "compact"} <= await complete(client, chat.uri, 2, 1)
        assert "talk.magent.md" in await complete(client, chat.uri, 3, 9)
        assert await complete(client, chat.uri, 3, 4) == set()
        agent = client.open(
            ".magent/agent/x.md", "---\n\nmode: \ntools: \n---\nmode: \n", language="markdown"
        )
        assert {"description", "mode", "tools"} <= await complete(client, agent.uri, 1, 0)
        assert await complete(client, agent.uri, 2, 6) == {"primary", "subagent", "all"}
        assert "read_file" in await complete(client, agent.uri, 3, 7)
        assert await complete(client, agent.uri, 5, 6) == set()
        config = client.open(".magent/config.yaml", "\nlog: \nwarmUp: \n", language="yaml")
        assert {"model", "permission"} <= await complete(client, config.uri, 0, 0)
        assert "debug" in await complete(client, config.uri, 1, 5)
        assert await complete(client, config.uri, 2, 8) == {"true", "false"}
        other = client.open("a.md", "/\n", language="markdown")
        assert await complete(client, other.uri, 0, 1) == set()
