"""Attackers and bad luck: odd clients, odd names, links that move, disks that fill; nothing is lost."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.edit_desk import Desk, call, change, desk
from tests.support.lsp_profiles import EMACS

TEXT = "one\n\ntwo\n\nthree\n"
EDIT = change("a.txt", "two", "TWO")
AFTER = TEXT.replace("two", "TWO")
ASK = {"edit_file": "ask", "write_file": "ask"}


# -- clients that keep no order --------------------------------------------------------------------


async def test_versions_that_are_zero_negative_or_go_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for number, version in enumerate((0, -1, -7, 2_000_000_000)):
            buffer = at.open(f"{number}.txt", TEXT)
            buffer.version = version - 1
            at.client.type(buffer, "three", "3")
            assert buffer.version == version
            told = await at.agent([change(f"{number}.txt", "two", "TWO")])
            assert told.outcomes == ["applied"], (version, told.outputs)
            assert buffer.text == AFTER.replace("three", "3")
            buffer.version = -100
            at.client.type(buffer, "one", "1")
            assert (await at.agent([change(f"{number}.txt", "3", "III")])).outcomes == ["applied"]
            assert buffer.text == "1\n\nTWO\n\nIII\n"


async def test_a_document_opened_twice_has_its_last_text(tmp_path: Path) -> None:
    """eglot 1.9 opens documents of unvisited files again."""
    async with desk(tmp_path, profile=EMACS) as at:
        at.open("a.txt", "old\n")
        buffer = at.open("a.txt", TEXT)
        assert (await at.agent([EDIT])).outcomes == ["applied"]
        assert buffer.text == AFTER


async def test_changes_of_unknown_documents_and_closing_them_are_tolerated(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        uri = (at.ws / "a.txt").as_uri()
        place = {"line": 0, "character": 0}
        piece = {"range": {"start": place, "end": place}, "text": "lost "}
        document = {"uri": uri, "version": 3}
        at.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [piece]})
        at.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        at.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        assert (await at.agent([EDIT])).outcomes == ["applied"]
        assert at.bytes("a.txt").decode() == AFTER
        buffer = at.open("a.txt")
        at.close(buffer)
        at.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert (await at.agent([change("a.txt", "one", "ONE")])).outcomes == ["applied"]
        assert at.bytes("a.txt").decode() == AFTER.replace("one", "ONE")


@pytest.mark.parametrize("when", ["before the answer", "after the answer"])
async def test_a_document_closed_in_the_middle_of_an_edit(tmp_path: Path, when: str) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")

        async def closes(params: Any) -> Any:
            del at.client.on["workspace/applyEdit"]
            if when == "before the answer":
                at.close(buffer)
                return {"applied": False, "failureReason": "closed"}
            asyncio.get_running_loop().call_later(0.05, at.close, buffer)
            return {"applied": True}

        at.client.on["workspace/applyEdit"] = closes
        told = await at.agent([EDIT], [change("a.txt", "one", "ONE")], seconds=20)
        first, last = told.outcomes[0], told.outcomes[-1]
        assert (told.statuses[0] == "completed") == (first == "applied"), told.outputs
        assert last == "applied", "the next edit goes to the disk and is not held up"
        wanted = AFTER if first == "applied" else TEXT
        assert at.bytes("a.txt").decode() == wanted.replace("one", "ONE")


# -- names ----------------------------------------------------------------------------------------

NAMES = [
    "a b.txt",
    "100%.txt",
    "a%20b.txt",
    "%2e%2e%2fx.txt",
    "new\nline.txt",
    "tab\t.txt",
    "quo'te\".txt",
    "#hash?query.txt",
    "c++;v=1.txt",
    "brackets[1]*.txt",
    "back\\slash.txt",
    "🦄 𝒳.txt",
    "e\u0301.txt",
    "é.txt",
    "\u202etxt.exe",
    "-rf.txt",
    "CON.txt",
    ".hidden",
    " leading.txt",
    "trailing ",
    "x" * 250,
]


@pytest.mark.parametrize("opened", [True, False], ids=["buffer", "disk"])
async def test_any_name_that_a_file_can_have(tmp_path: Path, opened: bool) -> None:
    files = {name: f"{number}\n{TEXT}" for number, name in enumerate(NAMES)}
    async with desk(tmp_path, files=files) as at:
        buffers = {name: at.open(name) for name in NAMES} if opened else {}
        told = await at.agent([change(name, "two", "TWO") for name in NAMES])
        assert told.outcomes == ["applied"] * len(NAMES), dict(zip(NAMES, told.outputs, strict=True))
        texts = {name: buffers[name].text if opened else at.bytes(name).decode() for name in NAMES}
        assert texts == {name: text.replace("two", "TWO") for name, text in files.items()}
        undone = await at.undo(told)
        assert undone["conflicts"] == []
        texts = {name: buffers[name].text if opened else at.bytes(name).decode() for name in NAMES}
        assert texts == files


async def test_a_tilde_is_the_home_folder_and_never_made_in_the_workspace(tmp_path: Path) -> None:
    """The home of the server is `tmp_path`, outside of the workspace: asked, whatever `edit_file` says."""
    async with desk(tmp_path) as at:
        at.client.always = "Reject"
        told = await at.agent([call("write_file", path="~/evil.txt", content="x")])
        assert told.finished["stopReason"] == "rejected"
        assert len(at.client.questions) == 1
        assert not list(at.ws.iterdir())
        assert not (tmp_path / "evil.txt").exists()


async def test_names_that_differ_in_case_are_two_files_where_the_disk_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT, "A.txt": "other two\n"}) as at:
        if (at.ws / "a.txt").samefile(at.ws / "A.txt"):
            pytest.skip("this disk does not tell cases apart")
        buffer = at.open("A.txt")
        assert (await at.agent([EDIT])).outcomes == ["applied"]
        assert at.bytes("a.txt").decode() == AFTER
        assert buffer.text == "other two\n"


async def test_a_file_renamed_only_in_case_while_its_edit_waits(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT}, permission=ASK) as at:

        def rename(params: Any) -> dict[str, str]:
            (at.ws / "a.txt").rename(at.ws / "A.txt")
            return {"title": "Allow once"}

        at.client.always = rename
        assert (await at.agent([EDIT])).outcomes == ["stale"]
        assert at.bytes("A.txt").decode() == TEXT
        assert [path.name for path in at.ws.iterdir()] == ["A.txt"]


# -- what the model must not put into a file -------------------------------------------------------


@pytest.mark.parametrize("opened", [True, False], ids=["buffer", "disk"])
async def test_nul_and_half_characters_of_the_model_reach_no_file(tmp_path: Path, opened: bool) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt") if opened else None
        bad = ["\0", "x\0y", "\ud800", "\udc00x", "a\udfff", "\udc00\ud800"]
        calls = [change("a.txt", "two", text) for text in bad]
        calls += [
            call("write_file", path=f"new{number}.txt", content=text) for number, text in enumerate(bad)
        ]
        calls += [call("write_file", path=f"{text}.txt", content="x") for text in bad]
        calls += [call("read_file", path=f"{text}.txt") for text in bad]
        calls += [change("a.txt", text, "x") for text in bad]
        at.client.always = "Allow once"  # a path that cannot be judged is asked for
        for one in calls:
            told = await at.agent([one])
            assert told.statuses == ["failed"], (one, told.outputs, told.finished)
            assert told.finished["stopReason"] == "end_turn", (one, told.finished)
            assert "unexpectedly" not in told.outputs[0], (one, told.outputs)
        assert [path.name for path in at.ws.iterdir()] == ["a.txt"]
        assert (buffer.text if buffer else at.bytes("a.txt").decode()) == TEXT
        pair = await at.agent([change("a.txt", "two", "\ud83e\udd84")])
        assert pair.outcomes == ["applied"], "two halves in order are one character"
        assert (buffer.text if buffer else at.bytes("a.txt").decode()) == TEXT.replace("two", "🦄")


@pytest.mark.parametrize("old", ["three", "two"])
async def test_half_of_a_character_in_a_buffer_survives_an_edit_and_its_undo(
    tmp_path: Path, old: str
) -> None:
    """VS Code can hold one, and tells it; what it gets back must be what it has."""
    text = "one\ntwo \ud83d\nthree\n"
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt", text)
        told = await at.agent([change("a.txt", old, old.upper())])
        assert told.outcomes == ["applied"], told.outputs
        assert buffer.text == text.replace(old, old.upper())
        assert (await at.undo(told))["conflicts"] == []
        assert buffer.text == text


# -- links and folders -----------------------------------------------------------------------------


async def test_a_workspace_opened_through_a_link(tmp_path: Path) -> None:
    """The editor may name the link or the real folder; both are one file, and rules hold for both."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "ws").symlink_to(real)
    rules = {"edit_file": {"*": "deny", "src/**": "allow"}}
    files = {"src/a.txt": TEXT, "src/b.txt": TEXT, "src/c.txt": TEXT}
    async with desk(tmp_path, files=files, permission=rules) as at:
        by_link = at.open("src/a.txt")
        by_name = at.open("b", TEXT, uri=(real / "src/b.txt").as_uri())
        told = await at.agent([change(name, "two", "TWO") for name in files])
        assert told.outcomes == ["applied"] * 3, told.outputs
        assert by_link.text == by_name.text == AFTER
        assert (real / "src/a.txt").read_text() == TEXT
        assert (real / "src/c.txt").read_text() == AFTER


