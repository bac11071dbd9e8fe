"""Whatever stands in a file of a person, it is loaded or reported; it never crashes the server."""

from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magent_lsp.permissions.rules import Layer
from magent_lsp.store.agents import load_agents
from magent_lsp.store.commands import expand, load_commands
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.skills import load_skills, render_skill
from magent_lsp.store.trust import TrustStore

KEYS = [
    *("name", "description", "mode", "hidden", "model", "temperature", "top_p", "steps", "color", "tools"),
    *("disallowedTools", "permission", "options", "disable", "agent", "allowed-tools", "subtask", "other"),
    *("argument-hint", "codeAction", "kind", "license", "compatibility", "metadata"),
]
WORDS = st.sampled_from(
    ["Read", "Bash(git:*)", "*", "deny", "allow", "bash", "edit", "off", "", "a b", "x" * 70]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FRONT = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8).map(
    lambda value: f"---\n{yaml.safe_dump({'description': 'd', **value}, allow_unicode=True)}---\nbody $1\n"
)
KEPT = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _write(folder: Path, content: str | bytes) -> None:
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    for name in (
        ".magent/agent/x.md",
        ".claude/commands/x.md",
        ".opencode/skills/x/SKILL.md",
        ".magent/config.yaml",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


@KEPT
@given(
    FRONT | st.text(max_size=200).map(lambda text: f"---\n{text}\n---\n") | st.binary(max_size=100),
    st.booleans(),
)
def test_it_is_loaded_or_reported(empty: Path, dirs: Dirs, content: str | bytes, trusted: bool) -> None:
    _write(empty, content)
    agents = load_agents(empty, dirs, trusted)
    commands = load_commands(empty, dirs, trusted)
    skills = load_skills(empty, dirs, trusted)
    for found, problems, kind in (
        ([a.source for a in agents.agents.values()], agents.problems, "agent"),
        ([c.source for c in commands.commands.values()], commands.problems, "commands"),
        ([s.path for s in skills.skills.values()], skills.problems, "skills"),
    ):
        (path,) = (p for p in empty.rglob("*.md") if kind in p.parts)
        told = any(problem.path == path for problem in problems)
        assert told or path in found or b"disable" in path.read_bytes()
    for command in commands.commands.values():
        expand(command, "a b")
    for skill in skills.skills.values():
        render_skill(skill, "a b")
    TrustStore(dirs).review(empty)


@KEPT
@given(VALUES)
def test_no_permission_of_an_agent_is_lost_as_an_allow(empty: Path, dirs: Dirs, value: Any) -> None:
    """What is not exactly `allow` never becomes one."""
    head = yaml.safe_dump({"description": "d", "permission": {"bash": value}}, allow_unicode=True)
    _write(empty, f"---\n{head}---\nbody\n")
    layer = load_agents(empty, dirs, True).layers.get("x", Layer(name="agent", rules=()))
    allowed = {rule.pattern for rule in layer.rules if rule.verdict == "allow"}
    said = value if isinstance(value, dict) else {"*": value}
    assert allowed <= {str(pattern) for pattern, verdict in said.items() if verdict == "allow"}
