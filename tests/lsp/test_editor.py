"""Edits in real buffers over a real connection: what landed is known, and nothing of the person's is lost."""

from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.document import Position, Span
from magent_lsp.core.tool import Proposal
from magent_lsp.tools.edit_file import TOOL as EDIT
from tests.support.edit_context import call, context_at
from tests.support.scripted_editor import (
    FAST,
    NO_ANSWER,
    Refusal,
    connected,
    edit_of,
)

TEXT = "one\ntwo\nthree\n"


# -- honest clients ---------------------------------------------------------------------------------


async def test_an_edit_reaches_the_buffer_as_whole_lines_with_its_version(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT, version=3)
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "Edit a.py")
        assert (outcome.outcome, outcome.saved) == ("applied", False)
        assert client.buffers[uri].text == "one\n2\nthree\n"
        assert not (tmp_path / "a.py").exists(), "never written to the disk under a buffer"
        (change,) = client.edits[0]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 3}
        assert change["edits"] == [
            {
                "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
                "newText": "2\n",
            }
        ]


@pytest.mark.parametrize(
    "text",
    [
        "one\r\ntwo\r\nthree",
        "\ufeffone\ntwo\n",
        "a\x0cone\u2028😀 two\nthree\n",
        "one\rtwo\r",
        "two",
        "😀two😀\n",
    ],
)
async def test_right_place_whatever_the_text_is(tmp_path: Path, text: str) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", text)
        assert (await editor.read(tmp_path / "a.py")).text == text
        outcome = await editor.apply(edit_of(tmp_path / "a.py", text, "two", "2😀"), "")
        assert outcome.outcome == "applied"
        assert client.buffers[uri].text == text.replace("two", "2😀")


async def test_our_edit_and_the_next_keys_in_one_notification(tmp_path: Path) -> None:
    """Eglot bundles them; compared only after the notification, the edit would seem lost."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def bundling(params: dict[str, Any]) -> Any:
            changes = client.apply(params)
            assert changes is not None
            buffer = client.buffers[uri]
            typed = buffer.apply([{"range": buffer.range("three"), "newText": "three and more"}])
            client.after(lambda: client.changed(uri, [*changes[uri], *typed]))
            return {"applied": True}

        client.on_edit = bundling
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"
        assert client.buffers[uri].text == "one\n2\nthree and more\n"
        assert (await editor.read(tmp_path / "a.py")).text == "one\n2\nthree and more\n"


async def test_many_changes_for_one_edit(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "ab\n")

        async def piecemeal(params: dict[str, Any]) -> Any:
            place = {"line": 0, "character": 0}
            buffer = client.buffers[uri]
            for character in "zyx":
                client.changed(
                    uri, buffer.apply([{"range": {"start": place, "end": place}, "newText": character}])
                )
            return {"applied": True}

        client.on_edit = piecemeal
        assert (
            await editor.apply(edit_of(tmp_path / "a.py", "ab\n", "ab", "xyzab"), "")
        ).outcome == "applied"


async def test_a_client_that_applies_and_never_answers(tmp_path: Path) -> None:
    """ALE does: the change itself is the answer."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def mute(params: dict[str, Any]) -> Any:
            await client.honest(params)
            return NO_ANSWER

        client.on_edit = mute
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"
        assert client.buffers[uri].text == "one\n2\nthree\n"


# -- clients that do not take it ----------------------------------------------------------------------


