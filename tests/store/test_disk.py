"""Files survive us: bytes, mode, links and names, whatever goes wrong."""

import fcntl
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magent_lsp.core.edits import CreateFile, DeleteFile, RenameFile, Replacement, TextEdits
from magent_lsp.core.errors import MissingError, StaleError, ToolError
from magent_lsp.store import disk
from magent_lsp.store import folder as folders
from magent_lsp.store.land import land

SAMPLES = {
    "plain": b"one\ntwo\n",
    "crlf": b"one\r\ntwo\r\n",
    "cr": b"one\rtwo\r",
    "mixed": b"one\r\ntwo\nthree\rfour",
    "no final newline": b"one\ntwo",
    "bom": b"\xef\xbb\xbfone\ntwo\n",
    "two boms": b"\xef\xbb\xbf\xef\xbb\xbfone\n",
    "utf-16-le": "one\r\ntwo 😀\r\n".encode("utf-16"),
    "utf-16-be": b"\xfe\xff" + "one\n".encode("utf-16-be"),
    "form feed": "a\x0cb\u2028c\u0085d\n".encode(),
    "empty": b"",
    "emoji": "👩‍👩‍👧 é שלום\n".encode(),
}


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES)
def test_a_file_keeps_every_byte_that_is_not_edited(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    text = disk.read(file).text
    disk.write(file, before=text, after=text + "more")
    disk.write(file, before=text + "more", after=text)
    assert file.read_bytes() == data


@given(st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_bytes_are_read_without_loss_or_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "any"
    file.write_bytes(data)
    try:
        document = disk.read(file)
    except ToolError:
        return
    disk.write(file, before=document.text, after=document.text + "x")
    disk.write(file, before=document.text + "x", after=document.text)
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        "größe".encode("latin-1"),
        "“quoted”".encode("cp1252"),
        b"text\0more",
        b"\x7fELF\x02\x01\x01\0\0",
        b"\xff\xfea",
        b"\xff\xfe\0\0a\0\0\0",
        "日本".encode("shift-jis"),
    ],
)
def test_what_is_not_text_is_refused_and_stays(tmp_path: Path, data: bytes) -> None:
    """A lossy read and write has destroyed whole trees in other agents."""
    file = tmp_path / "file"
    file.write_bytes(data)
    with pytest.raises(ToolError, match="binary"):
        disk.read(file)
    with pytest.raises(ToolError, match="binary"):
        disk.write(file, before="", after="x")
    assert file.read_bytes() == data


def test_a_change_in_the_same_second_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old\n")
    status = file.stat()
    file.write_text("new\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(StaleError):
        disk.write(file, before="old\n", after="ours\n")
    assert file.read_text() == "new\n"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o4755])
def test_mode_bits_are_kept(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "run.sh"
    file.write_text("echo 1\n")
    file.chmod(mode)
    disk.write(file, before="echo 1\n", after="echo 2\n")
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("a")
    link.symlink_to("target")
    disk.write(link, before="a", after="b", real_path=target)
    assert link.is_symlink()
    assert target.read_text() == "b"


def test_hard_links_stay_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("long text\n" * 10)
    two.hardlink_to(one)
    disk.write(one, before="long text\n" * 10, after="short\n")
    assert two.read_text() == "short\n"
    assert one.stat().st_ino == two.stat().st_ino


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    disk.write(file, before="a", after="b")
    assert os.getxattr(file, "user.note") == b"kept"


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        disk.write(file, before="a", after="b")
    assert file.read_text() == "a"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket-like"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = Path("/dev/zero" if kind == "device" else "/dev/tty")
        if not path.exists():
            pytest.skip(f"no {path} here")
    with pytest.raises(ToolError):
        disk.read(path)
    with pytest.raises(ToolError):
        disk.write(path, before="", after="x")


def test_errors_name_the_file_and_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="There is no file"):
        disk.read(tmp_path / "missing")
    with pytest.raises(ToolError, match="list_dir"):
        disk.read(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ToolError, match="not a folder"):
        disk.read(tmp_path / "file" / "below")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(ToolError, match="circle"):
        disk.read(tmp_path / "round")


