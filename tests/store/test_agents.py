"""Agents of every origin load, the right one wins, and an untrusted one gains nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.agent import Agent
from magent_lsp.core.errors import ConfigError
from magent_lsp.core.tool import Subject, lean_schema
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.layers import TextItem, rule_on
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.agent_file import read_agent
from magent_lsp.store.agents import Registry, load_agents, save_agent
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.toolnames import entries, restriction, tool_name
from magent_lsp.tools.registry import TOOLS

Put = Callable[[Path, str | bytes], Path]


def told(registry: Registry, name: str) -> list[str]:
    """What was reported about files of a name."""
    return [problem.message for problem in registry.problems if problem.path and problem.path.name == name]


# ---------------------------------------------------------------- built in


def test_the_built_in_agents(dirs: Dirs) -> None:
    registry = load_agents(None, dirs, True)
    assert registry.problems == ()
    assert list(registry.agents) == [
        "ask",
        "build",
        "compaction",
        "explore",
        "general",
        "guest",
        "plan",
        "summary",
        "title",
    ]
    assert {name for name, agent in registry.agents.items() if agent.hidden} == {
        "compaction",
        "guest",
        "title",
        "summary",
    }
    assert [agent.name for agent in registry.listed("primary")] == ["ask", "build", "plan"]
    assert [agent.name for agent in registry.listed("subagent")] == ["explore", "general"]
    assert all(agent.native and agent.prompt and agent.description for agent in registry.agents.values())


def verdict(registry: Registry, agent: str, tool: str, command: str = "", read_only: bool = False) -> str:
    policy = Policy(layers=(default_layer(), registry.layers[agent]))
    return rule_on(policy, tool, TextItem(text=command, read_only=read_only)).verdict


def test_what_the_built_in_agents_may_do(dirs: Dirs) -> None:
    registry = load_agents(None, dirs, True)
    for agent in ("build", "general"):
        assert verdict(registry, agent, "bash", "make") == "ask"
        assert verdict(registry, agent, "bash", "ls", read_only=True) == "allow"
    for agent in ("plan", "explore"):
        assert verdict(registry, agent, "bash", "ls", read_only=True) == "allow"
        assert verdict(registry, agent, "bash", "make") == "deny"
        assert verdict(registry, agent, "editor_eval") == "deny"
    for tool in ("read_file", "grep", "glob", "list_dir", "diagnostics"):
        assert verdict(registry, "ask", tool) == "allow"
        assert verdict(registry, "explore", tool) == "allow"
    for agent, tool in (("ask", "bash"), ("ask", "edit_file"), ("ask", "mcp__x__y"), ("explore", "fetch")):
        assert verdict(registry, agent, tool) == "deny"
    assert registry.agents["plan"].permission["write_file"] == {"*": "deny", ".magent/plans/**": "allow"}
    for name in ("compaction", "title", "summary"):
        assert registry.agents[name].tools == frozenset()
        assert verdict(registry, name, "read_file") == "deny"


def size(registry: Registry, name: str) -> int:
    """Bytes of the prompt and of the schemas of all tools that are offered to the agent."""
    offered = [tool for tool in TOOLS if verdict(registry, name, tool.name, read_only=True) != "deny"]
    total = len(registry.agents[name].prompt.encode())
    for tool in offered:
        schema: Any = tool.schema or lean_schema(tool.input)
        total += len(repr({"name": tool.name, "description": tool.description, "parameters": schema}))
    return total


@pytest.mark.parametrize(("name", "prompt", "all_in_all"), [("build", 3500, 14_000), ("ask", 1500, 6_000)])
def test_prompts_are_short_since_every_request_pays_for_them(
    dirs: Dirs, name: str, prompt: int, all_in_all: int
) -> None:
    registry = load_agents(None, dirs, True)
    assert len(registry.agents[name].prompt.encode()) <= prompt
    assert size(registry, name) <= all_in_all


def test_prompts_tell_the_truth_about_edits(dirs: Dirs) -> None:
    agents = load_agents(None, dirs, True).agents
    for name in ("build", "general", "compaction"):
        assert all(
            word in agents[name].prompt for word in ("applied", "rejected", "stale", "diverged", "unknown")
        )
    for name in ("build", "general", "plan", "explore"):
        assert "unsaved" in agents[name].prompt


# ---------------------------------------------------------------- the three families


def test_our_own_form(project: Path, dirs: Dirs) -> None:
    agent = load_agents(project, dirs, True).agents["migrator"]
    assert agent == Agent(
        name="migrator",
        description="Writes database migrations.",
        prompt="You write migrations for the shop.\n\nKeep them reversible.",
        model="anthropic/claude-sonnet-4-5",
        temperature=0.2,
        max_turns=30,
        denied_tools=frozenset({"bash"}),
        permission={
            "edit_file": {"*": "deny", "migrations/**": "ask"},
            "write_file": {"*": "deny", "migrations/**": "ask"},
        },
        options={"reasoningEffort": "high"},
        source=project / ".magent" / "agent" / "migrator.md",
    )


def test_opencodes_form(project: Path, dirs: Dirs) -> None:
    registry = load_agents(project, dirs, True)
    agent = registry.agents["reviewer"]
    assert (agent.mode, agent.temperature, agent.top_p, agent.max_turns) == ("subagent", 0.1, 0.9, 12)
    assert agent.color == "#FF5733"
    assert agent.tools is None
    assert agent.denied_tools == {"write_file", "edit_file", "mymcp_*"}
    assert agent.permission == {
        "edit_file": {"*": "deny"},
        "write_file": {"*": "deny"},
        "bash": {"*": "ask", "git diff": "allow", "git log*": "allow"},
        "fetch": {"*": "deny"},
        "delegate": {"*": "deny"},
    }
    assert told(registry, "reviewer.md") == []
    lines = {
        rule.pattern: rule.source.line for rule in registry.layers["reviewer"].rules if rule.tool == "bash"
    }
    assert lines == {"*": 17, "git diff": 18, "git log*": 19}


def test_claudes_form(project: Path, dirs: Dirs) -> None:
    registry = load_agents(project, dirs, True)
    agent = registry.agents["test-runner"]
    assert agent.model is None
    assert "<example>" in agent.description
    assert agent.tools == {"read_file", "grep", "bash", "mcp__playwright__click"}
    assert agent.denied_tools == {"write_file"}
    assert agent.permission == {"bash": {"*": "deny", "npm test *": "ask", "npm run lint": "ask"}}
    words = told(registry, "test-runner.md")
    assert len(words) == 3
    assert any("'permissionMode', 'skills'" in word for word in words)
    assert any("'NotebookEdit'" in word for word in words)
    assert any("'description'" in word for word in words)


def test_a_broken_file_is_skipped_with_its_line_and_the_rest_loads(project: Path, dirs: Dirs) -> None:
    registry = load_agents(project, dirs, True)
    assert "broken" not in registry.agents
    (problem,) = (p for p in registry.problems if p.path and p.path.name == "broken.md")
    assert (problem.line, problem.severity) == (4, "error")


def test_precedence_and_the_trusted_override_of_a_built_in(project: Path, dirs: Dirs, put: Put) -> None:
    put(dirs.user / "agent" / "reviewer.md", "---\ndescription: the user's\n---\nx")
    put(dirs.user / "agents" / "mine.md", "---\ndescription: the user's\n---\nx")
    put(project / ".agents" / "agents" / "build.md", "---\ndescription: weaker than Claude's\n---\nx")
    agents = load_agents(project, dirs, True).agents
    assert agents["build"].description == "Our own build agent"
    assert agents["migrator"].description == "Writes database migrations."
    assert agents["reviewer"].prompt.startswith("You are in code review mode")
    assert agents["mine"].description == "the user's"


def test_an_untrusted_agent_only_tightens_and_replaces_nobody(project: Path, dirs: Dirs, put: Put) -> None:
    put(dirs.user / "agent" / "reviewer.md", "---\ndescription: the user's\n---\nx")
    registry = load_agents(project, dirs, False)
    assert registry.agents["build"].native
    assert registry.agents["reviewer"].description == "the user's"
    assert [word for word in told(registry, "build.md") if "trust" in word]
    agent = registry.agents["migrator"]
    assert (agent.trusted, agent.model, dict(agent.options)) == (False, None, {})
    assert agent.denied_tools == {"bash"}
    assert not registry.layers["migrator"].trusted


def test_an_untrusted_agent_cannot_lead_out_by_a_link(project: Path, dirs: Dirs, put: Put) -> None:
    secret = put(project.parent / "secret.md", "---\ndescription: x\n---\nprivate key")
    (project / ".magent" / "agent" / "link.md").symlink_to(secret)
    (project / ".opencode" / "agents").symlink_to(
        put(project.parent / "o" / "a.md", "---\ndescription: x\n---\nx").parent
    )
    assert not {"link", "a"} & set(load_agents(project, dirs, False).agents)
    assert {"link", "a"} <= set(load_agents(project, dirs, True).agents)


def test_the_nearest_folder_up_to_the_root_wins(tmp_path: Path, dirs: Dirs, put: Put) -> None:
    put(tmp_path / "ws" / ".magent" / "agent" / "a.md", "---\ndescription: outer\n---\nx")
    put(tmp_path / "ws" / ".magent" / "agent" / "b.md", "---\ndescription: outer\n---\nx")
    put(tmp_path / "ws" / "p" / ".magent" / "agent" / "a.md", "---\ndescription: inner\n---\nx")
    put(tmp_path / ".magent" / "agent" / "c.md", "---\ndescription: above the root\n---\nx")
    agents = load_agents(tmp_path / "ws" / "p", dirs, True, root=tmp_path / "ws").agents
    assert (agents["a"].description, agents["b"].description) == ("inner", "outer")
    assert "c" not in agents


def test_disable_takes_an_agent_away(empty: Path, dirs: Dirs, put: Put) -> None:
    put(empty / ".opencode" / "agent" / "plan.md", "---\ndisable: true\n---\n")
    assert "plan" not in load_agents(empty, dirs, True).agents
    assert "plan" in load_agents(empty, dirs, False).agents


# ---------------------------------------------------------------- values


def agent_from(tmp_path: Path, head: str) -> tuple[Agent, list[str]]:
    path = tmp_path / "x.md"
    path.write_text(f"---\ndescription: d\n{head}\n---\nbody\n", encoding="utf-8")
    loaded = read_agent(path)
    return loaded.agent, [f"{problem.line}: {problem.message}" for problem in loaded.problems]


@pytest.mark.parametrize(
    ("head", "field", "value"),
    [
        ("top_p: 0.5", "top_p", 0.5),
        ("topP: 1", "top_p", 1.0),
        ("top-p: 0", "top_p", 0.0),
        ("maxTurns: 3", "max_turns", 3),
        ("max_turns: 3", "max_turns", 3),
        ("maxSteps: 3", "max_turns", 3),
        ("name: Code Reviewer", "name", "Code Reviewer"),
        ("name: 7", "name", "7"),
        ("model: inherit", "model", None),
        ("model: opus", "model", None),
        ("hidden: yes", "hidden", True),
        ("tools:", "tools", None),
        ('tools: "*"', "tools", None),
        ("tools: []", "tools", frozenset()),
        ("tools: Unknown", "tools", frozenset()),
        (
            "tools: [Read, MultiEdit, Task, LS]",
            "tools",
            frozenset({"read_file", "edit_file", "delegate", "list_dir"}),
        ),
        ("tools: mcp__github", "tools", frozenset({"mcp__github__*"})),
        ('tools: {"*": false, read: true, grep: true}', "tools", frozenset({"read_file", "grep"})),
        ("tools: {Bash: false, webfetch: false}", "denied_tools", frozenset({"bash", "fetch"})),
        ("disallowed-tools: Bash WebFetch", "denied_tools", frozenset({"bash", "fetch"})),
        ("disallowedTools: Bash(rm:*)", "permission", {"bash": {"rm *": "deny"}}),
        ("permission: deny", "permission", {"*": {"*": "deny"}}),
        (
            "permission: {edit: deny, write_file: allow}",
            "permission",
            {"edit_file": {"*": "deny"}, "write_file": {"*": "deny"}},
        ),
    ],
)
def test_spellings_and_forms(tmp_path: Path, head: str, field: str, value: object) -> None:
    agent, problems = agent_from(tmp_path, head)
    assert getattr(agent, field) == value
    assert problems == []


@pytest.mark.parametrize(
    ("head", "field", "value", "words"),
    [
        ("mode: boss", "mode", "all", "primary, subagent or all"),
        ("temperature: hot", "temperature", None, "number"),
        ("temperature: 9", "temperature", None, "from 0 to 2"),
        ("top_p: true", "top_p", None, "number"),
        ("maxTurns: 0", "max_turns", None, "whole number"),
        ("hidden: perhaps", "hidden", False, "true or false"),
        ("tools: 5", "tools", frozenset(), "no tool is offered"),
        ("tools: {bash: perhaps}", "denied_tools", frozenset({"bash"}), "denied"),
        ("tools: {nope: false}", "denied_tools", frozenset(), "is no tool"),
        ("disallowedTools: {a: b}", "denied_tools", frozenset({"*"}), "list or a text"),
        ("permission: {bash: no}", "permission", {"bash": {"*": "deny"}}, "verdict"),
        ("permission: [bash]", "permission", {"*": {"*": "deny"}}, "denied"),
        ("options: 3", "options", {}, "mapping"),
        ("topP: 1\ntop_p: 0", "top_p", 1.0, "says the same"),
        ("foo: 1\nbar: 2", "name", "x", "'foo', 'bar'"),
    ],
)
def test_a_bad_value_is_told_with_its_line(
    tmp_path: Path, head: str, field: str, value: object, words: str
) -> None:
    agent, problems = agent_from(tmp_path, head)
    assert getattr(agent, field) == value
    assert len(problems) == 1
    assert words in problems[0]
    assert problems[0].startswith(("3:", "4:"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nmode: all\n---\nx", "description"),
        ("no front matter", "description"),
        ("---\ndescription: d\nname: 'a\\nb'\nx: [\n---\n", "YAML"),
        (f"---\ndescription: d\nname: {'x' * 65}\n---\n", "64"),
    ],
)
def test_what_defines_no_agent(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_agent(path)


def test_a_broken_override_never_leaves_something_weaker_in_force(empty: Path, dirs: Dirs, put: Put) -> None:
    path = put(
        empty / ".magent" / "agent" / "build.md", "---\ndescription: strict\npermission: {bash: deny}\n---\nx"
    )
    good = load_agents(empty, dirs, True)
    put(path, "---\ndescription: strict\npermission: {bash: deny\n---\nx")
    kept = load_agents(empty, dirs, True, previous=good)
    assert kept.agents["build"] == good.agents["build"]
    fresh = load_agents(empty, dirs, True)
    assert fresh.agents["build"].native
    assert fresh.agents["build"].permission == {"*": {"*": "ask"}}
    assert load_agents(empty, dirs, False, previous=good).agents["build"].native
    assert load_agents(empty, dirs, False).agents["build"].permission == {}


BROKEN = {
    "no YAML": "---\ndescription: strict\npermission:\n  *: deny\n  ask_user: allow\n---\nx",
    "not closed": '---\ndescription: strict\npermission:\n  "*": deny\n  ask_user: allow\n',
    "no description": '---\npermission:\n  "*": deny\n---\nx',
}
THINGS = [
    *(
        Subject(tool=tool, kind="path", value=".magent/plans/a.md")
        for tool in ("read_file", "grep", "glob", "list_dir", "edit_file", "write_file")
    ),
    Subject(tool="bash", kind="command", value="git status"),
    *(Subject(tool=tool, kind="none") for tool in ("diagnostics", "open_buffers", "ask_user", "propose")),
]


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_no_built_in_agent_is_open_where_the_file_in_its_place_cannot_be_read(
    empty: Path, dirs: Dirs, put: Put, text: str
) -> None:
    """The file may have closed anything that the built-in agent does unasked."""
    names = list(load_agents(None, dirs, True).agents)
    for name in names:
        put(dirs.user / "agents" / f"{name}.md", text)
    registry = load_agents(empty, dirs, True)
    place = Place(folders=(empty,), cwd=empty, home=dirs.user)
    for name in names:
        assert registry.agents[name].native
        assert "allow" not in [v for each in registry.agents[name].permission.values() for v in each.values()]
        policy = Policy(layers=(default_layer(), registry.layers[name]))
        for subject in THINGS:
            assert judge((subject,), policy, place).verdict != "allow", (name, subject)
    guest = Policy(layers=(default_layer(), registry.layers["guest"]))
    decision = judge((Subject(tool="read_file", kind="path", value="a.py"),), guest, place)
    assert decision.verdict == "ask"
    assert "the file of the agent 'guest', which cannot be read" in decision.reason


def test_a_project_agent_brings_no_api_key(empty: Path, dirs: Dirs, put: Put) -> None:
    put(
        empty / ".magent" / "agent" / "a.md", "---\ndescription: d\noptions: {api_key: sk-1, seed: 1}\n---\nx"
    )
    registry = load_agents(empty, dirs, True)
    assert registry.agents["a"].options == {"seed": 1}
    assert told(registry, "a.md")


# ---------------------------------------------------------------- saving


SAVED = """\
---
# the reviewer
description: Reviews   # short
top_p: 0.5
tools:
  bash: false  # never

