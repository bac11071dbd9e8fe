"""Eglot tells of a change when Emacs is idle, and after a dialog Emacs is not, before the next key.

Most versions count every change as it is made, so they refuse another edit of the old version: that is proof,
and the agent goes on. 1.17, of Emacs 30, does not: there the person is asked for a key.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.edit_desk import Desk, call, change, desk
from tests.support.editors import wait_until
from tests.support.lsp_buffer import Buffer
from tests.support.lsp_profiles import EGLOT_1_17, EGLOT_1_24, EMACS, Profile

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
ASK = {"edit_file": "ask"}
EXACT = pytest.mark.parametrize("profile", [EMACS, EGLOT_1_24], ids=lambda profile: profile.name)

HASTY = """
import sys
from magent_lsp.lsp import verify
old = verify.Bounds.__init__
def new(self, **more):
    old(self, **{"key": 1.0, **more})
verify.Bounds.__init__ = new
from magent_lsp.cli import main
sys.exit(main())
"""
"""The server with a shorter wait for a key; all else is as it is."""


def two_places(name: str) -> Any:
    """An edit of two lines that are far apart, which the editor counts as two."""
    return change(name, TEXT, TEXT.replace("one", "ONE").replace("ten", "TEN"))


@EXACT
async def test_the_agent_goes_on_before_a_key_is_pressed(tmp_path: Path, profile: Profile) -> None:
    async with desk(tmp_path, profile=profile, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.answers.append("Allow a.txt in this session")
        read = call("read_file", path="a.txt")
        told = await at.agent(
            [two_places("a.txt")], [change("a.txt", "two\n", "2\n"), change("a.txt", "six\n", "6\n")], [read]
        )
        after = "ONE\n2\nthree\nfour\nfive\n6\nseven\neight\nnine\nTEN\n"
        assert told.outcomes == ["applied"] * 3, told.outputs
        assert buffer.text == after
        assert "6" in told.outputs[3], "the agent reads what it wrote"
        assert len(buffer.unsent) == 4, "nothing has been told yet"
        at.client.key()
        at.client.type(buffer, "three\n", "mine\n")
        at.client.always = "Allow once"
        told = await at.agent([change("a.txt", "four\n", "4\n")])
        assert told.outcomes == ["applied"], told.outputs
        assert buffer.text == after.replace("three", "mine").replace("four", "4")
        assert not [text for _, text in at.client.messages if "after all" in text or "please look" in text]


async def test_undo_before_a_key_is_pressed(tmp_path: Path) -> None:
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.always = "Allow once"
        told = await at.agent([two_places("a.txt")])
        assert told.outcomes == ["applied"]
        assert await at.undo(told) == {"restored": ["a.txt"], "conflicts": []}
        assert buffer.text == TEXT


async def test_what_was_typed_and_not_told_yet_is_never_edited_over(tmp_path: Path) -> None:
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")

        def typed(_: Any) -> dict[str, str]:
            buffer.apply([{"range": buffer.range("one\n"), "newText": "mine\none\n"}])
            return {"title": "Allow once"}

        at.client.answers.append(typed)
        told = await at.agent([change("a.txt", "six\n", "6\n")])
        assert told.outcomes in (["stale"], ["rejected"]), told.outputs
        assert buffer.text == "mine\n" + TEXT


async def test_a_word_that_was_not_kept_is_told_to_the_person(tmp_path: Path) -> None:
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.always = "Allow once"
        told = await at.agent([change("a.txt", "six\n", "6\n")])
        assert told.outcomes == ["applied"]
        buffer.unsent[:] = [{"text": TEXT.replace("one", "other")}]
        buffer.text = TEXT.replace("one", "other")
        at.client.key()
        await at.client.until(lambda: [text for _, text in at.client.messages if "please look at it" in text])
        told = await at.agent([change("a.txt", "six\n", "VI\n")])
        assert told.outcomes == ["applied"], "what the editor tells counts from then on"
        assert buffer.text == TEXT.replace("one", "other").replace("six", "VI")


async def test_the_person_is_asked_for_a_key_where_nothing_is_proof(tmp_path: Path) -> None:
    async with desk(tmp_path, profile=EGLOT_1_17, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.always = "Allow once"
        started = await at.start([change("a.txt", "six\n", "6\n")])
        await at.client.until(lambda: [text for _, text in at.client.messages if "press a key" in text])
        at.client.key()
        told = await at.told(started["runId"])
        assert told.outcomes == ["applied"], told.outputs
        assert buffer.text == TEXT.replace("six", "6")


async def test_a_yes_to_an_edit_that_was_not_made_is_no_proof(tmp_path: Path) -> None:
    """From 1.15 to 1.19 Eglot says yes where the person has declined."""
    async with desk(tmp_path, profile=EGLOT_1_24, permission=ASK, code=HASTY, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.always = "Allow once"
        at.client.apply = "lie"
        told = await at.agent([change("a.txt", "six\n", "6\n")])
        assert told.outcomes == ["unknown"], told.outputs
        assert buffer.text == TEXT
        at.client.apply = "apply"
        at.client.key()


async def test_a_client_that_asks_for_each_edit_is_not_tried_with_another(tmp_path: Path) -> None:
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        at.client.always = "Allow once"
        honest = at.client._apply_edit

        async def asks(params: Any) -> Any:
            await asyncio.sleep(0.6)  # a person reads the question
            result, after = await honest(params)
            assert after is not None
            return result

        at.client.on["workspace/applyEdit"] = asks
        told = await at.agent([change("a.txt", "six\n", "6\n")])
        assert told.outcomes == ["applied"], told.outputs
        assert buffer.text == TEXT.replace("six", "6")
        assert len(at.client.edits) == 1


class Busy:
    """Emacs that allows an edit right behind an answer it waits for, and then does not read for a while."""

    def __init__(self, at: Desk, buffer: Buffer) -> None:
        self._at = at
        self._buffer = buffer
        self.allowed, self.asked, self.reads = asyncio.Event(), asyncio.Event(), asyncio.Event()
        at.client.answers.append(self._allow)

    async def _allow(self, _: Any) -> dict[str, str]:
        self._at.client.on["workspace/configuration"] = self._look
        # What follows the answer to this is held back.
        await self._at.client.actions(self._buffer.uri, self._buffer.range("one"))
        self.allowed.set()
        return {"title": "Allow once"}

    async def _look(self, _: Any) -> list[Any]:
        self.asked.set()
        await self.reads.wait()
        return []

    async def recorded(self, words: str) -> None:
        """Wait until the session on the disk has these words; an answer would be held back as well."""
        sessions = self._at.home / "state/sessions"
        await asyncio.to_thread(
            wait_until,
            lambda: any(words in it.read_text() for it in sessions.rglob("*.jsonl")),
            60,
            f"the session has {words}",
        )


@pytest.mark.parametrize("ends", ["by cancel", "by exit", "by shutdown"])
async def test_an_edit_that_is_held_back_is_not_sent_once_nobody_wants_it(tmp_path: Path, ends: str) -> None:
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        busy = Busy(at, buffer)
        started = await at.start([change("a.txt", "six\n", "6\n")])
        await busy.allowed.wait()
        await busy.asked.wait()
        assert at.client.edits == []
        if ends == "by cancel":
            cancel = asyncio.create_task(at.client.command("magent.cancel", runId=started["runId"]))
            await busy.recorded('"status":"cancelled"')
            busy.reads.set()
            await cancel
            told = await at.told(started["runId"])
            assert told.finished["stopReason"] == "cancelled"
            assert not [text for _, text in at.client.messages if "after all" in text]
        else:
            if ends == "by shutdown":
                await at.client.request("shutdown")
            at.client.notify("exit")
            await at.client.closed.wait()
        assert buffer.text == TEXT
        assert at.client.edits == []


async def test_an_edit_that_is_held_back_while_its_file_is_closed_is_made_on_the_disk(tmp_path: Path) -> None:
    """It was never sent, so there is no doubt about it: the file is looked at again."""
    async with desk(tmp_path, profile=EMACS, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")
        busy = Busy(at, buffer)
        started = await at.start([change("a.txt", "six\n", "6\n")])
        await busy.allowed.wait()
        await busy.recorded('"kind":"edit"')
        at.close(buffer)
        busy.reads.set()
        told = await at.told(started["runId"])
        assert "unknown" not in told.outcomes, told.outputs
        assert told.outcomes[-1] == "applied"
        assert at.bytes("a.txt").decode() == TEXT.replace("six", "6")
        assert at.client.edits == []


@pytest.mark.parametrize("busy", [0.0, 0.6])
async def test_the_time_an_edit_was_held_is_not_taken_for_a_persons(tmp_path: Path, busy: float) -> None:
    """A named Eglot before 1.16: it stops at answers, and counts edits."""
    async with desk(tmp_path, profile=EGLOT_1_24, permission=ASK, files={"a.txt": TEXT}) as at:
        buffer = at.open("a.txt")

        async def slow(_: Any) -> list[Any]:
            await asyncio.sleep(busy)
            return []

        async def allow(_: Any) -> dict[str, str]:
            at.client.on["workspace/configuration"] = slow
            await at.client.actions(buffer.uri, buffer.range("one"))
            return {"title": "Allow once"}

        at.client.answers.append(allow)
        started = await at.start([change("a.txt", "six\n", "6\n")])
        told = await at.told(started["runId"])
        assert told.outcomes == ["applied"], told.outputs
        assert not [text for _, text in at.client.messages if "press a key" in text]
