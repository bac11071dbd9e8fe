"""`magent-lsp sessions` and `permissions`: the past can be found, and verdicts explain themselves."""

import json

import pytest

from tests.support.terminal import Program


def talk(program: Program, prompt: str, answer: str) -> str:
    done = program("run", prompt, "--json", "--model", program.script({"text": answer}))
    assert done.code == 0, done
    session: str = done.events[0]["sessionId"]
    return session


def test_sessions_can_be_listed_read_searched_and_exported(program: Program) -> None:
    first = talk(program, "Where are the apples?", "In the blue basket.")
    second = talk(program, "And the pears?", "There are none.")
    listed = program("sessions", "list")
    assert [line.split()[0] for line in listed.out.splitlines()] == [second, first]
    assert "Where are the apples?" in listed.out

    shown = program("sessions", "show", first)
    assert "apples" in shown.out
    assert "blue basket" in shown.out

    found = program("sessions", "search", "blue", "basket")
    assert found.out.split()[0] == first
    assert second not in found.out
    assert program("sessions", "search", "plums").code == 1

    exported = program("sessions", "export", "last", "--format", "json")
    assert "pears" in json.dumps(json.loads(exported.out))
    to_file = ("sessions", "export", first, "--output", "kept.md")
    assert program(*to_file).code == 0
    assert "blue basket" in (program.folder / "kept.md").read_text()
    again = program(*to_file)
    assert again.code == 1
    assert "name a new file" in again.err


def test_sessions_can_be_forked_renamed_and_deleted(program: Program) -> None:
    first = talk(program, "Where are the apples?", "In the blue basket.")
    forked = program("sessions", "fork", first).out.strip()
    assert program("sessions", "rename", first[:-1], "Fruit", "and", "baskets").code == 0
    listed = program("sessions", "list").out
    assert "Fruit and baskets" in listed
    assert f"(forked from {first})" in listed
    assert program("sessions", "delete", first).code == 0
    remaining = program("sessions", "list", "--json")
    assert [info["id"] for info in json.loads(remaining.out)] == [forked]
    gone = program("sessions", "show", first)
    assert gone.code == 2
    assert "sessions list" in gone.err


def test_other_folders_are_listed_only_when_asked_for(program: Program) -> None:
    other = program.folder.parent / "other"
    other.mkdir()
    model = program.script({"text": "hi"})
    assert program("run", "elsewhere", "--cwd", str(other), "--model", model).code == 0
    assert "no sessions of this folder" in program("sessions", "list").err
    assert str(other) in program("sessions", "list", "--all").out


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["bash", "git", "status"], "allow"),
        (["bash", "git push origin && ls"], "ask"),
        (["read_file", ".env"], "deny"),
        (["read_file", "src/a.py"], "allow"),
        (["edit_file", "src/a.py"], "ask"),
        (["write_file", ".git/hooks/pre-commit"], "ask"),
    ],
)
def test_explain_gives_the_verdict_and_the_rule(program: Program, words: list[str], verdict: str) -> None:
    done = program("permissions", "explain", *words)
    assert done.code == 0, done
    assert done.out.startswith(f"{verdict}: ")
    told = json.loads(program("permissions", "explain", "--json", *words).out)
    assert told["verdict"] == verdict
    assert told["reason"]
    assert told["atoms"]


def test_explain_knows_agents_config_and_allow(program: Program) -> None:
    program.config.write_text("permission:\n  bash:\n    'make *': deny\n")
    denied = program("permissions", "explain", "bash", "make", "all")
    assert denied.out.startswith("deny: ")
    assert str(program.config) in denied.out
    assert program("permissions", "explain", "bash", "cc x.c", "--allow", "bash:cc *").out.startswith("allow")
    assert program("permissions", "explain", "--agent", "plan", "bash", "touch x").out.startswith("deny")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["git", "push", "--force"], "git push --force"),
        (["rg", "--json", "x"], "rg --json x"),
        (["--", "ls", "-la"], "ls -la"),
        (["grep", "a b", "f.py"], "grep 'a b' f.py"),
        (["ls", "&&", "make"], "ls"),
        (["git status --short"], "git status --short"),
    ],
)
def test_a_command_is_explained_as_it_is_typed(program: Program, words: list[str], command: str) -> None:
    told = json.loads(program("permissions", "explain", "--json", "bash", *words).out)
    assert told["atoms"][0]["value"] == command.replace("'", "")


def test_options_before_a_typed_command_and_behind_a_quoted_one_are_ours(program: Program) -> None:
    before = program("permissions", "explain", "bash", "--agent", "plan", "touch", "--no-create", "x")
    behind = program("permissions", "explain", "bash", "touch --no-create x", "--agent", "plan")
    assert before.out.splitlines()[0] == behind.out.splitlines()[0]
    assert before.out.startswith("deny: `touch --no-create x`")
