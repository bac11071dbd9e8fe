"""Clients that refuse, lie, answer late, never answer or die: the outcome is right, and nothing is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.edit_desk import Desk, change, desk, opens_closed_files, saves
from tests.support.lsp_client import NO_ANSWER, ResponseError
from tests.support.lsp_profiles import EMACS, NEOVIM, POOR, VSCODE, Profile

TEXT = "one\n\ntwo\n\nthree\n"
EDIT = change("a.txt", "two", "TWO")
AFTER = TEXT.replace("two", "TWO")

FAST = """
import dataclasses, sys
from magent_lsp.lsp import verify
fields = {"reply": 1.0, "change": 1.0, "earlier": 1.0, "save": 1.0}
old = verify.Bounds.__init__
def new(self, **more):
    old(self, **{**fields, **more})
verify.Bounds.__init__ = new
from magent_lsp.cli import main
sys.exit(main())
"""
"""The server with shorter waits for clients that do not answer; all else is as it is."""


@pytest.mark.parametrize("profile", [VSCODE, NEOVIM, EMACS], ids=lambda profile: profile.name)
async def test_refused_by_the_editor(tmp_path: Path, profile: Profile) -> None:
    async with desk(tmp_path, profile=profile, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        for how in ("reject", "error"):
            at.client.apply = how
            told = await at.agent([EDIT])
            assert told.outcomes == ["rejected"], (how, told.outputs)
            assert "Nothing was changed" in told.outputs[0]
            assert told.finished["stopReason"] == "end_turn", "the model is told, and goes on"
        assert buffer.text == TEXT
        assert at.bytes("a.txt").decode() == TEXT
        at.client.apply = "apply"
        assert (await at.agent([EDIT])).outcomes == ["applied"], "later edits are not held up"


async def test_a_lie_is_unknown_and_another_text_is_diverged(tmp_path: Path) -> None:
    async with desk(tmp_path, code=FAST, files={"a.txt": TEXT, "b.txt": TEXT}) as at:
        buffer, other = at.open("a.txt"), at.open("b.txt")
        at.client.apply = "lie"
        told = await at.agent([EDIT])
        assert told.outcomes == ["unknown"]
        assert "may or may not be there" in told.outputs[0]
        assert buffer.text == TEXT
        at.client.apply = "apply"
        honest = at.client._apply_edit

        async def mangle(params: Any) -> Any:
            result, _ = await honest(params)
            other.apply([{"range": other.range("three"), "newText": "3"}])
            # Told as one whole text, so that the expected one was never there.
            other.unsent = [{"text": other.text}]
            asyncio.get_running_loop().call_later(0.05, at.client._tell, other)
            return result

        at.client.on["workspace/applyEdit"] = mangle
        told = await at.agent([change("b.txt", "two", "TWO")])
        assert told.outcomes == ["diverged"]
        assert "another text than expected" in told.outputs[0]
        assert other.text == AFTER.replace("three", "3")


async def test_a_late_answer_is_applied_and_the_next_edit_waits_for_it(tmp_path: Path) -> None:
    async with desk(tmp_path, code=FAST, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        honest = at.client._apply_edit
        answer = asyncio.Event()

        async def late(params: Any) -> Any:
            del at.client.on["workspace/applyEdit"]
            await answer.wait()
            result, after = await honest(params)
            if after is not None:
                asyncio.get_running_loop().call_later(0.05, after)
            return result

        at.client.on["workspace/applyEdit"] = late
        run = await at.start([EDIT], [change("a.txt", "one", "ONE")])
        told = await at.told(run["runId"])
        assert told.outcomes == ["unknown", "rejected"]
        assert "not confirmed" in told.outputs[1]
        answer.set()
        await at.client.until(lambda: buffer.text == AFTER)
        await at.client.until(lambda: any("a.txt" in text for _, text in at.client.messages + at.client.logs))
        assert (await at.agent([change("a.txt", "one", "ONE")])).outcomes == ["applied"]
        assert (await at.undo(told))["conflicts"] == []
        assert buffer.text == TEXT.replace("one", "ONE"), "what landed late can be taken back"


async def test_never_answered_is_unknown_within_its_bound(tmp_path: Path) -> None:
    async with desk(tmp_path, code=FAST, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.apply = "silent"
        begin = asyncio.get_running_loop().time()
        told = await at.agent([EDIT])
        assert told.outcomes == ["unknown"]
        assert asyncio.get_running_loop().time() - begin < 15
        assert buffer.text == TEXT
        assert at.bytes("a.txt").decode() == TEXT


async def test_applied_without_an_answer_is_applied(tmp_path: Path) -> None:
    """ALE applies, and never answers: the change of the text is what counts."""
    async with desk(tmp_path, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        honest = at.client._apply_edit

        async def mute(params: Any) -> Any:
            _, after = await honest(params)
            assert after is not None
            after()
            return NO_ANSWER

        at.client.on["workspace/applyEdit"] = mute
        told = await at.agent([EDIT], seconds=10)
        assert told.outcomes == ["applied"]
        assert buffer.text == AFTER


async def test_a_client_that_dies_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT, "b.txt": TEXT}) as at:
        at.open("a.txt", TEXT + "unsaved\n")

        async def die(params: Any) -> Any:
            await at.client.link.close()
            raise ResponseError({"code": 1, "message": "dead"})

        at.client.on["workspace/applyEdit"] = die
        run = await at.start([EDIT], [change("b.txt", "two", "TWO")])
        assert at.client.process is not None
        async with asyncio.timeout(10):
            await at.client.process.wait()
        assert at.bytes("a.txt").decode() == TEXT
    async with desk(tmp_path) as at:
        assert (await at.undo(run["runId"]))["conflicts"] == []
        assert at.bytes("a.txt").decode() == TEXT
        assert at.bytes("b.txt").decode() == TEXT


async def test_a_client_that_takes_no_edits_keeps_its_open_files(tmp_path: Path) -> None:
    """Written to the disk under its buffer, the person's next save would undo the edit, or worse."""
    async with desk(tmp_path, profile=POOR, files={"a.txt": TEXT, "b.txt": TEXT}) as at:
        at.open("a.txt")
        told = await at.agent([EDIT, change("b.txt", "two", "TWO")])
        assert told.outcomes == ["rejected", "applied"]
        assert "takes no edits" in told.outputs[0]
        assert at.bytes("a.txt").decode() == TEXT
        assert at.bytes("b.txt").decode() == AFTER


