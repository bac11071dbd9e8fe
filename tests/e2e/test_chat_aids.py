"""What helps to write in a chat document: completion, buttons, folds, `@file` and `@selection`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.chat import Talk
from tests.support.lsp_client import LspClient, ResponseError, editor
from tests.support.lsp_profiles import EMACS, NEOVIM, VSCODE, Profile
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = {
    "src/deep/reader.py": "x = 1\ny = 2\nz = 3\n",
    "my notes.txt": "n\n",
    ".gitignore": "*.log\n",
    "a.log": "",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with on_stage(tmp_path_factory.mktemp("stage"), files=FILES) as stage:
        yield stage


async def complete(talk: Talk, behind: str) -> dict[str, dict[str, Any]]:
    """The items behind a text, by label."""
    at = talk.buffer.position(talk.text.index(behind) + len(behind))
    params = {"textDocument": {"uri": talk.buffer.uri}, "position": at}
    found = await talk.stage.client.request("textDocument/completion", params)
    return {item["label"]: item for item in found["items"]}


async def test_files_are_completed(stage: Stage) -> None:
    talk = Talk(stage, "files", '🦁 see @, @READ and @"my n and a@b')
    everything = await complete(talk, "see @")
    assert {"selection", "src/deep/reader.py", "my notes.txt"} <= set(everything)
    assert "a.log" not in everything
    found = await complete(talk, "@READ")
    assert list(found) == ["src/deep/reader.py"]
    edit = found["src/deep/reader.py"]["textEdit"]
    talk.buffer.apply([edit])
    assert "and" in talk.text
    assert "@src/deep/reader.py and" in talk.text
    talk.stage.client._tell(talk.buffer)
    [item] = (await complete(talk, '@"my n')).values()
    assert item["textEdit"]["newText"] == '"my notes.txt"'
    assert await complete(talk, "a@b") == {}


async def test_commands_are_completed_where_a_message_begins(stage: Stage) -> None:
    talk = Talk(
        stage, "commands", "/comp", text="## You\n\n/first\n\n## Magent\n\n/no\n\n## You\n\n/comp\n/later\n"
    )
    assert "compact" in await complete(talk, "/comp")
    for other in ("/first", "/no", "/later"):
        assert await complete(talk, other) == {}


async def test_front_matter_is_completed(stage: Stage) -> None:
    talk = Talk(stage, "front", text="---\nmo\nagent: \nmodel: \n---\n## You\n\nagent: \n")
    assert {"agent", "model"} <= set(await complete(talk, "mo"))
    agents = await complete(talk, "agent: ")
    assert {"build", "plan", "ask"} <= set(agents)
    assert "general" not in agents
    assert "openai/gpt-4o" in await complete(talk, "model: ")
    at = {"textDocument": {"uri": talk.buffer.uri}, "position": {"line": 7, "character": 7}}
    assert (await stage.client.request("textDocument/completion", at))["items"] == []


async def test_a_file_that_is_named_is_sent_along(stage: Stage) -> None:
    talk = Talk(stage, "named", "named: @src/deep/reader.py")
    await talk.send(say("Seen."))
    assert "y = 2" in str(stage.asked("named")[0].messages)


async def test_the_selection_is_sent_along(stage: Stage) -> None:
    talk = Talk(stage, "chosen", "chosen: what is @selection?")
    with pytest.raises(ResponseError, match="no selection has been seen"):
        await talk.start()
    buffer = stage.client.open("src/deep/reader.py")
    await stage.client.actions(buffer.uri, buffer.range("y = 2"))
    # Neither a cursor nor a selection in a chat takes its place, and it goes along with the text.
    await stage.client.actions(buffer.uri, buffer.range(""))
    await stage.client.actions(talk.buffer.uri, talk.buffer.range("chosen"))
    stage.client.type(buffer, "x = 1\n", "x = 1\n# one\n# two\n")
    await talk.send(say("Two."))
    prompt = str(stage.asked("chosen")[0].messages[-1]["content"])
    assert "Selected lines 4-4:\n```python\ny = 2\n```" in prompt
    assert "File at hand: src/deep/reader.py" in prompt


async def folds(talk: Talk) -> list[tuple[int, int]]:
    params = {"textDocument": {"uri": talk.buffer.uri}}
    found = await talk.stage.client.request("textDocument/foldingRange", params)
    return [(item["startLine"], item["endLine"]) for item in found]


async def test_tools_and_turns_fold(stage: Stage) -> None:
    text = (
        "---\nagent: ask\n---\n## You\n\nq\n\n## Magent\n\ntext\n\n> - tool: read_file a.py\n"
        "> - tool: bash `x`\n>   one\n>   two\n> - tool: todo `y`\n\nmore\n"
        "> quote\n\n> - tool: fetch `z`\n\n## You\n\n"
    )
    talk = Talk(stage, "folds", text=text)
    assert await folds(talk) == [(3, 5), (7, 20), (12, 14), (11, 15)]
    assert await folds(Talk(stage, "one", text="hello")) == []


async def test_other_documents_have_neither_buttons_nor_folds(stage: Stage) -> None:
    other = stage.client.open("other.md", "## You\n\nhi\n\n## Magent\n\nho\n")
    params = {"textDocument": {"uri": other.uri}}
    assert not await stage.client.request("textDocument/codeLens", params)
    assert not await stage.client.request("textDocument/foldingRange", params)


async def test_the_button_sends(stage: Stage) -> None:
    talk = Talk(stage, "button", text="# T\n\n## You\n\nold\n\n## Magent\n\na\n\n## You\n\nbutton\n")
    params = {"textDocument": {"uri": talk.buffer.uri}}
    [lens] = await stage.client.request("textDocument/codeLens", params)
    assert lens["range"]["start"]["line"] == 10
    stage.cast("old", say("Pressed."))
    run = await stage.client.act(lens)
    await talk.done(run["runId"])
    assert "Pressed." in talk.text


def registered(client: LspClient, method: str) -> list[dict[str, Any]]:
    return [item["registerOptions"] for item in client.registrations if item["method"] == method]


@pytest.mark.parametrize("profile", [VSCODE, NEOVIM, EMACS], ids=lambda profile: profile.name)
async def test_each_editor_is_told_in_its_way(tmp_path: Any, profile: Profile) -> None:
    async with editor(tmp_path, profile=profile, initialize=False) as client:
        capabilities = (await client.initialize(magent={"warmUp": False}))["capabilities"]
        static = "codeLensProvider" in capabilities, "foldingRangeProvider" in capabilities
        assert static == ((True, True) if profile is NEOVIM else (False, False))
        if profile is VSCODE:
            await client.until(lambda: registered(client, "textDocument/codeLens"))
            for method in ("textDocument/codeLens", "textDocument/foldingRange"):
                [options] = registered(client, method)
                assert options["documentSelector"] == [{"scheme": "file", "pattern": "**/*.magent.md"}]


async def test_an_editor_is_told_when_its_button_changes(stage: Stage) -> None:
    talk = Talk(stage, "refresh")
    await talk.send(say("Looking.", call("list_dir", path=".")), say("ok"))
    await stage.client.until(
        lambda: sum(m["method"] == "workspace/codeLens/refresh" for m in stage.client.everything) >= 2
    )
