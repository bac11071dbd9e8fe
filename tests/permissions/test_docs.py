"""What the page on permissions promises is what happens."""

import re
from pathlib import Path

import pytest

from magent_lsp.core.tool import Subject
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import judge, offered
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.agents import load_agents
from magent_lsp.store.dirs import Dirs
from tests.support.permissions import FIXTURE, bash, path, place, policy

PAGE = (Path(__file__).parents[2] / "docs/reference/permissions.md").read_text(encoding="utf-8")
REGISTRY = load_agents(None, Dirs.from_environment({"HOME": "/nowhere"}), True)


def table(head: str) -> list[list[str]]:
    """The rows below a line that begins with this."""
    lines = PAGE.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")])
    return rows


def verdict(agent: str, tool: str, kind: str, value: str) -> str:
    rules = Policy(layers=(default_layer(), REGISTRY.layers[agent]))
    if not offered(tool, rules):
        return "closed"
    return judge([Subject(tool=tool, kind=kind, value=value)], rules, place()).verdict  # type: ignore[arg-type]


AGENTS = table("| agent |")


def test_every_agent_that_a_person_can_choose_is_in_the_table() -> None:
    named = {row[0].strip("`") for row in AGENTS}
    assert named == {name for name, agent in REGISTRY.agents.items() if not agent.hidden}


@pytest.mark.parametrize(("agent", "reads", "edits", "commands"), AGENTS)
def test_what_each_agent_may_do(agent: str, reads: str, edits: str, commands: str) -> None:
    name = agent.strip("`")
    found = [verdict(name, tool, "path", "src/a.py") for tool in ("read_file", "grep", "glob", "list_dir")]
    assert (reads, set(found)) == ("yes", {"allow"})
    edit = [verdict(name, tool, "path", "src/a.py") for tool in ("edit_file", "write_file")]
    plan = verdict(name, "write_file", "path", ".magent/plans/x.md")
    wanted = {
        "asks": ({"ask"}, {"ask"}),
        "denied": ({"closed"}, {"closed"}),
        "only `.magent/plans/**`": ({"deny"}, {"allow"}),
    }[edits]
    assert (set(edit), {plan}) == wanted
    shell = [verdict(name, "bash", "command", command) for command in ("git status", "touch x")]
    assert (
        shell
        == {
            "read-only without asking, others ask": ["allow", "ask"],
            "read-only; all others denied": ["allow", "deny"],
            "no `bash` at all": ["closed", "closed"],
        }[commands]
    )


def test_hidden_agents_have_no_tools_but_the_one_for_guests() -> None:
    hidden = [name for name, agent in REGISTRY.agents.items() if agent.hidden and name != "guest"]
    assert hidden
    assert {verdict(name, "read_file", "path", "a") for name in hidden} == {"closed"}


def test_the_protected_files_that_the_page_names_are_asked_for() -> None:
    begin = PAGE.index("- changes of files that decide what runs later")
    names = re.findall(r"`(\.[\w.*-]+)`", PAGE[begin : PAGE.index("the files\n", begin)])
    assert len(names) > 12
    for name in names:
        decision = path("write_file", f"sub/{name.replace('*', '.yml')}", policy({"edit": "allow"}))
        assert (decision.verdict, decision.protected) == ("ask", True), name


def test_the_examples_of_commands_part_by_part() -> None:
    wanted = {"deny": "deny", "allow": "allow", "ask": "ask"}
    checked = 0
    for commands, told, _ in table("| command |"):
        for command in re.findall(r"`([^`]+)`", commands):
            if told in wanted:
                assert bash(command.replace("¦", "|"), policy(FIXTURE)).verdict == wanted[told], command
                checked += 1
    assert checked > 10


def test_the_first_thing_said_is_what_a_deny_on_bash_is_not() -> None:
    assert "**A deny on `bash` is a speed bump, not a boundary.**" in PAGE[:600]
