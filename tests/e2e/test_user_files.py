"""Files of all three families as people have them, and what an editor shows of a bad one and of the keys."""

import copy
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.lsp_profiles import VSCODE, Profile
from tests.support.stage import Stage, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

TREE = Path(__file__).parents[1] / "store" / "tree"

_CAPABILITIES = copy.deepcopy(VSCODE.capabilities)
_CAPABILITIES["textDocument"]["hover"]["dynamicRegistration"] = True
_CAPABILITIES["textDocument"]["completion"]["dynamicRegistration"] = True
ABLE = Profile("able", _CAPABILITIES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    home = tmp_path_factory.mktemp("files")
    shutil.copytree(TREE, home / "ws")
    async with on_stage(home, profile=ABLE) as stage:
        yield stage


async def test_a_tree_of_all_three_families_loads_as_documented(stage: Stage) -> None:
    await stage.trust()
    agents = {agent["name"]: agent for agent in await stage.client.command("magent.agents")}
    assert {"migrator", "reviewer", "test-runner", "build", "plan"} <= set(agents)
    assert agents["migrator"]["source"].endswith(".magent/agent/migrator.md"), "ours before opencode's"
    assert agents["build"]["description"] == "Our own build agent"
    commands = {item["name"] for item in await stage.client.command("magent.slashCommands")}
    assert {"db:reset", "git:changelog", "frontend:component", "commit"} <= commands
    skills = {item["name"] for item in await stage.client.command("magent.skills")}
    assert {"release-notes", "pdf-forms", "house-style", "magent"} <= skills
    problems = (await stage.client.command("magent.status"))["problems"]
    broken = [each for each in problems if each["path"] and each["path"].endswith("broken.md")]
    assert broken
    assert broken[0]["line"]
    stage.cast("read the rules", say("ok"))
    await stage.run("read the rules", agent="general")
    system = str(stage.asked("read the rules")[0].messages[0]["content"])
    assert (TREE / "AGENTS.md").read_text().strip().splitlines()[0] in system
    deep = (TREE / "src/api/CLAUDE.md").read_text().strip()
    assert deep not in system
    handlers = stage.client.open("src/api/handlers.py", "x = 1\n")
    stage.cast("read more rules", say("ok"))
    await stage.run("read more rules", agent="general", uri=handlers.uri)
    system = str(stage.asked("read more rules")[0].messages[0]["content"])
    assert 'from="AGENTS.md"' in system
    assert system.index('from="AGENTS.md"') < system.index('from="src/api/CLAUDE.md"')
    assert deep in system


BAD = [
    (
        ".magent/agent/odd.md",
        "---\ndescription: x\nmode: sometimes\n---\nx\n",
        2,
        "primary, subagent or all",
        None,
    ),
    (".magent/agent/none.md", "---\nmode: all\n---\nx\n", 0, "needs a `description`", None),
    (
        ".magent/skills/bad-one/SKILL.md",
        "---\nname: Bad One\ndescription: x\n---\nx\n",
        1,
        "no name for a skill",
        None,
    ),
    (".magent/commands/odd.md", "---\ndescription: x\nsubtask: maybe\n---\nx\n", 2, "true or false", None),
    (".claude/agents/open.md", "---\nname: open\ndescription: x\n", 0, "not closed", None),
    (
        "../config/config.yaml",
        "model: auto\nhooks:\n  PreTool:\n    - command: x\n",
        2,
        "did you mean 'PreToolUse'?",
        "model: auto\n",
    ),
    (".magent/config.yaml", "model: auto\nmaxTurn: 3\n", 1, "did you mean 'maxTurns'?", "model: auto\n"),
    (".magent/config.yaml", "permission:\n  bash: maybe\n", 1, "is not a verdict", "model: auto\n"),
]


@pytest.mark.parametrize(
    ("how", "name", "text", "line", "mend", "good"),
    [*(("watched", *each) for each in BAD), ("saved", *BAD[0]), ("opened", *BAD[0]), ("opened", *BAD[-2])],
)
async def test_a_bad_file_is_shown_with_its_line_and_its_mend_and_cleared(
    stage: Stage, how: str, name: str, text: str, line: int, mend: str, good: str | None
) -> None:
    path = (stage.workspace / name).resolve()
    kept = path.read_text() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    uri = path.as_uri()

    def told() -> None:
        if how == "watched":
            stage.tell(path)
        elif how == "saved":
            stage.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        else:
            stage.client.open(name, language="markdown")
            stage.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def shown() -> Any:
        return [d for d in stage.client.diagnostics.get(uri, []) if mend in d["message"]]

    path.write_text(text)
    told()
    await stage.client.until(shown)
    [diagnostic] = shown()
    assert diagnostic["range"]["start"]["line"] == line
    assert diagnostic["source"] == "magent"
    path.write_text(good if good is not None else "---\nname: fine\ndescription: Fine\n---\nFine.\n")
    if path.name == "SKILL.md":
        path.write_text("---\nname: bad-one\ndescription: Fine\n---\nFine.\n")
    told()
    await stage.client.until(lambda: not shown())
    if kept is None:
        path.unlink()
    else:
        path.write_text(kept)
    stage.tell(path)


@pytest.mark.parametrize(
    ("name", "disk", "bad", "line", "mend"),
    [
        (
            ".claude/agents/typed.md",
            None,
            "---\ndescription: x\nmode: sometimes\n---\nx\n",
            2,
            "primary, sub",
        ),
        (
            ".opencode/command/typed.md",
            "---\ndescription: x\n---\nx\n",
            "---\ndescription: x\nsubtask: maybe\n---\nx\n",
            2,
            "true or false",
        ),
        (".magent/skills/typed/SKILL.md", None, "---\nname: Not One\n---\nx\n", 1, "no name for a skill"),
        (
            "../config/config.yaml",
            "model: auto\n",
            "model: auto\nmaxTurn: 3\n",
            1,
            "did you mean 'maxTurns'?",
        ),
        ("../config/config.yaml", "model: auto\n", "model: [\n", 0, "last good state stays in force"),
    ],
)
async def test_what_is_typed_is_looked_at_before_it_is_saved_and_is_not_in_force(
    stage: Stage, name: str, disk: str | None, bad: str, line: int, mend: str
) -> None:
    path = (stage.workspace / name).resolve()
    if disk is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(disk)
        stage.tell(path)
    before = [text for _, text in stage.client.messages if path.name in text and mend in text]
    buffer = stage.client.open(path, bad, language="markdown")

    def shown() -> Any:
        return [d for d in stage.client.diagnostics.get(buffer.uri, []) if mend in d["message"]]

    await stage.client.until(shown)
    assert shown()[0]["range"]["start"]["line"] == line
    said = [text for _, text in stage.client.messages if path.name in text and mend in text]
    assert said == before, "nobody is interrupted while typing"
    problems = (await stage.client.command("magent.status"))["problems"]
    assert not [each for each in problems if mend in each["message"]]
    stage.client.type(buffer, bad, "---\ndescription: x\nname: fine\n---\nx\n" if disk is None else disk)
    await stage.client.until(lambda: not shown())
    stage.client.type(buffer, buffer.text, bad)
    await stage.client.until(shown)
    stage.client.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})
    await stage.client.until(lambda: not shown())
    if disk is not None:
        path.unlink()
        stage.tell(path)