@pytest.mark.parametrize("profile", [VSCODE, NEOVIM, EMACS, POOR], ids=lambda profile: profile.name)
@pytest.mark.parametrize("choice", ["auto", "editor", "disk"])
async def test_closed_and_new_files_without_a_client_that_saves(
    tmp_path: Path, profile: Profile, choice: str
) -> None:
    settings = {"edits": {"closedFiles": choice}}
    async with desk(tmp_path, profile=profile, code=FAST, settings=settings, files={"a.txt": TEXT}) as at:
        opens_closed_files(at.client)
        if not profile.capabilities:
            at.client.on.clear()
        told = await at.agent([EDIT, change("new/b.txt", "", "new\n")])
        assert told.outcomes == ["applied", "applied"], told.outputs
        by_editor = choice == "editor" and bool(profile.capabilities)
        assert bool(at.client.edits) == by_editor
        if by_editor:
            assert at.bytes("a.txt").decode() == TEXT, "an unsaved buffer: the person saves it"
            assert at.client.buffers[(at.ws / "a.txt").as_uri()].text == AFTER
            assert at.client.buffers[(at.ws / "new/b.txt").as_uri()].text == "new\n"
            assert all("unsaved buffer" in text for text in told.outputs)
        else:
            assert at.bytes("a.txt").decode() == AFTER
            assert at.bytes("new/b.txt") == b"new\n"


