"""What the client gets is what was meant: paths, positions, and edits in the form it understands."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.protocol import default_converter

from magent_lsp.core.document import Position, Span, line_starts, split_lines
from magent_lsp.core.edits import (
    CreateFile,
    DeleteFile,
    RenameFile,
    Replacement,
    TextEdits,
    apply_replacements,
)
from magent_lsp.core.errors import CallerError
from magent_lsp.lsp.convert import (
    before_last_break,
    file_path,
    line_edits,
    range_of,
    to_path,
    to_position,
    to_span,
    to_uri,
    with_last_break,
    workspace_edit,
)
from magent_lsp.lsp.mirror import Mirror


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/me/a.py", "/home/me/a.py"),
        ("file:///a%20b/c%23d%3Fe%25.py", "/a b/c#d?e%.py"),
        ("file:///a b#c.py", "/a b#c.py"),
        ("file://localhost/a.py", "/a.py"),
        ("FILE:///a.py", "/a.py"),
        ("file:///%E4%B8%AD/%F0%9F%98%80.md", "/中/😀.md"),
        ("file:///c%3A/Users/me/a.py", "/c:/Users/me/a.py"),
        ("file://server/share/a.py", "//server/share/a.py"),
        ("file:///\udcc3\udca9/\ud83d\ude00.md", "/é/😀.md"),
    ],
)
def test_file_uris_are_paths(uri: str, path: str) -> None:
    assert to_path(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "git:/a.py?ref",
        "jdt://x/y",
        "",
        "a.py",
        "file:///a%00b",
        "file:///a\ud83db",
        "http://[x",
        "magent://chat/1",
    ],
)
def test_other_uris_are_no_paths(uri: str) -> None:
    assert to_path(uri) is None
    with pytest.raises(CallerError, match="is no file"):
        file_path(uri)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=20))
def test_any_name_comes_back(name: str) -> None:
    path = Path("/ws") / name
    assert to_path(to_uri(path)) == path
    assert to_uri(path).isascii()


def test_windows_drives_are_spelt_as_editors_do() -> None:
    assert to_uri(Path("C:/a b.py")) == "file:///c:/a%20b.py"


TEXTS = st.text(st.sampled_from(list("ab \n\n\r\x0c\u2028é😀")), max_size=25)


@given(TEXTS, st.data())
def test_spans_come_back(text: str, data: st.DataObject) -> None:
    starts = line_starts(text)
    lines = [line.rstrip("\r\n") for line in [*split_lines(text), ""]]
    places = []
    for _ in range(2):
        line = data.draw(st.integers(0, len(starts) - 1))
        places.append(Position(line, data.draw(st.integers(0, len(lines[line]) if line < len(lines) else 0))))
    span = Span(min(places), max(places))
    assert to_span(text, range_of(text, span)) == span


def test_positions_are_in_utf16() -> None:
    assert range_of("😀x", Span(Position(0, 1), Position(0, 2))) == types.Range(
        start=types.Position(line=0, character=2), end=types.Position(line=0, character=3)
    )
    assert to_position("😀x\n", 0, 2) == Position(0, 1)
    assert to_position("😀x\n", 0, 1) == Position(0, 0)
    assert to_position("ab\n", 9, 9) == Position(1, 0)
    assert to_position("ab\n", 0, 9) == Position(0, 2)


@st.composite
def edits(draw: st.DrawFn) -> TextEdits:
    """Replacements of a text, as tools make them: never inside of a CRLF."""
    before = draw(TEXTS)
    places = [n for n in range(len(before) + 1) if before[n - 1 : n + 1] != "\r\n" or n == 0]
    cuts = sorted(draw(st.lists(st.sampled_from(places), max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    replacements = []
    for number, (start, end) in enumerate(pairs):
        if number and pairs[number - 1][1] == start:
            continue
        replacements.append(Replacement(start, end, draw(st.text(st.sampled_from("xy\n"), max_size=6))))
    after = apply_replacements(before, replacements)
    # A CR and a LF that only an edit brings together would be another line end; tools make no such edits.
    moved = 0
    for start, end, new in replacements:
        for border in (start + moved, start + moved + len(new)):
            assume(after[border - 1 : border + 1] != "\r\n" or border == 0)
        moved += len(new) - (end - start)
    return TextEdits(path=Path("/a"), replacements=tuple(replacements), before=before, after=after)


def texts(before: str, *replacements: Replacement) -> TextEdits:
    """An edit."""
    after = apply_replacements(before, replacements)
    return TextEdits(path=Path("/a.py"), replacements=replacements, before=before, after=after)


def close_ones(test: Callable[[TextEdits], None]) -> Callable[[TextEdits], None]:
    """The test with edits that come close to each other, or to the end."""
    for edit in (
        texts("\n\na", Replacement(0, 1, "\n\nx"), Replacement(2, 3, "")),
        texts("\n", Replacement(0, 1, ""), Replacement(1, 1, "y\nx"), Replacement(1, 1, "y\n\n")),
        texts("aab\na\n", Replacement(2, 4, ""), Replacement(6, 6, "xxxx\n")),
        texts("a\nb\n", Replacement(2, 4, "b\nc")),
    ):
        test = example(edit)(test)
    return test


def _sorted_back(edit: types.TextEdit) -> tuple[int, int]:
    return (-edit.range.start.line, -edit.range.start.character)


@close_ones
@given(edits())
@settings(max_examples=600)
def test_line_edits_give_the_text_and_touch_whole_lines_only(edit: TextEdits) -> None:
    mirror = Mirror(edit.before)
    last = len(line_starts(edit.before)) - 1
    changes = line_edits(edit)
    for change in changes:
        assert change.range.start.character == 0
        assert change.range.end.character == 0 or change.range.end.line == last
    for one, two in pairwise(changes):
        assert one.range.end.line <= two.range.start.line
    for change in sorted(changes, key=_sorted_back):
        mirror.splice(change.range.start, change.range.end, change.new_text)
    assert mirror.text == edit.after


@close_ones
@given(edits())
@settings(max_examples=600)
def test_the_last_line_break_can_be_left_alone(edit: TextEdits) -> None:
    """Kakoune has no place behind it: what goes there lands before it, and a line break too many is there."""
    if edit.before.endswith(("\n", "\r")) or not edit.before:
        edit = with_last_break(edit)
    mirror = Mirror(edit.before)
    changes = before_last_break(edit.before, line_edits(edit))
    for one, two in pairwise(changes):
        assert one.range.end <= two.range.start
        assert one.range.start < two.range.start, "clients differ in the order of edits at one place"
    for change in sorted(changes, key=_sorted_back):
        if edit.before.endswith("\n") and edit.after.endswith("\n") and "\r" not in edit.before:
            behind = len(line_starts(edit.before)) - 1
            assert change.range.end.line < behind or not change.new_text
        mirror.splice(change.range.start, change.range.end, change.new_text)
    beginning = edit.before == "" and edit.after.endswith("\n")  # an empty buffer has a line break as well
    assert mirror.text == (edit.after.removesuffix("\n").removesuffix("\r") if beginning else edit.after)


def test_an_edit_is_as_small_as_whole_lines_allow() -> None:
    before = "one\ntwo\nthree\nfour\n"
    (change,) = line_edits(texts(before, Replacement(0, 18, "one\n2\nthree\nfour")))
    assert (change.range.start.line, change.range.end.line, change.new_text) == (1, 2, "2\n")
    (change,) = line_edits(texts(before, Replacement(4, 4, "new\n")))
    assert (change.range.start.line, change.range.end.line, change.new_text) == (1, 1, "new\n")


def capabilities(**workspace_edit: Any) -> types.ClientCapabilities:
    """What a client declares for edits."""
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(**workspace_edit)
        )
    )


def plain(edit: types.WorkspaceEdit) -> Any:
    """The edit as JSON."""
    return default_converter().unstructure(edit)


CREATE = types.ResourceOperationKind.Create
VSCODE = capabilities(document_changes=True, resource_operations=[CREATE])
NEOVIM = capabilities(resource_operations=[CREATE])
EGLOT = capabilities(document_changes=True)
POOR = types.ClientCapabilities()


@pytest.mark.parametrize("client", [VSCODE, NEOVIM, EGLOT])
def test_versions_are_sent_to_whoever_can_check_them(client: types.ClientCapabilities) -> None:
    """Neovim declares only resource operations, and honours versions all the same."""
    edit = workspace_edit(texts("a\n", Replacement(0, 1, "b")), client, uri="file:///A%2epy", version=7)
    (change,) = plain(edit)["documentChanges"]
    assert change["textDocument"] == {"uri": "file:///A%2epy", "version": 7}
    assert change["edits"][0]["newText"] == "b\n"


def test_other_clients_get_plain_changes() -> None:
    edit = plain(workspace_edit(texts("a\n", Replacement(0, 1, "b")), POOR, version=7))
    assert list(edit) == ["changes"]
    assert list(edit["changes"]) == ["file:///a.py"]


@pytest.mark.parametrize("client", [VSCODE, NEOVIM])
def test_a_file_is_never_created_bare(client: types.ClientCapabilities) -> None:
    """Neovim empties an existing file if `ignoreIfExists` is missing, and writes nothing if it is alone."""
    create, text = plain(workspace_edit(CreateFile(path=Path("/n.py"), text="x\n"), client))[
        "documentChanges"
    ]
    assert create["options"] == {"overwrite": False, "ignoreIfExists": True}
    assert text["textDocument"]["version"] is None
    assert text["edits"][0]["newText"] == "x\n"
    # Neovim's empty buffer is one line: an insertion at its start would leave that line at the end.
    assert text["edits"][0]["range"]["end"] == {"line": 1, "character": 0}


def test_eglot_gets_new_files_as_edits_of_a_file_to_come() -> None:
    changes = plain(workspace_edit(CreateFile(path=Path("/n.py"), text="x\n"), EGLOT))["documentChanges"]
    assert len(changes) == 1
    assert changes[0]["textDocument"] == {"uri": "file:///n.py", "version": None}


def test_resource_operations_are_spelt_out() -> None:
    (gone,) = plain(workspace_edit(DeleteFile(path=Path("/a"), before=""), VSCODE))["documentChanges"]
    assert gone["kind"] == "delete"
    move = RenameFile(path=Path("/a"), target=Path("/b"), before="")
    (moved,) = plain(workspace_edit(move, VSCODE))["documentChanges"]
    assert (moved["oldUri"], moved["newUri"], moved["options"]["overwrite"]) == (
        "file:///a",
        "file:///b",
        False,
    )
