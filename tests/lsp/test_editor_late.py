"""Clients that are late, silent or dying: what became of an edit is told when it is known."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.edits import EditOutcome
from magent_lsp.lsp.verify import Bounds
from tests.support.scripted_editor import (
    NO_ANSWER,
    Refusal,
    connected,
    edit_of,
)

TEXT = "one\ntwo\nthree\n"
PATIENT = Bounds(change=10)


class Late(list[EditOutcome]):
    """Outcomes that came late, and a way to wait for the first."""

    def __init__(self) -> None:
        super().__init__()
        self._come = asyncio.Event()

    def take(self, outcome: EditOutcome) -> None:
        """Keep an outcome."""
        self.append(outcome)
        self._come.set()

    async def first(self) -> EditOutcome:
        """The first outcome, waited for with a bound."""
        async with asyncio.timeout(20):
            await self._come.wait()
        return self[0]


@pytest.mark.parametrize("answers", [True, False])
async def test_a_late_change_makes_unknown_into_applied(tmp_path: Path, answers: bool) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)
        client.on_edit = client.lying if answers else client.silent
        path = tmp_path / "a.py"
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "unknown"
        waiting = asyncio.create_task(editor.apply(edit_of(path, "one\n2\nthree\n", "one", "1"), ""))
        changes = client.apply({"edit": client.edits[0]})
        assert changes is not None
        client.on_edit = client.honest
        client.changed(uri, changes[uri])
        first = await late.first()
        assert (first.path, first.outcome) == (path, "applied")
        # It was computed on the text after the first edit, which only then was there.
        assert (await waiting).outcome in ("applied", "stale")
        now = (await editor.read(path)).text
        assert (await editor.apply(edit_of(path, now, "three", "3"), "")).outcome == "applied"


async def test_a_late_refusal_lets_later_edits_go(tmp_path: Path) -> None:
    """A person who takes more than 30 seconds to say no."""
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)
        decide = asyncio.Event()

        async def hesitating(params: dict[str, Any]) -> Any:
            await decide.wait()
            return {"applied": False}

        client.on_edit = hesitating
        path = tmp_path / "a.py"
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "unknown"
        decide.set()
        assert (await late.first()).outcome == "rejected"
        client.on_edit = client.honest
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "applied"


@pytest.mark.parametrize("after", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("says", ["no", "error"])
async def test_an_edit_that_is_made_and_refused_is_there_once_and_told_of(
    tmp_path: Path, says: str, after: float
) -> None:
    """A hook that fails behind the edit makes a client refuse what it has done; some tell of it when idle."""
    async with connected(tmp_path, bounds=PATIENT) as (editor, client):
        uri = await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)

        async def contrary(params: dict[str, Any]) -> Any:
            changes = client.apply(params)
            if changes is None:  # it was sent again, for a version that is gone
                return {"applied": False}
            asyncio.get_running_loop().call_later(after, client.changed, uri, changes[uri])
            if says == "error":
                raise Refusal("a hook failed")
            return {"applied": False}

        client.on_edit = contrary
        path = tmp_path / "a.py"
        told = await editor.apply(edit_of(path, TEXT, "two", "2"), "")
        if told.outcome != "applied":
            assert told.outcome == "rejected"
            assert says == "error" or after > 1, "it was told of in time"
            assert (await late.first()).outcome == "applied"
        assert client.buffers[uri].text == "one\n2\nthree\n"
        client.on_edit = client.honest
        now = (await editor.read(path)).text
        assert (await editor.apply(edit_of(path, now, "three", "3"), "")).outcome == "applied"
        assert len(late) <= 1, "the next edit is not taken for it"


async def test_what_a_person_does_later_is_not_taken_for_an_edit_that_was_refused(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)
        late = Late()
        editor.on_late(late.take)
        client.on_edit = client.refusing
        path = tmp_path / "a.py"
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "")).outcome == "rejected"
        client.on_edit = client.honest
        assert (await editor.apply(edit_of(path, TEXT, "two", "2"), "again")).outcome == "applied"
        assert late == []


async def test_a_client_that_dies_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py")

        async def dying(params: dict[str, Any]) -> Any:
            client.hang_up()
            return NO_ANSWER

        client.on_edit = dying
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "unknown"
        assert (tmp_path / "a.py").read_text() == TEXT


async def test_a_document_that_is_closed_meanwhile_is_unknown(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def closing(params: dict[str, Any]) -> Any:
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            return NO_ANSWER

        client.on_edit = closing
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "unknown"


async def test_a_cancelled_run_leaves_no_trace_when_the_answer_comes_late(tmp_path: Path) -> None:
    """Pygls pops up 'Error in server' for a late answer to a cancelled request."""
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)
        answer = asyncio.Event()

        async def slow(params: dict[str, Any]) -> Any:
            await answer.wait()
            return await client.honest(params)

        client.on_edit = slow
        path = tmp_path / "a.py"
        run = asyncio.create_task(editor.apply(edit_of(path, TEXT, "two", "2"), ""))
        await client.asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        late = Late()
        editor.on_late(late.take)
        answer.set()
        assert (await late.first()).outcome == "applied"
        gc.collect()
        assert client.notifications == []
        client.on_edit = client.honest
        now = (await editor.read(path)).text
        assert now == "one\n2\nthree\n"
        assert (await editor.apply(edit_of(path, now, "one", "1"), "")).outcome == "applied"


async def test_edits_of_one_file_go_one_after_the_other(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        path = tmp_path / "a.py"
        texts = [TEXT]
        for number in range(10):
            texts.append(texts[-1].replace("one", f"one {number}", 1))
        edits = [
            edit_of(path, texts[n], texts[n].split("\n")[0], texts[n + 1].split("\n")[0]) for n in range(10)
        ]
        outcomes = await asyncio.gather(*(editor.apply(edit, "") for edit in edits))
        assert [outcome.outcome for outcome in outcomes] == ["applied"] * 10
        assert client.buffers[uri].text == texts[-1]