@pytest.mark.parametrize("choice", ["auto", "editor", "disk"])
async def test_closed_and_new_files_with_a_client_that_saves(tmp_path: Path, choice: str) -> None:
    settings = {"edits": {"closedFiles": choice}}
    async with desk(tmp_path, client={"save": True}, settings=settings, files={"a.txt": TEXT}) as at:
        opens_closed_files(at.client)
        asked = saves(at.client)
        told = await at.agent([EDIT, change("new/b.txt", "", "new\n")])
        assert told.outcomes == ["applied", "applied"], told.outputs
        assert at.bytes("a.txt").decode() == AFTER
        assert at.bytes("new/b.txt") == b"new\n"
        assert bool(at.client.edits) == bool(asked) == (choice != "disk")
        undone = await at.undo(told)
        assert undone == {"restored": ["a.txt", "new/b.txt"], "conflicts": []}
        assert at.bytes("a.txt").decode() == TEXT
        assert not (at.ws / "new/b.txt").exists()


async def _cat(at: Desk) -> str:
    """Let a command print what the disk has."""
    told = await at.agent([{"tool": "bash", "arguments": {"command": "cat a.txt"}}])
    assert told.statuses == ["completed"], told.outputs
    return told.outputs[0]


@pytest.mark.parametrize("can_save", [True, False])
@pytest.mark.parametrize("choice", ["never", "ask", "always"])
async def test_unsaved_text_before_a_command(tmp_path: Path, choice: str, can_save: bool) -> None:
    settings = {"edits": {"saveBeforeCommands": choice}}
    async with desk(tmp_path, client={"save": can_save}, settings=settings, files={"a.txt": TEXT}) as at:
        asked = saves(at.client)
        buffer = at.open("a.txt", TEXT + "unsaved\n")
        at.client.always = "Save all"
        output = await _cat(at)
        saved = can_save and choice != "never"
        assert ("\nunsaved" in output) == saved, output
        assert bool(asked) == saved
        assert len(at.client.questions) == (1 if can_save and choice == "ask" else 0)
        assert ("older" in output) == (not saved), "the model is told that the disk is behind"
        if can_save and choice == "ask":
            at.client.type(buffer, "unsaved\n", "more\n")
            at.client.always = "Run without saving"
            output = await _cat(at)
            assert "\nmore" not in output
            assert "older" in output


async def test_clean_files_are_saved_and_dirty_ones_stay_dirty(tmp_path: Path) -> None:
    files = {"clean.txt": TEXT, "dirty.txt": TEXT}
    async with desk(tmp_path, client={"save": True}, files=files) as at:
        asked = saves(at.client)
        clean, dirty = at.open("clean.txt"), at.open("dirty.txt", TEXT + "mine\n")
        calls = [change(name, "two", "TWO") for name in files]
        told = await at.agent(calls)
        assert told.outcomes == ["applied", "applied"]
        assert asked == [[clean.uri]]
        assert at.bytes("clean.txt").decode() == AFTER
        assert at.bytes("dirty.txt").decode() == TEXT
        assert "unsaved buffer" not in told.outputs[0]
        assert "unsaved buffer" in told.outputs[1]
        await at.undo(told)
        assert (clean.text, dirty.text) == (TEXT, TEXT + "mine\n")
        assert at.bytes("clean.txt").decode() == TEXT, "what was saved before the undo is saved after it"
        assert at.bytes("dirty.txt").decode() == TEXT


async def test_a_save_that_fails_leaves_the_text_in_the_buffer(tmp_path: Path) -> None:
    async with desk(tmp_path, client={"save": True}, code=FAST, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        for number, answer in enumerate(({"saved": []}, None, NO_ANSWER, "nonsense")):
            at.client.on["magent/save"] = lambda params, answer=answer: answer
            before = buffer.text
            told = await at.agent([change("a.txt", "two\n", f"two\nmore {number}\n")])
            assert told.outcomes == ["applied"], (answer, told.outputs)
            assert buffer.text == before.replace("two\n", f"two\nmore {number}\n")
            assert "unsaved buffer" in told.outputs[0]
            assert at.bytes("a.txt").decode() == TEXT