async def test_a_refused_edit_is_tried_once_more_and_changes_nothing(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        client.on_edit = client.refusing
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "rejected"
        assert len(client.edits) == 2
        assert client.buffers[uri].text == TEXT


async def test_a_client_that_was_only_busy_takes_the_second_try(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)

        async def busy(params: dict[str, Any]) -> Any:
            client.on_edit = client.honest
            return {"applied": False, "failureReason": "busy"}

        client.on_edit = busy
        assert (await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")).outcome == "applied"


async def test_a_person_who_said_no_is_not_asked_again(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        await client.open("a.py", TEXT)

        async def declined(params: dict[str, Any]) -> Any:
            raise Refusal("User cancelled server edit")

        client.on_edit = declined
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "rejected"
        assert "User cancelled" in outcome.detail
        assert len(client.edits) == 1


async def test_keys_typed_while_the_edit_travels_make_it_stale(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def typing(params: dict[str, Any]) -> Any:
            client.replace(uri, "three", "three typed")
            return await client.honest(params)

        client.on_edit = typing
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert client.buffers[uri].text == "one\ntwo\nthree typed\n"


async def test_eglot_says_by_an_error_that_it_is_ahead(tmp_path: Path) -> None:
    """The edit is stale, and by then we know the newer text, so that a retry can hit it."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def ahead(params: dict[str, Any]) -> Any:
            client.after(lambda: client.replace(uri, "one", "typed one"))
            raise Refusal("Edits on 'a.py' require version -1, you have 0")

        client.on_edit = ahead
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert (await editor.read(tmp_path / "a.py")).text == "typed one\ntwo\nthree\n"


async def test_an_older_text_is_never_sent(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        await client.type(uri, "two", "zwei")
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "stale"
        assert "line 2" in outcome.detail
        assert client.edits == []


async def test_a_client_that_lies_is_not_believed(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        client.on_edit = client.lying
        first = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert first.outcome == "unknown"
        second = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "one", "1"), "")
        assert second.outcome == "rejected"
        assert "not confirmed" in second.detail
        assert len(client.edits) == 1
        await client.type(uri, "three", "3")
        client.on_edit = client.honest
        now = client.buffers[uri].text
        third = await editor.apply(edit_of(tmp_path / "a.py", now, "one", "1"), "")
        assert third.outcome == "applied", "a change after the answer shows what the buffer holds"


async def test_another_text_than_expected_is_diverged(tmp_path: Path) -> None:
    """Neovim drops a late edit and says `applied: true`; a formatter changes what it applied."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)

        async def other(params: dict[str, Any]) -> Any:
            client.after(lambda: client.replace(uri, "two", "something else"))
            return {"applied": True}

        client.on_edit = other
        outcome = await editor.apply(edit_of(tmp_path / "a.py", TEXT, "two", "2"), "")
        assert outcome.outcome == "diverged"


# -- reading, with the person typing ----------------------------------------------------------------------


async def test_an_open_buffer_beats_the_disk(tmp_path: Path) -> None:
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "typed\n", on_disk="old\n", version=4)
        document = await editor.read(tmp_path / "a.py")
        assert (document.text, document.origin, document.version) == ("typed\n", "buffer", 4)
        assert document.unsaved
        assert document.language == "python"
        await client.open("same.py", on_disk="same\n")
        await editor.read(tmp_path / "same.py")
        unsaved = {document.path.name: document.unsaved for document in editor.documents()}
        assert unsaved == {"a.py": True, "same.py": False}
        await client.close(uri)
        assert (await editor.read(tmp_path / "a.py")).origin == "disk"


@pytest.mark.parametrize(
    ("old", "new", "lands"),
    [("one", "one typed", True), ("three", "three typed", True), ("two", "zwei", False)],
    ids=["above", "below", "inside"],
)
async def test_the_person_types_while_the_model_thinks(
    tmp_path: Path, old: str, new: str, lands: bool
) -> None:
    """Above and below, the edit finds its place again; inside, it is refused; what was typed stays."""
    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", TEXT)
        context = context_at(tmp_path, editor)
        arguments = {"path": "a.py", "old_string": "two", "new_string": "2"}
        proposal = await call(EDIT, context, **arguments)
        assert isinstance(proposal, Proposal)
        await client.type(uri, old, new)
        assert proposal.edit is not None
        assert (await editor.apply(proposal.edit, "")).outcome == "stale"
        typed = client.buffers[uri].text
        if not lands:
            with pytest.raises(Exception, match="not in"):
                await call(EDIT, context, **arguments)
            assert client.buffers[uri].text == typed
            return
        fresh = await call(EDIT, context, **arguments)
        assert isinstance(fresh, Proposal)
        assert fresh.same == proposal.same
        assert fresh.edit is not None
        assert (await editor.apply(fresh.edit, "")).outcome == "applied"
        assert client.buffers[uri].text == typed.replace("two", "2")


async def test_diagnostics_last_until_the_document_changes(tmp_path: Path) -> None:
    from lsprotocol import types

    async with connected(tmp_path) as (editor, client):
        uri = await client.open("a.py", "😀 x\ny\n")
        place = types.Range(
            start=types.Position(line=0, character=3), end=types.Position(line=0, character=4)
        )
        known = types.Diagnostic(
            range=place, message="bad", severity=types.DiagnosticSeverity.Warning, code=7
        )
        editor.remember_diagnostics(uri, [known])
        editor.remember_diagnostics(uri, [known])
        (diagnostic,) = await editor.diagnostics(tmp_path / "a.py")
        assert diagnostic.span == Span(Position(0, 2), Position(0, 3))
        assert (diagnostic.severity, diagnostic.message, diagnostic.code) == ("warning", "bad", "7")
        assert await editor.diagnostics(tmp_path / "b.py") == []
        assert len(await editor.diagnostics(None)) == 1
        await client.type(uri, "y", "z")
        assert await editor.diagnostics(None) == []


async def test_the_bounds_are_those_of_the_design() -> None:
    from magent_lsp.lsp.verify import Bounds

    assert (Bounds().reply, Bounds().change, Bounds().retry) == (30, 5, 0.2)
    assert FAST.reply < 1
