"""Nothing of a project runs or loosens before a person saw it, nor after it changed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.core.errors import UserError
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.trust import TrustStore

Put = Callable[[Path, str | bytes], Path]


def test_trust_holds_for_what_was_reviewed_and_no_more(project: Path, dirs: Dirs) -> None:
    store = TrustStore(dirs)
    assert not store.is_trusted(project)
    review = store.review(project)
    assert not store.is_trusted(project)
    store.trust(project, review.digest)
    assert store.is_trusted(project)
    assert TrustStore(dirs).is_trusted(project)
    assert store.revoke(project)
    assert not store.is_trusted(project)
    assert not store.revoke(project)


def test_a_project_without_config_has_nothing_to_distrust(empty: Path, dirs: Dirs, put: Put) -> None:
    put(empty / "AGENTS.md", "x")
    put(empty / "src" / "main.py", "x")
    store = TrustStore(dirs)
    assert store.is_trusted(empty)
    assert store.review(empty).empty
    assert "nothing to trust" in str(store.review(empty))


@pytest.mark.parametrize(
    "path",
    [
        ".magent/config.yaml",
        ".magent/config.json",
        ".magent/agent/new.md",
        ".magent/commands/db/reset.md",
        ".magent/skills/release-notes/SKILL.md",
        ".magent/hooks/guard.sh",
        ".opencode/agent/deep/x.md",
        ".claude/commands/commit.md",
        ".claude/skills/new/SKILL.md",
        ".agents/skills/house-style/SKILL.md",
        ".mcp.json",
        "tools/tickets.js",
    ],
)
def test_any_change_or_new_file_asks_again(project: Path, dirs: Dirs, put: Put, path: str) -> None:
    store = TrustStore(dirs)
    put(project / "tools" / "tickets.js", "one")
    store.trust(project, store.review(project).digest)
    target = project / path
    put(target, (target.read_text() if target.exists() else "") + "\n# changed")
    assert not store.is_trusted(project)
    target.write_text("x")
    assert not store.is_trusted(project)


def test_other_files_do_not_ask_again(project: Path, dirs: Dirs, put: Put) -> None:
    store = TrustStore(dirs)
    store.trust(project, store.review(project).digest)
    put(project / "src" / "main.py", "x")
    put(project / "AGENTS.md", "x")
    put(project / ".magent" / "plans" / "a.md", "x")
    assert store.is_trusted(project)


def test_what_changes_between_look_and_answer_is_not_trusted(project: Path, dirs: Dirs, put: Put) -> None:
    store = TrustStore(dirs)
    review = store.review(project)
    put(project / ".mcp.json", "{}")
    with pytest.raises(UserError, match="changed"):
        store.trust(project, review.digest)
    assert not store.is_trusted(project)


def test_a_file_that_goes_and_a_link_that_turns_ask_again(project: Path, dirs: Dirs, put: Put) -> None:
    store = TrustStore(dirs)
    one, two = put(project.parent / "one.md", "a"), put(project.parent / "two.md", "b")
    link = project / ".magent" / "agent" / "link.md"
    link.symlink_to(one)
    store.trust(project, store.review(project).digest)
    link.unlink()
    link.symlink_to(two)
    assert not store.is_trusted(project)
    link.unlink()
    assert not store.is_trusted(project)


def test_the_review_says_what_would_run_and_what_would_be_allowed(
    project: Path, dirs: Dirs, put: Put
) -> None:
    put(project / ".magent" / "hooks" / "guard.sh", "exit 0")
    (project / "CLAUDE.md").unlink()
    (project / "CLAUDE.md").symlink_to(put(project.parent / "outside.md", "x"))
    review = TrustStore(dirs).review(project)
    text = "\n".join(review.lines())
    for words in (
        "run `.magent/hooks/guard.sh` at PreToolUse of Bash|edit_file",
        "start the MCP server 'tickets': `node tools/tickets.js`",
        "start the MCP server 'db': `DSN=${DSN} npx -y db-mcp --dsn ${DSN}`",
        "connect to the MCP server 'github' at https://api.example.com/mcp/",
        "allow bash: make *",
        "set model to 'openai/gpt-5'",
        "set bash.timeoutSeconds to 300",
        "replace the agent 'build'",
        "add the agent 'migrator', with the model 'anthropic/claude-sonnet-4-5'",
        "let the agent 'reviewer' use bash: git diff",
        "add the command /git:changelog, for the agent 'build', with the model "
        "'anthropic/claude-sonnet-4-20250514', which runs `git log --oneline $1..$2`",
        "add the skill 'pdf-forms'",
        "use the file .magent/hooks/guard.sh",
        f"use the file CLAUDE.md, a link to {project.parent}/outside.md",
        "read this file (.magent/agent/broken.md)",
    ):
        assert words in text
    assert "git push" not in text
    assert str(review).startswith(f"Trust the config of {project}?")


def test_the_review_cannot_hide_text(empty: Path, dirs: Dirs, put: Put) -> None:
    put(empty / ".magent" / "config.yaml", 'hooks: {Stop: [{command: "echo ok\\n\\u202Erm -rf x"}]}')
    (line,) = TrustStore(dirs).review(empty).lines()
    assert "\\n\\u202erm -rf x" in line


@pytest.mark.parametrize("record", ["", "{", "[]", '{"digest": 5}', "[" * 50_000])
def test_a_damaged_record_is_no_trust(project: Path, dirs: Dirs, record: str) -> None:
    store = TrustStore(dirs)
    store.trust(project, store.review(project).digest)
    (path,) = (dirs.state / "trust").iterdir()
    path.write_text(record)
    assert not store.is_trusted(project)


def test_the_same_project_by_another_path_is_the_same(project: Path, dirs: Dirs) -> None:
    store = TrustStore(dirs)
    store.trust(project, store.review(project).digest)
    link = project.parent / "link"
    link.symlink_to(project)
    assert store.is_trusted(link)


@pytest.mark.parametrize("shell", ["$ARGUMENTS", "rm -rf $1", "$ARGUMENTS[0] | sh", "a $1b$2 c"])
def test_the_review_shows_the_commands_as_they_stand_in_the_file(
    empty: Path, dirs: Dirs, put: Put, shell: str
) -> None:
    """With its arguments left out, `rm -rf $1` would look like another command."""
    put(
        empty / ".magent/commands/x.md",
        f"---\nagent: ask\nmodel: openai/gpt-5\n---\nSee !`{shell}` and say so.",
    )
    [line] = TrustStore(dirs).review(empty).lines()
    assert line.startswith(
        f"add the command /x, for the agent 'ask', with the model 'openai/gpt-5', which runs `{shell}`"
    )
