"""Commands mean what their authors wrote, and an argument is never more than text."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.store.commands import Command, Commands, FileRef, Shell, Text, expand, load_commands
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.expansion import expand_template, fill

Put = Callable[[Path, str | bytes], Path]


def told(found: Commands, name: str) -> list[str]:
    return [problem.message for problem in found.problems if problem.path and problem.path.name == name]


def test_the_built_in_prompts(dirs: Dirs) -> None:
    found = load_commands(None, dirs, True)
    assert found.problems == ()
    assert {"init", "plan", "implement"} <= set(found.commands)
    for command in found.commands.values():
        assert command.builtin
        assert command.description
        assert expand(command, "WORD").text.count("WORD") == 1
        assert "$" not in expand(command, "").text
    agents = {name: found.commands[name].agent for name in ("plan", "implement", "explain", "fix", "review")}
    assert agents == {
        "plan": "plan",
        "implement": "build",
        "explain": "ask",
        "fix": "build",
        "review": "explore",
    }


def test_our_own_form(project: Path, dirs: Dirs) -> None:
    command = load_commands(project, dirs, True).commands["db:reset"]
    assert command == Command(
        name="db:reset",
        description="Resets a database",
        template=command.template,
        agent="migrator",
        allowed_tools=frozenset({"bash", "read_file"}),
        restriction={"*": "deny", "bash": {"*": "deny", "make db-reset *": "allow"}, "read_file": "allow"},
        argument_hint="<name>",
        code_action=True,
        kind="source.resetDatabase",
        source=project / ".magent" / "commands" / "db" / "reset.md",
    )
    assert expand(command, "shop").parts == (
        Text("Reset the database shop with `make db-reset shop`.\n\nTables: "),
        Shell("make db-tables DB=shop"),
        Text("\nSchema: "),
        FileRef("db/shop.sql", "@db/shop.sql"),
    )


def test_opencodes_form(project: Path, dirs: Dirs) -> None:
    command = load_commands(project, dirs, True).commands["git:changelog"]
    assert (command.agent, command.model, command.subtask) == (
        "build",
        "anthropic/claude-sonnet-4-20250514",
        True,
    )
    assert expand(command, "v1 'v 2' v3").parts == (
        Text("Write the changelog from v1 to v 2.\n\n"),
        Shell("git log --oneline v1..v 2"),
    )


def test_claudes_form_counts_from_zero(project: Path, dirs: Dirs) -> None:
    found = load_commands(project, dirs, True)
    command = found.commands["commit"]
    assert (command.model, command.argument_hint) == (None, "[message] [--amend]")
    assert command.allowed_tools == {"bash"}
    assert command.restriction == {
        "*": "deny",
        "bash": {"*": "deny", "git add *": "allow", "git status *": "allow", "git commit *": "allow"},
    }
    assert told(found, "commit.md") == []
    parts = expand(command, "'fix it' --amend").parts
    assert [part for part in parts if isinstance(part, Shell)] == [
        Shell("git status"),
        Shell("git branch --show-current"),
    ]
    assert parts[-1] == Text("\n\nCommit with the message fix it, more: --amend.")
    nested = found.commands["frontend:component"]
    assert nested.description.startswith("Create a component")
    assert expand(nested, "Menu").parts[1] == FileRef(
        "src/components/Button.tsx", "@src/components/Button.tsx"
    )


def test_precedence_and_trust(empty: Path, dirs: Dirs, put: Put) -> None:
    put(dirs.user / "commands" / "mine.md", "the user's")
    for folder in (".magent/commands", ".opencode/command", ".claude/commands"):
        put(empty / folder / "both.md", f"---\nmodel: evil/m\nagent: build\n---\nfrom {folder}")
        put(empty / folder / "init.md", "evil init")
        put(empty / folder / "mine.md", "evil mine")
    put(empty / ".magent" / "commands" / "undo.md", "evil undo")
    trusted = load_commands(empty, dirs, True).commands
    assert (trusted["both"].template, trusted["both"].model) == ("from .magent/commands", "evil/m")
    assert trusted["init"].template == "evil init"
    found = load_commands(empty, dirs, False)
    assert (found.commands["both"].model, found.commands["both"].agent) == (None, None)
    assert found.commands["init"].builtin
    assert found.commands["mine"].template == "the user's"
    assert "undo" not in found.commands
    assert len([word for word in told(found, "undo.md") if "trust" in word]) == 1


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.md", "---\ndescription: d\n---\n\n", "prompt"),
        ("a.md", "---\nallowed-tools: 5\n---\nx", "no tool is allowed"),
        ("a.md", "---\nkind: fun\n---\nx", "kind of code action"),
        ("a.md", "---\ncodeAction: perhaps\n---\nx", "true or false"),
        ("a.md", "---\nshortcut: C-c\n---\nx", "unknown"),
        ("a b.md", "x", "blanks"),
        ("a.md", b"\xff\xfe", "UTF-8"),
    ],
)
def test_what_is_wrong_is_told_once(
    empty: Path, dirs: Dirs, put: Put, name: str, text: str | bytes, words: str
) -> None:
    put(empty / ".magent" / "commands" / name, text)
    (message,) = told(load_commands(empty, dirs, True), name)
    assert words in message


def test_an_empty_list_of_tools_allows_none(empty: Path, dirs: Dirs, put: Put) -> None:
    for name, value in (("none", "[]"), ("bad", "5"), ("unknown", "Nope"), ("all", '"*"')):
        put(empty / ".magent" / "commands" / f"{name}.md", f"---\nallowed-tools: {value}\n---\nx")
    commands = load_commands(empty, dirs, True).commands
    assert [commands[name].allowed_tools for name in ("none", "bad", "unknown", "all")] == [
        frozenset()
    ] * 3 + [None]
    assert commands["none"].restriction == {"*": "deny"}


# ---------------------------------------------------------------- expansion


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("say $ARGUMENTS!", " a b ", "say a b!"),
        ("$1-$2-$3", "a 'b c'", "a-b c-"),
        ("$1", 'it"s', 'it"s'),
        ("$10 $1", "a", " a"),
        ("$ARGUMENTS[1] $ARGUMENTSX", "a b", "b $ARGUMENTSX"),
        ("no place", "a b", "no place\n\na b"),
        ("no place", "  ", "no place"),
        ("$1 $ARGUMENTS", "$2 $ARGUMENTS", "$2 $2 $ARGUMENTS"),
        (r"\1 $& ${x} $x", "a", "\\1 $& ${x} $x\n\na"),
    ],
)
def test_places_for_arguments(template: str, arguments: str, expected: str) -> None:
    assert expand_template(template, arguments).text == expected


@pytest.mark.parametrize(
    ("template", "paths"),
    [
        ("see @a.py, @src/b.ts and (@./c/d.md).", ["a.py", "src/b.ts", "./c/d.md"]),
        ("@~/notes.md @../x @/etc/hosts", ["~/notes.md", "../x", "/etc/hosts"]),
        ("me@example.org, `@x`, a@b @@ @", []),
        ("@$1 and @lib/$2.py", ["one", "lib/two words.py"]),
        ("@$ARGUMENTS", ["one"]),
    ],
)
def test_places_for_files(template: str, paths: list[str]) -> None:
    parts = expand_template(template, "one 'two words'").parts
    assert [part.path for part in parts if isinstance(part, FileRef)] == paths


def test_only_a_mark_before_the_tick_runs_something() -> None:
    assert [
        part
        for part in expand_template("`ls` wow!`ls` !`git status` ! `ls` !``", "").parts
        if isinstance(part, Shell)
    ] == [Shell("git status")]


PIECES = [*"ab $1`!@/.'\"\\\n", "$ARGUMENTS", "!`rm x`", "@f", "@$1", "!`$1`"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


@given(WORDS)
def test_an_argument_is_never_expanded_again(arguments: str) -> None:
    expansion = expand_template("do $ARGUMENTS now", arguments)
    assert expansion.parts == (Text(f"do {arguments.strip()} now"),)
    appended = expand_template("do it", arguments)
    assert all(isinstance(part, Text) for part in appended.parts)


@given(WORDS, WORDS)
def test_what_runs_and_what_is_read_is_decided_by_the_template_alone(template: str, arguments: str) -> None:
    def shape(text: str) -> list[type]:
        kept = expand_template(template, text).parts
        return [type(part) for part in kept if not isinstance(part, Text)]

    with_arguments, without = shape(arguments), shape("x x x x x x")
    assert with_arguments.count(Shell) == without.count(Shell)
    assert with_arguments.count(FileRef) <= without.count(FileRef)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_template_and_no_argument_is_too_odd(template: str, arguments: str) -> None:
    expand_template(template, arguments)
    assert isinstance(fill(template, arguments)[0], str)
