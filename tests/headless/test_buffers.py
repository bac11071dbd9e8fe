"""The demo's editor must do what real editors do, or it proves nothing."""

from pathlib import Path
from typing import Any

import pytest

from magent_lsp.headless.buffers import Buffer, Buffers, offset, path_of


class Told:
    """Notes what the server would be told."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.last: Any = None

    def __call__(self, method: str, params: Any) -> None:
        self.methods.append(method)
        self.last = params


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def buffers(told: Told) -> Buffers:
    return Buffers(told)


@pytest.fixture
def buffer(tmp_path: Path, buffers: Buffers) -> Buffer:
    path = tmp_path / "ein Ort.txt"
    path.write_bytes("a😀b\r\nzwei\n".encode())
    return buffers.open(path, "plaintext")


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    places = {"start": start, "end": end}
    return {"range": {k: {"line": v[0], "character": v[1]} for k, v in places.items()}, "newText": text}


def change(buffer: Buffer, *edits: dict[str, Any], version: int | None = 1) -> dict[str, Any]:
    return {
        "documentChanges": [{"textDocument": {"uri": buffer.uri, "version": version}, "edits": list(edits)}]
    }


def test_positions_are_utf_16_units() -> None:
    text = "a😀b\r\nzwei\n"
    assert [offset(text, {"line": 0, "character": n}) for n in (0, 1, 3, 4, 99)] == [0, 1, 2, 3, 3]
    assert offset(text, {"line": 1, "character": 2}) == 7
    assert offset(text, {"line": 9, "character": 0}) == len(text)


def test_edits_are_applied_from_the_end_and_told_as_one_change(
    buffers: Buffers, buffer: Buffer, told: Told
) -> None:
    assert buffers.apply(change(buffer, edit((0, 3), (0, 4), "B"), edit((1, 0), (1, 4), "2")))["applied"]
    assert buffer.text == "a😀B\r\n2\n"
    assert buffer.version == 2
    assert told.methods == ["textDocument/didOpen", "textDocument/didChange"]
    assert told.last["textDocument"]["version"] == 2
    assert told.last["contentChanges"] == [{"text": buffer.text}]


def test_an_edit_of_an_older_version_is_refused(buffers: Buffers, buffer: Buffer) -> None:
    buffers.type(buffer, 0, "typed ")
    answer = buffers.apply(change(buffer, edit((0, 0), (0, 1), "")))
    assert answer["applied"] is False
    assert buffer.text.startswith("typed ")


def test_an_edit_of_a_file_that_is_not_open_is_refused(buffers: Buffers, tmp_path: Path) -> None:
    closed = {"changes": {(tmp_path / "other.txt").as_uri(): [edit((0, 0), (0, 0), "x")]}}
    assert buffers.apply(closed)["applied"] is False
    assert not (tmp_path / "other.txt").exists()


def test_plain_changes_without_versions_are_taken_too(buffers: Buffers, buffer: Buffer) -> None:
    assert buffers.apply({"changes": {buffer.uri: [edit((1, 0), (1, 4), "2")]}})["applied"]
    assert buffer.text == "a😀b\r\n2\n"


def test_typed_text_reaches_the_disk_only_when_saved(buffers: Buffers, buffer: Buffer, told: Told) -> None:
    buffers.type(buffer, 1, "neu\n")
    assert "neu" not in buffer.on_disk
    assert buffers.save([buffer.uri, "file:///nowhere"]) == [buffer.uri]
    assert buffer.path.read_bytes() == "a😀b\r\nneu\nzwei\n".encode()
    assert told.methods[-1] == "textDocument/didSave"


def test_uris_with_blanks_and_percents_name_their_file(tmp_path: Path) -> None:
    for name in ("ein Ort.txt", "100%.txt", "ü#?.txt"):
        assert path_of((tmp_path / name).as_uri()) == tmp_path / name