SWAPS = ["file", "folder", "new file's folder", "to a folder", "gone", "to a pipe"]


@pytest.mark.parametrize("swap", SWAPS)
async def test_what_is_swapped_behind_the_question_is_not_written(tmp_path: Path, swap: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text(TEXT)
    async with desk(tmp_path, files={"sub/a.txt": TEXT}, permission=ASK) as at:
        path = at.ws / "sub/a.txt"

        def swapped(params: Any) -> dict[str, str]:
            path.unlink()
            match swap:
                case "file":
                    path.symlink_to(outside / "a.txt")
                case "folder" | "new file's folder":
                    path.parent.rmdir()
                    path.parent.symlink_to(outside)
                case "to a folder":
                    path.mkdir()
                case "to a pipe":
                    os.mkfifo(path)
            return {"title": "Allow once"}

        at.client.answers.append(swapped)
        at.client.always = "Reject"
        edit = change("sub/a.txt", "two", "TWO")
        if swap == "new file's folder":
            edit = call("write_file", path="sub/new.txt", content="x")
        told = await at.agent([edit], seconds=20)
        assert told.outcomes in (["stale"], ["rejected"]), told.outputs
        assert (outside / "a.txt").read_text() == TEXT
        assert [entry.name for entry in outside.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("swap", ["file", "folder", "gone"])
async def test_a_buffer_whose_file_is_swapped_stays_what_it_is(tmp_path: Path, swap: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text(TEXT)
    async with desk(tmp_path, files={"sub/a.txt": TEXT}, permission=ASK) as at:
        path, buffer = at.ws / "sub/a.txt", at.open("sub/a.txt")

        def swapped(params: Any) -> dict[str, str]:
            path.unlink()
            if swap == "file":
                path.symlink_to(outside / "a.txt")
            elif swap == "folder":
                path.parent.rmdir()
                path.parent.symlink_to(outside)
            return {"title": "Allow once"}

        at.client.answers.append(swapped)
        told = await at.agent([change("sub/a.txt", "two", "TWO")], seconds=20)
        assert (outside / "a.txt").read_text() == TEXT
        if swap == "gone":
            assert told.outcomes == ["applied"], "the buffer has the text; the person may save it again"
            assert buffer.text == AFTER
        else:
            assert told.outcomes == ["stale"], told.outputs
            assert buffer.text == TEXT


async def test_links_in_circles_into_nothing_and_out_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text(TEXT)
    async with desk(tmp_path) as at:
        (at.ws / "loop").symlink_to("loop")
        (at.ws / "nothing").symlink_to("not there")
        (at.ws / "out").symlink_to(tmp_path / "outside.txt")
        told = await at.agent([change(name, "two", "TWO") for name in ("loop", "nothing")])
        assert told.statuses == ["failed", "failed"], told.outputs
        told = await at.agent([call("write_file", path=name, content="x") for name in ("loop", "nothing")])
        assert told.statuses == ["failed", "failed"], told.outputs
        at.client.always = "Reject"
        told = await at.agent([change("out", "two", "TWO")])
        assert told.finished["stopReason"] == "rejected", "a link that leaves is asked for"
        assert (tmp_path / "outside.txt").read_text() == TEXT
        assert sorted(path.name for path in at.ws.iterdir()) == ["loop", "nothing", "out"]


# -- disks -----------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")
    mount = tmp_path / "ws"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield mount
    subprocess.run(["umount", mount], check=True)


async def test_a_full_disk_leaves_every_file_as_it_was(tmp_path: Path, small_disk: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT, "hard.txt": TEXT}) as at:
        os.link(small_disk / "hard.txt", small_disk / "second.txt")
        big = ("x" * 100 + "\n") * 2000
        calls = [
            change("a.txt", "two", big),
            change("hard.txt", "two", big),
            call("write_file", path="new.txt", content=big),
        ]
        told = await at.agent(calls)
        assert told.outcomes == ["rejected"] * 3
        assert all("the disk is full" in text for text in told.outputs)
        assert sorted(path.name for path in small_disk.iterdir()) == ["a.txt", "hard.txt", "second.txt"]
        assert at.bytes("a.txt").decode() == at.bytes("hard.txt").decode() == TEXT
        assert (await at.agent([EDIT])).outcomes == ["applied"], "what fits is written"


async def test_read_only_files_are_left_alone(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"locked.txt": TEXT}) as at:
        (at.ws / "locked.txt").chmod(0o444)
        told = await at.agent([change("locked.txt", "two", "TWO")])
        assert told.outcomes == ["rejected"]
        assert "read-only" in told.outputs[0]
        assert at.bytes("locked.txt").decode() == TEXT


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_read_only_folders_take_edits_of_their_files_and_no_new_ones(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"folder/a.txt": TEXT}) as at:
        (at.ws / "folder").chmod(0o555)
        told = await at.agent(
            [change("folder/a.txt", "two", "TWO"), call("write_file", path="folder/b.txt", content="x")]
        )
        (at.ws / "folder").chmod(0o755)
        assert told.outcomes == ["applied", "rejected"]
        assert at.bytes("folder/a.txt").decode() == AFTER


