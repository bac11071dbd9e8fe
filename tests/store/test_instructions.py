"""The model gets the instructions meant for the file at hand, and nothing from elsewhere."""

from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.store.dirs import Dirs
from magent_lsp.store.instructions import MAX_CHARS, MAX_TOTAL, find_instructions, load_instructions

Put = Callable[[Path, str | bytes], Path]


def names(
    folder: Path, file: Path | None, dirs: Dirs, globs: tuple[str, ...] = (), trusted: bool = True
) -> list[str]:
    found = load_instructions(folder, file, dirs, globs, trusted)
    return [each.path.relative_to(folder.parent).as_posix() for each in found]


def test_from_the_user_over_the_root_to_the_folder_of_the_file(project: Path, dirs: Dirs, put: Put) -> None:
    put(dirs.user / "AGENTS.md", "Answer in German.")
    put(project / "docs" / "style.md", "x")
    file = project / "src" / "api" / "orders.py"
    assert names(project, file, dirs, ("docs/*.md",)) == [
        "home/config/AGENTS.md",
        "shop/AGENTS.md",
        "shop/src/api/CLAUDE.md",
        "shop/docs/style.md",
    ]
    assert names(project, project / "src" / "x.py", dirs) == ["home/config/AGENTS.md", "shop/AGENTS.md"]
    assert names(project, None, dirs) == ["home/config/AGENTS.md", "shop/AGENTS.md"]
    assert names(project, project.parent / "other" / "x.py", dirs) == [
        "home/config/AGENTS.md",
        "shop/AGENTS.md",
    ]
    assert load_instructions(None, None, dirs, ("*.md",), True)[0].text == "Answer in German."


def test_a_file_counts_once_however_it_is_reached(empty: Path, dirs: Dirs, put: Put) -> None:
    put(empty / "AGENTS.md", "x")
    (empty / "sub").mkdir()
    (empty / "sub" / "CLAUDE.md").symlink_to("../AGENTS.md")
    assert names(empty, empty / "sub" / "a.py", dirs, ("*.md", "AGENTS.md")) == ["empty/AGENTS.md"]


def test_links_that_leave_are_refused(empty: Path, dirs: Dirs, put: Put) -> None:
    secret = put(empty.parent / "id_rsa", "private")
    (empty / "AGENTS.md").symlink_to(secret)
    (empty / "sub").mkdir()
    (empty / "sub" / "AGENTS.md").symlink_to(secret)
    (empty / "doc.md").symlink_to(secret)
    found, problems = find_instructions(empty, empty / "sub" / "a.py", dirs, ("doc.md",), False)
    assert found == ()
    assert [problem.path for problem in problems] == [
        empty / "AGENTS.md",
        empty / "sub" / "AGENTS.md",
        empty / "doc.md",
    ]
    assert names(empty, empty / "sub" / "a.py", dirs, ("doc.md",)) == ["empty/AGENTS.md"]


@pytest.mark.parametrize("glob", ["../secret.md", "a/../../secret.md", "..", "", "  ", "a\0b"])
def test_globs_that_leave_are_reported_and_ignored(empty: Path, dirs: Dirs, put: Put, glob: str) -> None:
    put(empty.parent / "secret.md", "x")
    found, problems = find_instructions(empty, None, dirs, (glob,), True)
    assert (found, len(problems)) == ((), 1)


def test_globs(empty: Path, dirs: Dirs, put: Put) -> None:
    for path in ("a.md", "b.txt", "docs/c.md", "docs/deep/d.md", "node_modules/e.md", ".git/f.md"):
        put(empty / path, path)
    assert names(empty, None, dirs, ("*.md",)) == ["empty/a.md"]
    assert names(empty, None, dirs, ("**/*.md",)) == ["empty/a.md", "empty/docs/c.md", "empty/docs/deep/d.md"]
    assert names(empty, None, dirs, ("docs/*.md", "./b.*")) == ["empty/docs/c.md", "empty/b.txt"]
    assert names(empty, None, dirs, ("docs/deep/d.md", "gone/*.md", "gone.md")) == ["empty/docs/deep/d.md"]
    assert names(empty, None, dirs, (f"{empty}/d*/*.md",), False) == ["empty/docs/c.md"]


def test_long_files_are_cut_and_said_to_be(empty: Path, dirs: Dirs, put: Put) -> None:
    for number in range(6):
        put(empty / f"{number}.md", str(number) * (MAX_CHARS + 10))
    found, problems = find_instructions(empty, None, dirs, ("*.md",), True)
    assert sum(len(each.text) for each in found) < MAX_TOTAL + 1000
    assert "cut off here: 10 more" in found[0].text
    assert len(found) == 3
    assert len(problems) == 6


def test_a_bad_file_is_skipped_and_told(empty: Path, dirs: Dirs, put: Put) -> None:
    put(empty / "AGENTS.md", b"\xff\xfe\x00")
    found, problems = find_instructions(empty, None, dirs, (), True)
    assert (found, [problem.path for problem in problems]) == ((), [empty / "AGENTS.md"])