async def at(stage: Stage, method: str, uri: str, line: int, character: int) -> Any:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    found = await stage.client.request(f"textDocument/{method}", place)
    return found["items"] if method == "completion" and isinstance(found, dict) else found


AGENT = "---\ndescription: x\nmode: \nmax-turns: 3\npermission:\n  bash: \n---\nmode: here\n"
CONFIG = "bash:\n  sandbox: \nhooks:\n  Stop:\n    - command: x\n      \nmaxTurns: 3\n"


async def test_keys_are_explained_with_type_and_default(stage: Stage) -> None:
    agent = stage.client.open(".magent/agent/hovered.md", AGENT, language="markdown")
    config = stage.client.open(stage.home / "config" / "config.yaml", CONFIG, language="yaml")
    for uri, line, column, words in (
        (agent.uri, 2, 1, ("**mode**", "primary | subagent | all", "Default: all")),
        (agent.uri, 3, 4, ("**maxTurns**", "Requests to the model", "whole number")),
        (agent.uri, 5, 3, ("**bash**", "allow | ask | deny")),
        (config.uri, 1, 4, ("**sandbox**", "off | bwrap", '"off"')),
        (config.uri, 3, 3, ("**Stop**", "believes it has finished")),
        (config.uri, 4, 8, ("**command**", "The shell command", "Required")),
        (config.uri, 6, 2, ("**maxTurns**", "50")),
    ):
        hover = await at(stage, "hover", uri, line, column)
        assert all(word in hover["contents"]["value"] for word in words), (line, hover)
    assert await at(stage, "hover", agent.uri, 7, 1) is None
    other = stage.client.open("notes.md", AGENT, language="markdown")
    assert await at(stage, "hover", other.uri, 2, 1) is None


async def test_the_files_of_other_programs_are_served_too(stage: Stage) -> None:
    for name, line, words in (
        (".claude/agents/served.md", "tools: ", {"read_file", "bash"}),
        (".opencode/agent/sub/served.md", "mode: ", {"primary", "subagent"}),
        (".claude/commands/served.md", "subtask: ", {"true", "false"}),
        (".agents/skills/served/SKILL.md", "", {"description", "license"}),
    ):
        buffer = stage.client.open(name, f"---\n{line}\n---\nx\n", language="markdown")
        found = {item["label"] for item in await at(stage, "completion", buffer.uri, 1, len(line))}
        assert words <= found, (name, found)
        if line:
            assert "Type: " in (await at(stage, "hover", buffer.uri, 1, 2))["contents"]["value"]
    for name in (".claude/settings.json", ".claude/notes/agents/x.md", "agents/x.md"):
        other = stage.client.open(name, "---\nmode: \n---\n", language="markdown")
        assert not await at(stage, "completion", other.uri, 1, 6)


async def test_keys_and_values_are_completed(stage: Stage) -> None:
    agent = (stage.workspace / ".magent/agent/hovered.md").as_uri()
    config = (stage.home / "config" / "config.yaml").as_uri()
    for uri, line, column, words in (
        (agent, 2, 6, {"primary", "subagent", "all"}),
        (agent, 5, 8, {"allow", "ask", "deny"}),
        (config, 1, 11, {"off", "bwrap"}),
        (config, 5, 6, {"matcher", "timeout", "failClosed"}),
    ):
        found = {item["label"] for item in await at(stage, "completion", uri, line, column)}
        assert words <= found, (line, found)


async def test_both_are_registered_for_our_files_alone(stage: Stage) -> None:
    for method in ("textDocument/hover", "textDocument/completion"):
        [found] = [each for each in stage.client.registrations if each["method"] == method]
        patterns = [each["pattern"] for each in found["registerOptions"]["documentSelector"]]
        assert patterns == [
            "**/*.magent.md",
            "**/.agents/**",
            "**/.claude/**",
            "**/.magent/**",
            "**/.opencode/**",
            f"{stage.home.as_posix()}/config/**",
        ]
