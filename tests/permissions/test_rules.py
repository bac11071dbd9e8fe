"""Which rule decides: what people write must mean what it says, in whatever order they write it."""

from typing import Any

import pytest

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import MAX_RULES, Layer, Source, parse_permission
from tests.support.permissions import bash, layer, named, path, policy

WITHIN: list[tuple[Any, str, Verdict]] = [
    ({"*": "ask", "git *": "deny", "git status *": "allow"}, "git status", "allow"),
    ({"*": "ask", "git *": "deny", "git status *": "allow"}, "git status -s", "allow"),
    ({"*": "ask", "git *": "deny", "git status *": "allow"}, "git push", "deny"),
    ({"*": "ask", "git *": "deny", "git status *": "allow"}, "git", "deny"),
    ({"*": "ask", "git *": "deny", "git status *": "allow"}, "make", "ask"),
    ({"*": "allow", "* x": "ask", "make *": "deny"}, "make x", "deny"),
    ({"*": "allow", "* x": "ask", "make *": "allow"}, "make x", "ask"),
    ({"make": "allow", "*": "ask"}, "make", "allow"),
    ({"make": "allow", "*": "ask"}, "make x", "ask"),
    ({"make*": "allow", "*": "ask"}, "makefile x", "allow"),
    ({"make *": "allow", "*": "ask"}, "makefile x", "ask"),
    ({"*": "ask", "* --help": "allow"}, "unknown --help", "allow"),
    ("allow", "make", "allow"),
    ("deny", "make", "deny"),
    ("ask", "ls", "ask"),
]


@pytest.mark.parametrize(("permission", "command", "verdict"), WITHIN)
def test_the_most_specific_pattern_decides(permission: Any, command: str, verdict: Verdict) -> None:
    assert bash(command, policy({"bash": permission})).verdict == verdict


def test_unrelated_patterns_the_strictest_decides() -> None:
    rules = policy({"read_file": {"*.env": "deny", "src/**": "allow"}})
    assert path("read_file", "src/.env", rules).verdict == "deny"
    assert path("read_file", "src/x.env", rules).verdict == "deny"
    assert path("read_file", "src/a", rules).verdict == "allow"


TOOLS: list[tuple[Any, str, Verdict]] = [
    ({"mcp__*": "allow"}, "mcp__a__b", "allow"),
    ({"mcp__*": "allow", "mcp__a__*": "deny"}, "mcp__a__b", "deny"),
    ({"mcp__*": "deny", "mcp__a__*": "allow"}, "mcp__a__b", "allow"),
    ({"mcp__a__*": "allow", "mcp__*__b": "deny"}, "mcp__a__b", "deny"),
    ({"mcp__a__b": "allow", "mcp__*": "deny"}, "mcp__a__b", "allow"),
    ({"*": "deny", "todo": "allow"}, "todo", "allow"),
    ({"*": "deny", "todo": "allow"}, "skill", "deny"),
    ({"*": "deny", "t*": "ask", "todo": "allow"}, "todo", "allow"),
    ({}, "mcp__read_file__read_file", "ask"),
    ({}, "unheard_of", "deny"),
    ({"read_file": "allow"}, "mcp__s__read_file", "ask"),
]


@pytest.mark.parametrize(("permission", "tool", "verdict"), TOOLS)
def test_the_exact_tool_goes_before_globs_and_globs_before_the_star(
    permission: Any, tool: str, verdict: Verdict
) -> None:
    assert named(tool, "", policy(permission)).verdict == verdict


def test_an_entry_without_a_matching_pattern_counts_as_absent() -> None:
    rules = policy({"*": "deny", "read_file": {"src/**": "allow"}})
    assert path("read_file", "src/a", rules).verdict == "allow"
    assert path("read_file", "lib/a", rules).verdict == "deny"


LAYERS: list[tuple[list[tuple[Any, ...]], Verdict]] = [
    ([("user", "allow")], "allow"),
    ([("user", "allow"), ("project", "ask")], "ask"),
    ([("user", "ask"), ("project", "allow")], "allow"),
    ([("agent", "ask"), ("user", "allow")], "allow"),
    ([("agent", "deny"), ("user", "allow")], "deny"),
    ([("user", "deny"), ("environment", "allow")], "deny"),
    ([("user", "deny"), ("grant", "allow")], "deny"),
    ([("project", "deny"), ("user", "allow")], "deny"),
    ([("client", "allow"), ("environment", "ask")], "ask"),
    ([("user", "ask"), ("grant", "allow")], "allow"),
    ([("user", {"make x": "ask"}), ("grant", {"make *": "allow"})], "ask"),
    ([("user", {"make x": "ask"}), ("grant", {"make x": "allow"})], "allow"),
    ([("user", {"make *": "ask"}), ("grant", {"make x": "allow"})], "allow"),
    ([("user", "ask"), ("project", "allow", False)], "ask"),
    ([("user", "allow"), ("project", "ask", False)], "ask"),
    ([("user", "allow"), ("project", "deny", False)], "deny"),
    ([("project", "allow", False)], "ask"),
    ([("user", "allow"), ("project", {"ls *": "deny"}, False)], "allow"),
    ([("agent", "allow", False), ("user", "ask")], "ask"),
    ([("agent", "deny", False), ("user", "allow")], "deny"),
    ([("project", "ask", False), ("grant", "allow")], "allow"),
    ([], "ask"),
]


