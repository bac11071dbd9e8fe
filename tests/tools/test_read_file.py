"""The model sees what the person has, with numbers, in pages, and never a binary file."""

import base64
from pathlib import Path

import pytest

from magent_lsp.core.errors import MissingError, ToolError
from magent_lsp.core.tool import ToolResult
from magent_lsp.tools.read_file import MAX_IMAGE_BYTES, TOOL
from tests.support.edit_context import call, context_at

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def read(folder: Path, **arguments: object) -> ToolResult:
    """Call the tool on a folder."""
    result = await call(TOOL, context_at(folder), **arguments)
    assert isinstance(result, ToolResult)
    return result


async def test_lines_have_numbers_by_the_rule_of_the_editor(tmp_path: Path) -> None:
    """A form feed ends no line: line 3 here is line 3 in the editor."""
    (tmp_path / "a.el").write_bytes(b"one\r\ntwo\x0cstill two\nthree")
    assert (await read(tmp_path, path="a.el")).text == "     1\tone\n     2\ttwo\x0cstill two\n     3\tthree"


async def test_a_long_file_comes_in_pages(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    first = (await read(tmp_path, path="a")).text
    assert "line 1\n" in first
    assert first.endswith("[Lines 1-1800 of 5000; go on with offset=1801.]")
    page = (await read(tmp_path, path="a", offset=4999, limit=10)).text
    assert page == "  4999\tline 4999\n  5000\tline 5000\n\n[Lines 4999-5000 of 5000, to the end.]"


async def test_an_offset_behind_the_end_says_how_long_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    with pytest.raises(ToolError, match="has 1 lines"):
        await read(tmp_path, path="a", offset=2)


async def test_a_line_of_ten_megabytes_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("x" * 10_000_000)
    text = (await read(tmp_path, path="a.json")).text
    assert len(text) < 2100
    assert "more characters" in text


async def test_an_empty_file_is_said_to_be_empty_and_counts_as_seen(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    result = await read(tmp_path, path="a")
    assert "empty" in result.text
    assert result.seen


async def test_binary_and_foreign_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    (tmp_path / "b.txt").write_bytes("größe".encode("latin-1"))
    with pytest.raises(ToolError, match=r"'a\.bin' is a binary file"):
        await read(tmp_path, path="a.bin")
    with pytest.raises(ToolError, match=r"'b\.txt' is not UTF-8"):
        await read(tmp_path, path="b.txt")


async def test_a_missing_file_names_the_one_that_may_be_meant(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("x")
    with pytest.raises(MissingError, match=r"Did you mean 'server\.py'"):
        await read(tmp_path, path="sever.py")


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(ToolError, match=r"'src' is a folder.*list_dir"):
        await read(tmp_path, path="src")


async def test_a_picture_is_shown_as_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (image,) = (await read(tmp_path, path="a.png")).images
    assert image.media_type == "image/png"
    assert base64.b64decode(image.data) == PNG


async def test_a_large_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG + bytes(MAX_IMAGE_BYTES))
    with pytest.raises(ToolError, match="too large"):
        await read(tmp_path, path="a.png")


async def test_a_text_that_is_called_a_picture_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert "git-lfs" in (await read(tmp_path, path="a.png")).text


@pytest.mark.parametrize("path", ["", "  ", "a\0b"])
async def test_impossible_paths_are_errors(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolError):
        await read(tmp_path, path=path)
