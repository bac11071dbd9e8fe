"""A run is taken back and brought back over a real connection, and what a person wrote since stays."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.support.edit_desk import Desk, call, change, desk

TEXT = "".join(f"line {number}\n" for number in range(12))
FILES: dict[str, str | bytes] = {"a.txt": TEXT, "b.txt": TEXT}
CALLS = [
    change("a.txt", "line 5\n", "LINE 5\nand more\n"),
    change("b.txt", "line 5\n", ""),
    call("write_file", path="sub/new.txt", content="new\n"),
    change("a.txt", "line 9\n", "LINE 9\n"),
]
A = TEXT.replace("line 5\n", "LINE 5\nand more\n").replace("line 9\n", "LINE 9\n")
B = TEXT.replace("line 5\n", "")


def _texts(at: Desk) -> dict[str, str]:
    return {
        path.relative_to(at.ws).as_posix(): path.read_text() for path in at.ws.rglob("*") if path.is_file()
    }


BEFORE = {"a.txt": TEXT, "b.txt": TEXT}
AFTER = {"a.txt": A, "b.txt": B, "sub/new.txt": "new\n"}


async def test_undo_and_redo_again_and_again(tmp_path: Path) -> None:
    async with desk(tmp_path, files=FILES) as at:
        told = await at.agent(CALLS)
        assert _texts(at) == AFTER
        for _ in range(3):
            assert await at.undo(told) == {"restored": ["a.txt", "b.txt", "sub/new.txt"], "conflicts": []}
            assert _texts(at) == BEFORE
            assert await at.undo(told) == {"restored": [], "conflicts": []}, "nothing is left to undo"
            assert await at.redo(told) == {"restored": ["a.txt", "b.txt", "sub/new.txt"], "conflicts": []}
            assert _texts(at) == AFTER
            assert await at.redo(told) == {"restored": [], "conflicts": []}


async def test_undo_and_redo_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path, files=FILES) as at:
        told = await at.agent(CALLS)
    async with desk(tmp_path) as at:
        assert (await at.undo(told))["conflicts"] == []
        assert _texts(at) == BEFORE
    async with desk(tmp_path) as at:
        assert (await at.redo(told))["conflicts"] == []
        assert _texts(at) == AFTER
    async with desk(tmp_path) as at:
        buffer = at.open("a.txt", A + "unsaved\n")
        assert (await at.undo(told))["conflicts"] == []
        assert buffer.text == TEXT + "unsaved\n"
        assert at.bytes("a.txt").decode() == A, "unsaved text stays unsaved"


async def test_what_the_person_changed_since_stays(tmp_path: Path) -> None:
    async with desk(tmp_path, files=FILES) as at:
        buffer = at.open("a.txt")
        told = await at.agent(CALLS)
        at.client.type(buffer, "line 1\n", "mine above\n")
        at.client.type(buffer, "line 11\n", "line 11\nmine below")
        (at.ws / "b.txt").write_text("mine\n" + B)
        undone = await at.undo(told)
        assert undone["conflicts"] == []
        mine = TEXT.replace("line 1\n", "mine above\n").replace("line 11\n", "line 11\nmine below")
        assert buffer.text == mine
        assert at.bytes("b.txt").decode() == "mine\n" + TEXT
        assert (await at.redo(told))["conflicts"] == []
        assert buffer.text == A.replace("line 1\n", "mine above\n").replace(
            "line 11\n", "line 11\nmine below"
        )


async def test_conflicts_are_named_and_left_alone_and_the_rest_is_restored(tmp_path: Path) -> None:
    async with desk(tmp_path, files=FILES) as at:
        buffer = at.open("a.txt")
        told = await at.agent(CALLS)
        at.client.type(buffer, "LINE 5", "mine 5")
        (at.ws / "sub/new.txt").write_text("new\nmine\n")
        (at.ws / "b.txt").unlink()
        typed = buffer.text
        undone = await at.undo(told)
        assert sorted(undone["conflicts"]) == ["a.txt", "b.txt", "sub/new.txt"]
        assert undone["restored"] == []
        assert buffer.text == typed
        assert at.bytes("sub/new.txt") == b"new\nmine\n"
        assert not (at.ws / "b.txt").exists()
        (at.ws / "b.txt").write_text(B)
        at.client.type(buffer, "mine 5", "LINE 5")
        undone = await at.undo(told)
        assert undone == {"restored": ["a.txt", "b.txt"], "conflicts": ["sub/new.txt"]}
        assert buffer.text == TEXT


async def test_undo_is_not_stopped_by_what_files_have_become(tmp_path: Path) -> None:
    files = {name: TEXT for name in ("folder.txt", "binary.txt", "locked.txt", "link.txt", "ok.txt")}
    async with desk(tmp_path, files=files) as at:
        told = await at.agent([change(name, "line 5\n", "LINE 5\n") for name in files])
        outside = tmp_path / "outside.txt"
        outside.write_bytes(at.bytes("link.txt"))
        for name in ("folder.txt", "link.txt"):
            (at.ws / name).unlink()
        (at.ws / "folder.txt").mkdir()
        (at.ws / "binary.txt").write_bytes(b"\0\1")
        (at.ws / "link.txt").symlink_to(outside)
        undone = await at.undo(told)
        assert sorted(undone["conflicts"]) == ["binary.txt", "folder.txt", "link.txt"]
        assert sorted(undone["restored"]) == ["locked.txt", "ok.txt"]
        assert outside.read_text() == TEXT.replace("line 5", "LINE 5"), (
            "a link that came later is not followed"
        )


async def test_a_created_file_comes_back_with_its_mode(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = await at.agent([call("write_file", path="run.sh", content="#!/bin/sh\n")])
        (at.ws / "run.sh").chmod(0o755)
        await at.undo(told)
        assert not (at.ws / "run.sh").exists()
    async with desk(tmp_path) as at:
        await at.redo(told)
        assert (at.ws / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_undo_of_an_unknown_run_does_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, files=FILES) as at:
        assert await at.undo("no such run") == {"restored": [], "conflicts": []}
        assert _texts(at) == BEFORE


KILLED = """
import os, signal, sys
from magent_lsp.store import disk, replace
where = os.environ["KILL_AT"]
def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)
if where == "before":
    disk.write = disk.create = die