@pytest.mark.parametrize(("layers", "verdict"), LAYERS)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_last_layer_decides_but_a_deny_is_final(
    layers: list[tuple[Any, ...]], verdict: Verdict, backwards: bool
) -> None:
    built = [layer(each[0], {"bash": each[1]}, trusted=each[2] if len(each) > 2 else True) for each in layers]
    rules = policy(None, *(reversed(built) if backwards else built))
    assert bash("make x", rules).verdict == verdict


BUILT_IN: list[tuple[Any, str, Verdict]] = [
    (None, ".env", "deny"),
    (None, ".env.local", "deny"),
    (None, ".env.example", "allow"),
    (None, "sub/.env", "deny"),
    (None, "id_rsa", "deny"),
    (None, "keys/server.pem", "deny"),
    (None, "~/.ssh/id_ed25519", "deny"),
    (None, "~/.aws/credentials", "deny"),
    (None, ".netrc", "deny"),
    (None, "environment.py", "allow"),
    ({"read_file": "allow"}, ".env", "deny"),
    ({"read_file": {"*": "allow", "**": "allow"}}, ".env", "deny"),
    ({"read_file": {".env": "allow"}}, ".env", "allow"),
    ({"read_file": {"*.env": "allow"}}, ".env", "allow"),
    ({"read_file": {".env": "ask"}}, ".env", "ask"),
    ({"read_file": {"sub/**": "allow"}}, "sub/.env", "allow"),
    ({"*": "allow"}, ".env", "deny"),
]


@pytest.mark.parametrize(("permission", "value", "verdict"), BUILT_IN)
def test_secret_files_open_only_where_the_person_names_them(
    permission: Any, value: str, verdict: Verdict
) -> None:
    assert path("read_file", value, policy(permission)).verdict == verdict


@pytest.mark.parametrize("name", ["agent", "project"])
def test_a_project_or_an_agent_cannot_open_secret_files(name: Any) -> None:
    assert (
        path("read_file", ".env", policy(None, layer(name, {"read_file": {".env": "allow"}}))).verdict
        == "deny"
    )


def test_a_later_project_rule_cannot_widen_what_the_person_opened_half() -> None:
    rules = policy({"read_file": {".env": "ask"}}, layer("project", {"read_file": "allow"}))
    assert path("read_file", ".env", rules).verdict == "ask"


BAD: list[Any] = [
    {"bash": "yes"},
    {"bash": True},
    {"bash": False},
    {"bash": None},
    {"bash": 1},
    {"bash": []},
    {"bash": {}},
    {"bash": "Allow"},
    {"bash": " allow"},
    {"bash": {"*": True}},
    {"bash": {"*": None}},
    {"bash": {"": "allow", "*": "allow"}},
    {"bash": {"  ": "allow", "*": "allow"}},
    {"bash": {1: "allow", "*": "allow"}},
    {"bash": {True: "allow", "*": "allow"}},
    {"bash": {"@everything": "allow", "*": "allow"}},
    {"bash": {"make x": {"nested": "allow"}, "*": "allow"}},
    "yes",
    True,
    False,
    1,
    ["bash"],
    {f"mcp__{number}": "allow" for number in range(MAX_RULES + 1)},
]


@pytest.mark.parametrize("permission", BAD)
def test_a_mistake_is_reported_and_closes(permission: Any) -> None:
    rules, problems = parse_permission(permission, Source(name="config.yaml", line=3))
    assert problems
    assert all(problem.startswith("config.yaml:3: ") for problem in problems)
    assert bash("make x", policy(permission)).verdict == "deny"
    assert any(rule.verdict == "deny" for rule in rules)


BAD_PATHS = ["!src/**", "../x", "a/../b", "~other/x", "a\0b", "x" * 2_000]


@pytest.mark.parametrize("pattern", BAD_PATHS)
def test_a_bad_path_pattern_closes_the_tool(pattern: str) -> None:
    permission = {"edit_file": {pattern: "allow", "*": "allow"}}
    assert parse_permission(permission, Source(name="x"))[1]
    assert path("edit_file", "src/a", policy(permission)).verdict == "deny"


