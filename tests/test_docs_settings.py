"""The pages about settings and files say what the code does."""

import re
from pathlib import Path

import pytest

from magent_lsp.core.config import Settings
from magent_lsp.store.agent_file import KEYS, SPELLINGS, agent_of
from magent_lsp.store.commands import FileRef, Shell, expand, load_commands
from magent_lsp.store.config import load_settings
from magent_lsp.store.data import parse_yaml
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.fields import canonical
from magent_lsp.store.files import MAX_BYTES
from magent_lsp.store.frontmatter import MAX_HEAD, parse_front
from magent_lsp.store.hooks import DEFAULT_TIMEOUT, EVENTS, MAX_TIMEOUT, parse_hooks
from magent_lsp.store.instructions import MAX_CHARS, MAX_TOTAL
from magent_lsp.store.skills import MAX_DESCRIPTION, MAX_NAME, load_skills
from tests.support.docs_tables import DOCS, TABLES, rendered

FILES = (DOCS / "guide" / "files.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """The code block after a marker of the guide."""
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)\n```", FILES, re.DOTALL)
    assert match, f"the guide has no example {name!r}"
    return match[1] + "\n"


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_are_those_of_the_code(page: str) -> None:
    message = "run `python -m tests.support.docs_tables`"
    assert (DOCS / page).read_text(encoding="utf-8") == rendered(page), message


def test_every_setting_says_what_it_is() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_the_example_config_loads_without_a_problem(tmp_path: Path) -> None:
    page = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    dirs = Dirs.under(tmp_path)
    dirs.user.mkdir()
    dirs.config_file.write_text(text, encoding="utf-8")
    loaded = load_settings(dirs=dirs, folder=None, trusted=True, client={}, environ={})
    assert loaded.problems == ()
    assert loaded.settings.bash.timeout_seconds == 120
    assert len(loaded.layers[0].rules) == 4


def test_the_example_agent() -> None:
    loaded = agent_of(parse_front(example("agent"), Path("reviewer.md")))
    assert loaded.problems == ()
    assert (loaded.agent.name, loaded.agent.max_turns) == ("reviewer", 20)
    assert loaded.agent.permission["bash"] == {"*": "deny", "git diff *": "allow", "@read-only": "allow"}


def test_the_guide_names_only_keys_that_agents_have() -> None:
    section = FILES.split("## Agents")[1].split("## Skills")[0]
    named = [
        key
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", row)
    ]
    assert {canonical(key, SPELLINGS) for key in named} == set(KEYS)


def test_the_example_skill(tmp_path: Path) -> None:
    path = tmp_path / ".magent" / "skills" / "release-notes" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(example("skill"), encoding="utf-8")
    found = load_skills(tmp_path, Dirs.under(tmp_path / "home"), True)
    assert found.problems == ()
    assert "release-notes" in found.skills
    assert f"at most {MAX_NAME} characters" in FILES
    assert f"at most {MAX_DESCRIPTION} characters" in FILES


def test_the_example_command(tmp_path: Path) -> None:
    path = tmp_path / ".magent" / "commands" / "changes.md"
    path.parent.mkdir(parents=True)
    path.write_text(example("command"), encoding="utf-8")
    found = load_commands(tmp_path, Dirs.under(tmp_path / "home"), True)
    assert found.problems == ()
    command = found.commands["changes"]
    assert (command.agent, command.code_action, command.argument_hint) == ("ask", True, "<tag> [for whom]")
    assert command.restriction == {
        "*": "deny",
        "read_file": "allow",
        "bash": {"*": "deny", "git log *": "allow"},
    }
    assert expand(command, 'v1 "people who pay"').parts[0].text == (
        "Explain what changed since v1. Who reads it: people who pay\n\nCommits: "
    )
    parts = [part for part in expand(command, "v1").parts if isinstance(part, Shell | FileRef)]
    assert parts == [Shell("git log --oneline v1..HEAD"), FileRef("docs/style.md", "@docs/style.md")]


def test_the_example_hooks() -> None:
    hooks, problems = parse_hooks(parse_yaml(example("hooks")).value["hooks"])
    assert problems == ()
    assert [(hook.event, hook.fail_closed) for hook in hooks] == [("PreToolUse", True), ("Stop", False)]
    assert all(f"`{event}`" in FILES for event in EVENTS)
    assert f"({DEFAULT_TIMEOUT:g} if left out, at most {MAX_TIMEOUT:g})" in FILES


def test_the_limits_in_the_guide_are_the_real_ones() -> None:
    assert f"{MAX_HEAD:,}\ncharacters, a file {MAX_BYTES:,} bytes" in FILES
    assert f"{MAX_CHARS:,} characters" in FILES
    assert f"after {MAX_TOTAL:,}" in FILES