async def test_a_state_folder_that_takes_nothing_costs_the_undo_not_the_edit(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "blobs").write_text("in the way")
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        told = await at.agent([EDIT])
        assert told.outcomes == ["applied"]
        assert at.bytes("a.txt").decode() == AFTER
        assert await at.undo(told) == {"restored": [], "conflicts": ["a.txt"]}
        assert at.bytes("a.txt").decode() == AFTER


# -- two servers -----------------------------------------------------------------------------------


async def test_two_servers_at_work_on_one_file(tmp_path: Path) -> None:
    """An edit is there, or was reported as not made; none is half there, none took another's place."""
    rounds = 12
    text = "".join(f"{who} {number}\n\n" for number in range(rounds) for who in ("left", "right"))
    async with AsyncExitStack() as stack:
        desks: list[Desk] = []
        for who in ("left", "right"):
            (tmp_path / who).mkdir()
            desks.append(await stack.enter_async_context(desk(tmp_path / who)))
        shared = tmp_path / "left/ws/shared.txt"
        shared.write_text(text)
        (tmp_path / "right/ws/shared.txt").symlink_to(shared)
        for at in desks:
            at.client.always = "Allow once"

        async def work(at: Desk, who: str) -> list[str]:
            calls = [[change("shared.txt", f"{who} {n}\n", f"{who} {n} edited\n")] for n in range(rounds)]
            return (await at.agent(*calls)).outcomes

        left, right = await asyncio.gather(work(desks[0], "left"), work(desks[1], "right"))
        expected = text
        for who, outcomes in (("left", left), ("right", right)):
            assert len(outcomes) == rounds
            for number, outcome in enumerate(outcomes):
                if outcome == "applied":
                    expected = expected.replace(f"{who} {number}\n", f"{who} {number} edited\n")
        assert shared.read_text() == expected
        assert [path.name for path in shared.parent.iterdir()] == ["shared.txt"]