# rules
permission:
  edit: deny
---

Look at it.

Twice.
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_saving_touches_only_what_changed(tmp_path: Path, end: str, bom: str) -> None:
    path = tmp_path / "reviewer.md"
    raw = (bom + SAVED.replace("\n", end)).encode()
    path.write_bytes(raw)
    agent = read_agent(path).agent
    save_agent(agent, path)
    assert path.read_bytes() == raw
    changed = replace(agent, top_p=0.9, max_turns=5, model="a/b")
    save_agent(changed, path)
    text = path.read_bytes().decode()
    expected = SAVED.replace("top_p: 0.5", "top_p: 0.9").replace(
        "  edit: deny\n", "  edit: deny\nmodel: a/b\nmaxTurns: 5\n"
    )
    assert text == bom + expected.replace("\n", end)
    assert read_agent(path).agent == changed


def test_saving_tools_rules_and_prompt(tmp_path: Path) -> None:
    path = tmp_path / "reviewer.md"
    path.write_text(SAVED, encoding="utf-8")
    agent = read_agent(path).agent
    changed = replace(
        agent,
        prompt="New prompt.\n---\nwith dashes",
        top_p=None,
        tools=frozenset({"grep"}),
        denied_tools=frozenset(),
        permission={"bash": {"git *": "allow"}},
    )
    save_agent(changed, path)
    assert read_agent(path).agent == changed
    assert "# the reviewer" in path.read_text(encoding="utf-8")
    assert "# rules" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "head",
    [
        "{description: d, top_p: 0.5}",
        "description: >\n  long\n  text\ntop_p: &x 0.5\ntemperature: *x",
        "'description': d\n? top_p\n: 0.5",
    ],
)
def test_saving_over_unusual_yaml_still_says_the_right_thing(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"---\n{head}\n---\nbody\n", encoding="utf-8")
    changed = replace(read_agent(path).agent, top_p=0.1, color="red")
    save_agent(changed, path)
    assert read_agent(path).agent == changed