def test_fifty_megabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as stream:
        stream.truncate(disk.MAX_BYTES + 1)
    for action in (lambda: disk.read(file), lambda: disk.write(file, before="", after="x")):
        with pytest.raises(ToolError, match="too large"):
            action()


def test_one_line_of_ten_megabytes_can_be_edited(tmp_path: Path) -> None:
    file = tmp_path / "line"
    text = "x" * 10_000_000
    file.write_text(text)
    disk.write(file, before=text, after=text + "y")
    assert file.stat().st_size == 10_000_001


def test_a_new_file_and_its_folders_are_made(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c.txt"
    disk.create(file, "text\n")
    assert file.read_bytes() == b"text\n"
    with pytest.raises(ToolError, match="there already"):
        disk.create(file, "other")
    assert file.read_text() == "text\n"


def test_a_file_is_never_made_through_a_dangling_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolError, match="leads nowhere"):
        disk.create(link, "x")
    assert not (tmp_path / "elsewhere").exists()


def test_a_failed_creation_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        disk.create(tmp_path / "new" / "deep" / ("n" * 300), "x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ToolError, match="surrogate"):
        disk.create(tmp_path / "half", "\ud83d")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_with_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ToolError, match="not a folder"):
        disk.create(tmp_path / "file" / "new", "x")


def test_a_link_swapped_in_after_the_judgement_is_not_followed(tmp_path: Path) -> None:
    """What was judged to be in the project must not be written to somewhere else."""
    inside, outside = tmp_path / "ws", tmp_path / "outside"
    for folder in (inside / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "f").write_text("same\n")
    judged = disk.real(inside / "sub" / "f")
    (inside / "sub").rename(inside / "old")
    (inside / "sub").symlink_to(outside)
    for change in (
        lambda: disk.write(inside / "sub" / "f", before="same\n", after="ours\n", real_path=judged),
        lambda: disk.create(inside / "sub" / "new", "ours\n", real_path=inside / "sub" / "new"),
        lambda: disk.delete(inside / "sub" / "f", before="same\n", real_path=judged),
    ):
        with pytest.raises(StaleError):
            change()
    assert (outside / "f").read_text() == "same\n"
    assert sorted(path.name for path in outside.iterdir()) == ["f"]


def test_links_swapped_all_the_time_never_lead_a_write_out(tmp_path: Path) -> None:
    """A race, not a state: another process swaps the folder for a link while we write."""
    real, link, outside = tmp_path / "sub", tmp_path / "sub.link", tmp_path / "outside"
    for folder in (real, outside):
        folder.mkdir()
        (folder / "f").write_text("same\n")
    link.symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            real.rename(tmp_path / "aside")
            link.rename(real)
            real.rename(link)
            (tmp_path / "aside").rename(real)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        text = "same\n"
        for _ in range(300):
            try:
                disk.write(real / "f", before=text, after=text + "x", real_path=tmp_path / "sub" / "f")
            except ToolError:
                continue
            text += "x"
    finally:
        stop.set()
        thread.join()
    assert (outside / "f").read_text() == "same\n"
    assert (real / "f").read_text() == text


def test_a_path_that_changed_its_kind_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    path.write_text("x")
    path.unlink()
    path.mkdir()
    with pytest.raises(ToolError, match="a folder"):
        disk.write(path, before="x", after="y", real_path=path)


def test_deleting_and_moving_compare_first(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    with pytest.raises(StaleError):
        disk.delete(one, before="b")
    with pytest.raises(StaleError):
        disk.rename(one, two, before="b")
    two.write_text("there")
    with pytest.raises(ToolError, match="there already"):
        disk.rename(one, two, before="a")
    assert two.read_text() == "there"
    disk.rename(one, tmp_path / "new" / "name", before="a")
    disk.delete(tmp_path / "new" / "name", before="a")
    assert not (tmp_path / "new" / "name").exists()
    assert not one.exists()


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    disk.write(file, before="a", after="b")
    with pytest.raises(StaleError):
        disk.write(file, before="a", after="c")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], check=False)
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield mount
    subprocess.run(["umount", mount], check=True)


