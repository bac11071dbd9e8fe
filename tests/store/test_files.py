"""No file, of whatever kind, can hang or exhaust the server, or lead out of a project unseen."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.files import MAX_BYTES, MAX_FILES, Walk, is_markdown, read_text, write_atomic

Put = Callable[[Path, str | bytes], Path]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"caf\xe9", "UTF-8"),
        (b"a\0b", "NUL"),
        (b"x" * (MAX_BYTES + 1), "larger"),
        ("ü".encode("utf-16"), "UTF-8"),
    ],
)
def test_what_is_no_small_text_is_refused(tmp_path: Path, put: Put, content: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_text(put(tmp_path / "a.md", content))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_does_not_hang_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(ConfigError, match="regular"):
        read_text(tmp_path / "a.md")


def test_devices_folders_and_broken_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "folder.md").mkdir()
    for name, words in (("zero", "regular"), ("loop", "circle"), ("gone", "nowhere"), ("folder", "folder")):
        with pytest.raises(ConfigError, match=words):
            read_text(tmp_path / f"{name}.md")


def test_a_link_that_leaves_is_refused_within_a_folder(tmp_path: Path, put: Put) -> None:
    secret = put(tmp_path / "secret", "key")
    link = tmp_path / "project" / "a.md"
    link.parent.mkdir()
    link.symlink_to(secret)
    assert read_text(link) == "key"
    with pytest.raises(ConfigError, match="link"):
        read_text(link, within=link.parent)


def test_a_walk_ends_where_links_go_round_and_where_files_are_without_number(
    tmp_path: Path, put: Put
) -> None:
    put(tmp_path / "a" / "x.md", "")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    walk = Walk(wanted=is_markdown)
    assert [path.name for path in walk.files(tmp_path)] == ["x.md"]
    for number in range(MAX_FILES + 5):
        (tmp_path / "a" / f"{number}.md").touch()
    walk = Walk(wanted=is_markdown)
    assert len(list(walk.files(tmp_path))) == MAX_FILES
    assert len(walk.problems) == 1


def test_a_write_is_whole_and_keeps_mode_and_link(tmp_path: Path, put: Put) -> None:
    target = put(tmp_path / "real.md", "old")
    target.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(target)
    write_atomic(link, "new\r\n")
    assert target.read_bytes() == b"new\r\n"
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.md", "real.md"]
