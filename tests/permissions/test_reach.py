"""Links and folders on a real disk: a wildcard or the name of a folder opens more than its text tells."""

import os
from pathlib import Path

import pytest

from magent_lsp.permissions.place import Place
from magent_lsp.permissions.reach import MAX_FOLDERS, MAX_LINKS
from magent_lsp.tools.ground import Ground
from tests.support.permissions import bash, policy
from tests.support.tool_context import write


@pytest.fixture
def where(tmp_path: Path) -> Place:
    folder = tmp_path / "ws"
    write(
        tmp_path,
        {
            "ws/.env": "KEY=1\n",
            "ws/docs/a.md": "a\n",
            "ws/a.md": "a\n",
            "ws/docs/b.md": "b\n",
            "ws/docs/.hidden.md": "h\n",
            "ws/plain/x.txt": "x\n",
            "ws/plain/sub/x.txt": "x\n",
            "ws/other/x.txt": "x\n",
            "ws/app.v1/a": "a\n",
            "ws/app.v2/a": "a\n",
            "ws/Makefile": "all:\n",
            "ws/LICENSE": "free\n",
            "ws/packages/one/package.json": "{}\n",
            "ws/packages/two/package.json": "{}\n",
            "away/hostname": "host\n",
        },
    )
    for name, target in {
        "docs/setup.md": "../.env",
        "docs/host.md": "/etc/hostname",
        "docs/.away.md": "/etc/hostname",
        "plain/inner.txt": "x.txt",
        "packages/three": str(tmp_path / "away"),
        "packages/four": "one",
    }.items():
        (folder / name).symlink_to(target)
    return Place(
        folders=(folder,),
        cwd=folder,
        home=tmp_path / "home",
        resolve=lambda path: Path(os.path.realpath(path)),
        disk=Ground(),
    )


@pytest.mark.parametrize(
    "line",
    [
        "cat docs/*.md",
        "head -n 5 docs/*.md",
        "grep -n KEY docs/*.md",
        "wc -l docs/?????.md",
        "sort docs/[s]etup.md",
        "cat docs/h*",
        "cat d*s/setup.md",
        "cat */setup.md",
        "cat ./docs/*.md",
        "cat docs/../docs/*.md",
        "cd docs && cat *.md",
        "cat docs/.a*",
        "cat < docs/host*",
        "ls packages/*",
        "cat packages/*/hostname",
        "cat packages/t*/*",
        "cat packages/*/*",
        "diff docs/a.md docs/h*.md",
        "diff app.v1 app.v2",
        "diff -N . .git",
        "diff plain other",
        "diff plain/ other/",
        "diff docs setup.md",
        "diff host.md docs",
        "git diff . plain",
        "git diff plain other",
        "git diff -- plain other",
        "git diff .env Makefile",
        "git diff docs/host.md Makefile",
    ],
)
def test_what_a_name_reaches_is_judged(where: Place, line: str) -> None:
    assert bash(line, policy(), where).verdict != "allow"


@pytest.mark.parametrize(
    "line",
    [
        "cat docs/[ab].md",
        "cat docs/a*.md",
        "cat plain/*.txt",
        "cat doc?/a.md",
        "wc -l docs/[!hs]*.md",
        "cat packages/???/package.json",
        "ls docs/*.py",
        "cat missing/*.md",
        "diff Makefile LICENSE",
        "diff docs/a.md docs/b.md",
        "diff docs a.md",
        "diff plain/x.txt other/x.txt",
        "diff missing1 missing2",
        "git diff main topic",
        "git diff Makefile LICENSE",
        "git diff HEAD~1 plain",
    ],
)
def test_ordinary_names_are_not_asked(where: Place, line: str) -> None:
    decision = bash(line, policy(), where)
    assert decision.verdict == "allow", decision.explain()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_two_paths_in_a_repository_are_shown_by_git_alone(where: Place, kind: str) -> None:
    mark = where.cwd / ".git"
    mark.mkdir()
    assert bash("git diff plain other", policy(), where).verdict == "ask", "no repository yet"
    if kind == "folder":
        (mark / "HEAD").write_text("ref: refs/heads/main\n")
    else:
        mark.rmdir()
        mark.write_text("gitdir: ../x\n")
    assert bash("git diff plain other", policy(), where).verdict == "allow"


def test_a_wildcard_over_too_much_is_asked(where: Place) -> None:
    for number in range(MAX_LINKS + 1):
        (where.cwd / "plain" / f"l{number}.txt").symlink_to("x.txt")
    assert bash("cat plain/l*.txt", policy(), where).verdict == "ask"
    assert bash("cat plain/l1*.txt", policy(), where).verdict == "allow"
    for number in range(MAX_FOLDERS + 1):
        (where.cwd / "many" / f"d{number:03}").mkdir(parents=True)
    assert bash("cat many/d???/x*.txt", policy(), where).verdict == "ask"
    assert bash("cat many/d???/x.txt", policy(), where).verdict == "allow"