def test_saving_a_built_in_agent_as_a_file_of_ones_own(tmp_path: Path, dirs: Dirs) -> None:
    for name, agent in load_agents(None, dirs, True).agents.items():
        path = tmp_path / "agent" / f"{name}.md"
        save_agent(agent, path)
        assert replace(read_agent(path).agent, native=True, source=agent.source) == agent


def test_saving_never_overwrites_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(ConfigError):
        save_agent(Agent(name="a", description="d", prompt="p"), path)
    assert path.read_text(encoding="utf-8") == "my notes"


# ---------------------------------------------------------------- names of tools


def test_every_name_that_claude_uses_means_a_tool_of_ours() -> None:
    ours = {tool.name for tool in TOOLS}
    for name in (
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "Bash",
        "Grep",
        "Glob",
        "Task",
        "Agent",
        "WebFetch",
        "TodoWrite",
        "Skill",
    ):
        assert tool_name(name) in ours
        assert tool_name(name.lower()) in ours
    assert tool_name("WebSearch") is None


def test_lists_with_patterns() -> None:
    found = entries(
        "Bash(git add:*), Read(//etc/x), Edit(/src/**) WebFetch(domain:a.org), Bash(a, b), mcp__x"
    )
    assert found is not None
    assert [(entry.name, entry.patterns) for entry in found] == [
        ("bash", ("git add *",)),
        ("read_file", ("/etc/x",)),
        ("edit_file", ("./src/**",)),
        ("fetch", ("https://a.org/*", "http://a.org/*")),
        ("bash", ("a, b",)),
        ("mcp__x__*", ()),
    ]
    assert restriction(found)["bash"] == {"*": "deny", "git add *": "allow", "a, b": "allow"}
    assert entries(3) is None
    assert entries(["Read", 3]) is None