@pytest.mark.parametrize("tool", ["__class__", "bahs", "read-file", "Bash "])
def test_an_unknown_tool_is_reported_and_grants_nothing(tool: str) -> None:
    rules, problems = parse_permission({tool: "allow"}, Source(name="x"))
    assert len(problems) == 1
    assert {rule.verdict for rule in rules} == {"deny"}
    assert bash("ls", policy({tool: "allow"})).verdict == "allow"


@pytest.mark.parametrize("tool", [None, 1, True, "", " "])
def test_a_tool_that_has_no_name_is_reported(tool: Any) -> None:
    rules, problems = parse_permission({tool: "allow"}, Source(name="x"))
    assert (len(problems), rules) == (1, ())


def test_edit_covers_both_tools_that_edit() -> None:
    rules = policy({"edit": {"src/**": "allow"}})
    assert path("edit_file", "src/a", rules).verdict == "allow"
    assert path("write_file", "src/a", rules).verdict == "allow"


def test_lines_are_named_where_they_are_known() -> None:
    lines = {("bash",): 4, ("bash", "rm *"): 6}
    rules, problems = parse_permission({"bash": {"rm *": "no", "*": "ask"}}, Source(name="c.yaml"), lines)
    assert [rule.source.line for rule in rules] == [6, 4]
    assert problems[0].startswith("c.yaml:6: ")


def test_a_reason_names_rule_file_and_line() -> None:
    rules, _ = parse_permission({"bash": {"rm *": "deny"}}, Source(name="/home/u/config.yaml", line=12))
    decision = bash("ls && rm x", policy(None, Layer(name="user", rules=rules)))
    assert "`rm x`" in decision.reason
    assert "rm *" in decision.reason
    assert "/home/u/config.yaml:12" in decision.reason
    verdicts = {atom.subject.value: atom.verdict for atom in decision.atoms if atom.subject.tool == "bash"}
    assert verdicts == {"ls": "allow", "rm x": "deny"}
    assert "built-in defaults" in bash("make").reason or "user.yaml" in bash("make").reason
    assert decision.explain().splitlines()[0] == f"deny: {decision.reason}"


OFFERED: list[tuple[list[tuple[Any, Any]], str, bool]] = [
    ([], "bash", True),
    ([], "unheard_of", False),
    ([("agent", {"bash": "deny"})], "bash", False),
    ([("agent", {"*": "deny"})], "bash", False),
    ([("agent", {"*": "deny", "read_file": "allow"})], "read_file", True),
    ([("agent", {"*": "deny", "read_file": "allow"})], "bash", False),
    ([("agent", {"bash": {"*": "deny", "@read-only": "allow"}})], "bash", True),
    ([("agent", {"edit_file": {"*": "deny", ".magent/plans/**": "allow"}})], "edit_file", True),
    ([("agent", {"edit_file": {"src/**": "deny"}})], "edit_file", True),
    ([("user", {"mcp__*": "deny"})], "mcp__a__b", False),
    ([("user", {"mcp__*": "deny", "mcp__a__*": "ask"})], "mcp__a__b", True),
    ([("user", {"bash": {"**": "deny"}})], "bash", False),
    ([("user", {"bash": "deny"}), ("environment", {"bash": "allow"})], "bash", False),
    ([("user", {"*": "deny", "bash": {"make *": "allow"}})], "bash", True),
]


@pytest.mark.parametrize(("layers", "tool", "shown"), OFFERED)
def test_a_tool_that_is_always_denied_is_not_shown_to_the_model(
    layers: list[tuple[Any, Any]], tool: str, shown: bool
) -> None:
    assert offered(tool, policy(None, *(layer(name, each) for name, each in layers))) is shown


def test_a_child_does_not_get_a_tool_its_parent_lacks() -> None:
    parent = policy(None, layer("agent", {"edit_file": "deny"}))
    child = policy({"edit_file": "allow"}, parent=parent)
    assert not offered("edit_file", child)
    assert path("edit_file", "a", child).verdict == "deny"
    assert path("edit_file", "a", policy({"edit_file": "allow"}, parent=policy())).verdict == "ask"
    grandchild = policy({"edit_file": "allow"}, parent=child)
    assert path("edit_file", "a", grandchild).verdict == "deny"


@pytest.mark.parametrize(
    ("permission", "verdict"),
    [({"delegate": {"*": "ask", "explore": "allow"}}, "allow"), ({"delegate": {"explore": "deny"}}, "deny")],
)
def test_agents_are_judged_by_name(permission: Any, verdict: Verdict) -> None:
    assert named("delegate", "explore", policy(permission)).verdict == verdict


def test_code_in_the_editor_is_always_asked() -> None:
    decision = named("editor_eval", "", policy({"editor_eval": "allow"}))
    assert (decision.verdict, decision.protected) == ("ask", True)
    assert named("editor_eval", "", policy({"editor_eval": "deny"})).verdict == "deny"