@pytest.mark.parametrize("links", [1, 2])
def test_a_full_disk_leaves_the_file_as_it_was(small_disk: Path, links: int) -> None:
    file = small_disk / "file"
    file.write_text("a" * 30_000)
    if links == 2:
        (small_disk / "other").hardlink_to(file)
    with pytest.raises(ToolError, match="full"):
        disk.write(file, before="a" * 30_000, after="b" * 100_000)
    assert file.read_text() == "a" * 30_000
    assert len(list(small_disk.iterdir())) == links
    with pytest.raises(ToolError, match="full"):
        disk.create(small_disk / "new", "c" * 100_000)
    assert not (small_disk / "new").exists()


@pytest.mark.parametrize("links", [1, 2])
def test_a_limit_of_size_leaves_the_file_as_it_was(tmp_path: Path, links: int) -> None:
    """The same by RLIMIT_FSIZE, which needs no root."""
    file = tmp_path / "file"
    file.write_text("a" * 1000)
    if links == 2:
        (tmp_path / "other").hardlink_to(file)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(ToolError, match="larger than allowed"):
            disk.write(file, before="a" * 1000, after="b" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == "a" * 1000
    assert len(list(tmp_path.iterdir())) == links


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_still_lets_the_file_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    tmp_path.chmod(0o555)
    try:
        disk.write(file, before="a", after="b")
    finally:
        tmp_path.chmod(0o755)
    assert file.read_text() == "b"


def test_edits_land_with_an_outcome(tmp_path: Path) -> None:
    file = tmp_path / "file"

    def texts(before: str, after: str) -> TextEdits:
        return TextEdits(
            path=file, replacements=(Replacement(0, len(before), after),), before=before, after=after
        )

    assert land(texts("", "x")).outcome == "stale"
    assert land(CreateFile(path=file, text="one")).outcome == "applied"
    assert land(CreateFile(path=file, text="two")).outcome == "rejected"
    assert land(texts("other", "x")).outcome == "stale"
    assert land(texts("one", "two")).outcome == "applied"
    moved = land(RenameFile(path=file, target=tmp_path / "moved", before="two"))
    assert (moved.outcome, moved.path) == ("applied", tmp_path / "moved")
    assert land(DeleteFile(path=tmp_path / "moved", before="one")).outcome == "stale"
    assert land(DeleteFile(path=tmp_path / "moved", before="two")).outcome == "applied"


_COUNT = """
import sys
from pathlib import Path
from magent_lsp.core.errors import ToolError
from magent_lsp.store import disk

path, left = Path(sys.argv[1]), 100
while left:
    try:
        text = disk.read(path).text
        disk.write(path, before=text, after=str(int(text) + 1))
        left -= 1
    except (ToolError, ValueError):
        continue
"""


@pytest.mark.parametrize("names", [1, 2], ids=["one name", "a hard link"])
def test_processes_that_write_one_file_take_turns(tmp_path: Path, names: int) -> None:
    """Two servers count in one file: an update that was reported as made is never lost."""
    path = tmp_path / "count"
    path.write_text("0")
    if names > 1:
        os.link(path, tmp_path / "other name")
    environment = {**os.environ, "PYTHONPATH": str(Path(disk.__file__).parents[2])}
    program = [sys.executable, "-c", _COUNT, str(path)]
    counting = [subprocess.Popen(program, env=environment) for _ in range(3)]
    assert [process.wait(60) for process in counting] == [0, 0, 0]
    assert path.read_text() == "300"


def test_a_file_that_another_program_locks_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LOCK_SECONDS", 0.05)
    path = tmp_path / "a"
    path.write_text("old")
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        disk.write(path, before="old", after="new")
    assert path.read_text() == "new"