elif where == "during":
    replace._compare = die
else:
    import magent_lsp.store.land as land
    honest = land.land
    def then_die(edit):
        honest(edit)
        die()
    import magent_lsp.lsp.lanes as lanes
    lanes.land = then_die
from magent_lsp.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("where", ["before", "during", "after"])
async def test_a_server_that_is_killed_in_an_edit_loses_nothing_and_undo_works(
    tmp_path: Path, where: str
) -> None:
    """Between the pre-image and the write, in the middle of it, and right behind it."""
    environment = {"KILL_AT": where}
    async with desk(tmp_path, files={"a.txt": TEXT}, code=KILLED, environment=environment) as at:
        run = await at.start([change("a.txt", "line 5\n", "LINE 5\n")])
        assert at.client.process is not None
        async with asyncio.timeout(20):
            assert await at.client.process.wait() == -signal.SIGKILL
        assert at.bytes("a.txt").decode() in (TEXT, TEXT.replace("line 5", "LINE 5"))
        assert (at.bytes("a.txt").decode() == TEXT) == (where != "after")
    (tmp_path / "ws/a.txt").write_text("mine\n" + (tmp_path / "ws/a.txt").read_text())
    async with desk(tmp_path) as at:
        undone = await at.undo(run["runId"])
        assert undone["conflicts"] == []
        assert at.bytes("a.txt").decode() == "mine\n" + TEXT
        told = await at.agent([change("a.txt", "line 5\n", "LINE 5\n")], sessionId=run["sessionId"])
        assert told.outcomes == ["applied"], "the session goes on"


async def test_a_run_that_was_cancelled_in_an_edit_can_be_undone(tmp_path: Path) -> None:
    """The edit was sent, the person cancels, and then the editor makes it: it is known and can be undone."""
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        honest = at.client._apply_edit
        arrived, answer = asyncio.Event(), asyncio.Event()

        async def slow(params: object) -> object:
            arrived.set()
            await answer.wait()
            result, after = await honest(params)
            assert after is not None
            asyncio.get_running_loop().call_later(0.02, after)
            return result

        at.client.on["workspace/applyEdit"] = slow
        run = await at.start([change("a.txt", "line 5\n", "LINE 5\n")])
        async with asyncio.timeout(15):
            await arrived.wait()
        await at.client.command("magent.cancel", runId=run["runId"])
        told = await at.told(run["runId"], 5)
        assert told.finished["stopReason"] == "cancelled"
        assert told.outcomes == ["unknown"]
        answer.set()
        await at.client.until(lambda: "LINE 5" in buffer.text)
        del at.client.on["workspace/applyEdit"]
        assert await at.undo(told) == {"restored": ["a.txt"], "conflicts": []}
        assert buffer.text == TEXT


async def test_undo_keeps_mode_and_owner_of_what_it_restores(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"run.sh": "a\nb\n"}) as at:
        (at.ws / "run.sh").chmod(0o750)
        os.setxattr(at.ws / "run.sh", b"user.note", b"kept")
        told = await at.agent([change("run.sh", "a", "A")])
        await at.undo(told)
        assert (at.ws / "run.sh").stat().st_mode & 0o777 == 0o750
        assert os.getxattr(at.ws / "run.sh", b"user.note") == b"kept"
