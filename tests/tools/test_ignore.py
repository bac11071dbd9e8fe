"""If these fail, the agent drowns in build output, or misses files that git does not ignore."""

import subprocess
from pathlib import Path

import pytest

from magent_lsp.tools.ignore import Ignored, walk
from tests.support.tool_context import write

TREE = {
    ".gitignore": "*.log\n!keep.log\n/dist\nbuild/\n**/gen/*.c\n# comment\n\\#odd\ntrail \n"
    "docs/*.tmp\nz/**\n",
    "a.py": "",
    "a.log": "",
    "keep.log": "",
    "#odd": "",
    "trail": "",
    "dist/x": "",
    "sub/dist/x": "",
    "build/keep.log": "",
    "sub/build": "",
    "sub/gen/a.c": "",
    "sub/gen/a.h": "",
    "sub/x/gen/a.c": "",
    "docs/a.tmp": "",
    "docs/in/a.tmp": "",
    "z/y/x": "",
    "sub/.gitignore": "!a.log\n*.py\nlocal\n",
    "sub/a.log": "",
    "sub/a.py": "",
    "sub/deep/a.py": "",
    "sub/deep/.gitignore": "!a.py\n",
    "sub/local/x": "",
    "local/x": "",
    "private.txt": "",
    "sub/bytes\udcff.log": "",
    "sub/keep.log": "",
    "ünï/ç.py": "",
}


def names(root: Path, ignored: Ignored) -> set[str]:
    return {str(Path(entry.path).relative_to(root)) for entry in walk(root, ignored)}


def visible_to_git(root: Path) -> set[str]:
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    return {name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    write(root, TREE)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("private.txt\n")
    return root


def test_the_same_files_as_git(repository: Path) -> None:
    ignored = Ignored(repository, repository)
    assert names(repository, ignored) == visible_to_git(repository)
    for name in TREE:
        assert ignored.hides(repository / name) is (name not in visible_to_git(repository)), name


@pytest.mark.parametrize("below", ["sub", "sub/deep", "docs/in"])
def test_rules_of_folders_above_count(repository: Path, below: str) -> None:
    root = repository / below
    assert names(root, Ignored(root, repository)) == visible_to_git(root)


def test_a_folder_asked_for_by_name_is_shown_although_it_is_ignored(repository: Path) -> None:
    root = repository / "build"
    assert names(root, Ignored(root, repository)) == {"keep.log"}


def test_without_git_the_rules_begin_at_the_workspace_folder(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*\n", "ws/.gitignore": "*.log\n", "ws/sub/a.log": "", "ws/sub/a.py": ""})
    root = tmp_path / "ws" / "sub"
    assert names(root, Ignored(root, tmp_path / "ws")) == {"a.py"}


def test_a_repository_inside_begins_anew(repository: Path) -> None:
    inner = repository / "inner"
    write(inner, {"a.log": "", "b.txt": "", ".gitignore": "b.txt\n"})
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    assert {name for name in names(repository, Ignored(repository, repository)) if "inner" in name} == {
        "inner/a.log",
        "inner/.gitignore",
    }


def test_dot_git_and_node_modules_are_left_out_unless_named(tmp_path: Path) -> None:
    write(
        tmp_path, {".git/config": "", "node_modules/x/index.js": "", "a/node_modules/y.js": "", "a/b.js": ""}
    )
    ignored = Ignored(tmp_path, tmp_path)
    assert names(tmp_path, ignored) == {"a/b.js"}
    assert ignored.hides(tmp_path / "a" / "node_modules" / "y.js")
    inside = tmp_path / "node_modules" / "x"
    assert names(inside, Ignored(inside, tmp_path)) == {"index.js"}
    assert not Ignored(inside, tmp_path).hides(inside / "index.js")


def test_a_bad_rule_costs_only_itself(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "!\n/\n[\n*.log\n", "a.log": "", "a.py": ""})
    assert names(tmp_path, Ignored(tmp_path, tmp_path)) == {".gitignore", "a.py"}


def test_links_are_not_followed_in_circles(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.py": ""})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert names(tmp_path, Ignored(tmp_path, tmp_path)) == {"a/b.py"}


def test_very_deep_folders(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(1_200):
        deep = deep / "d"
        deep.mkdir()
    (deep / "a.py").write_text("")
    try:
        assert len(names(tmp_path, Ignored(tmp_path, tmp_path))) == 1
        assert not Ignored(tmp_path, tmp_path).hides(deep / "a.py")
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)  # too deep for Python's own
