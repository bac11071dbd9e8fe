"""What an edit does to a file, over a real connection: every kind of text, place and file."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.edit_desk import Desk, call, change, desk, lines

PIECE = "value = 1"
"""Old text, the same in every kind of file."""

KINDS = {
    "crlf": b"one\r\nvalue = 1\r\nthree\r\n",
    "mixed": b"one\r\ntwo\nvalue = 1\r\nthree\rfour\n",
    "bare-cr": b"one\rvalue = 1\rthree\r",
    "bom": b"\xef\xbb\xbfvalue = 1\nthree\n",
    "utf16": "value = 1\nzwei: ü\n".encode("utf-16"),
    "no-final-newline": b"one\nvalue = 1",
    "only-line": b"value = 1",
    "form-feed": b"one\x0c\n\x0c\nvalue = 1\x0c\nthree\n",
    "vertical-tab": b"one\x0b\n\x0b\nvalue = 1\nthree\x0b",
    "separators": "a\u2028b\u2029c\x85d\x1c\x1d\x1e\nvalue = 1\u2028\n".encode(),
    "astral": "🦄 = '𝒳'\n🦄 value = 1 🦄\n𝒳\n".encode(),
    "zwj": "👩\u200d👩\u200d👧 family\nvalue = 1 👩\u200d💻\n".encode(),
    "combining": "e\u0301 é\nvalue = 1 e\u0301\nn\u0303\n".encode(),
    "rtl": "שלום\nvalue = 1 # \u202eשלום\u202c\nمرحبا\n".encode(),
    "invisible": "a\u200bb\ufeffc\nvalue = 1\u00ad\n".encode(),
    "trailing-blanks": b"one  \nvalue = 1\t \nthree   \n",
    "blank-lines": b"\n\n\nvalue = 1\n\n\n",
}


def _changed(data: bytes) -> bytes:
    """The bytes after the edit: computed on bytes, without any of the code that is tested."""
    if data.startswith(b"\xff\xfe"):
        return data.replace("1".encode("utf-16-le"), "2".encode("utf-16-le"), 1)
    return data.replace(b"value = 1", b"value = 2", 1)


async def test_every_kind_of_text_keeps_every_other_byte_on_the_disk(tmp_path: Path) -> None:
    async with desk(tmp_path, files={f"{kind}.txt": data for kind, data in KINDS.items()}) as at:
        told = await at.agent([change(f"{kind}.txt", PIECE, "value = 2") for kind in KINDS])
        assert told.statuses == ["completed"] * len(KINDS), told.outputs
        assert {kind: at.bytes(f"{kind}.txt") for kind in KINDS} == {
            kind: _changed(data) for kind, data in KINDS.items()
        }
        undone = await at.undo(told)
        assert undone["conflicts"] == []
        assert {kind: at.bytes(f"{kind}.txt") for kind in KINDS} == KINDS


async def test_every_kind_of_text_keeps_every_other_character_in_a_buffer(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        texts = {kind: data.decode() for kind, data in KINDS.items() if kind != "utf16"}
        buffers = {kind: at.open(f"{kind}.txt", text) for kind, text in texts.items()}
        told = await at.agent([change(f"{kind}.txt", PIECE, "value = 2") for kind in texts])
        assert told.statuses == ["completed"] * len(texts), told.outputs
        wanted = {kind: text.replace(PIECE, "value = 2", 1) for kind, text in texts.items()}
        assert {kind: buffer.text for kind, buffer in buffers.items()} == wanted
        assert not any((at.ws / f"{kind}.txt").exists() for kind in texts), "never written under a buffer"
        await at.undo(told)
        assert {kind: buffer.text for kind, buffer in buffers.items()} == texts


async def test_new_lines_end_as_their_neighbours_do(tmp_path: Path) -> None:
    more = "value = 1\nnew = 2"
    files: dict[str, str | bytes] = {
        "crlf.txt": b"one\r\nvalue = 1\r\nthree\r\n",
        "mixed.txt": b"one\nvalue = 1\r\nthree\n",
        "cr.txt": b"one\rvalue = 1\rthree\r",
        "last.txt": b"one\r\nvalue = 1",
    }
    async with desk(tmp_path, files=files) as at:
        told = await at.agent([change(name, PIECE, more) for name in files])
        assert told.statuses == ["completed"] * 4
        assert at.bytes("crlf.txt") == b"one\r\nvalue = 1\r\nnew = 2\r\nthree\r\n"
        assert at.bytes("mixed.txt") == b"one\nvalue = 1\r\nnew = 2\r\nthree\n"
        assert at.bytes("cr.txt") == b"one\rvalue = 1\rnew = 2\rthree\r"
        assert at.bytes("last.txt") == b"one\r\nvalue = 1\r\nnew = 2"


NOT_TEXT = {
    "latin1.txt": "café\nvalue = 1\n".encode("latin-1"),
    "cp1252.txt": "“café” €\nvalue = 1\n".encode("cp1252"),
    "nul.bin": b"value = 1\n\0\n",
    "png.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDRvalue = 1",
    "cut-utf8.txt": "value = 1 é".encode()[:-1],
    "surrogate.txt": b"value = 1 \xed\xa0\x80\n",
    "odd-utf16.txt": "value = 1\n".encode("utf-16")[:-1],
}


async def test_what_is_no_utf8_or_utf16_text_is_refused_and_stays_the_same(tmp_path: Path) -> None:
    async with desk(tmp_path, files=NOT_TEXT) as at:
        calls = [change(name, PIECE, "value = 2") for name in NOT_TEXT]
        calls += [call("write_file", path=name, content="new\n") for name in NOT_TEXT]
        calls += [call("read_file", path=name) for name in NOT_TEXT]
        told = await at.agent(calls)
        assert set(told.statuses) == {"failed"}
        assert all(name in text for name, text in zip(list(NOT_TEXT) * 3, told.outputs, strict=True))
        assert {name: at.bytes(name) for name in NOT_TEXT} == NOT_TEXT
        assert told.outcomes == []


async def test_lookalike_punctuation_is_found_both_ways_and_stays_elsewhere(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "plain.txt": 'say "hi" - it\'s 5 km\n"other" ‘kept’\n',
        "curly.txt": "say “hi” – it’s 5\u00a0km\n“other” 'kept'\n",
        "nbsp.py": "x =\u00a01\n",
    }
    async with desk(tmp_path, files=files) as at:
        told = await at.agent(
            [
                change("plain.txt", "say “hi” – it’s 5\u00a0km", "say “ho” – it’s 5\u00a0km"),
                change("curly.txt", 'say "hi" - it\'s 5 km', 'say "ho" - it\'s 5 km'),
                change("nbsp.py", "x = 1", "x = 2"),
            ]
        )
        assert told.statuses == ["completed"] * 3, told.outputs
        assert at.bytes("plain.txt").decode() == 'say "ho" - it\'s 5 km\n"other" ‘kept’\n'
        assert at.bytes("curly.txt").decode() == "say “ho” – it’s 5\u00a0km\n“other” 'kept'\n"
        assert at.bytes("nbsp.py").decode() == "x =\u00a02\n"
        assert all("look-alike" in text for text in told.outputs)


async def test_hard_breaks_and_tabs_are_kept(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "first  \nsecond  \nthird\n",
        "Makefile": "all: a b\n\tcc a.c\n\tcc b.c  # two\n",
        "tabs.py": "if x:\n\ty = 1\n\tif z:\n\t\tw = 2\n",
    }
    async with desk(tmp_path, files=files) as at:
        told = await at.agent(
            [
                change("a.md", "first\nsecond\n", "first\nzweite\n"),
                change("Makefile", "    cc b.c  # two\n", "    cc b.c  # zwei\n    cc c.c\n"),
                change("tabs.py", "    if z:\n        w = 2\n", "    if z:\n        w = 3\n        v = 4\n"),
            ]
        )
        assert told.statuses == ["completed"] * 3, told.outputs
        assert at.bytes("a.md") == b"first  \nzweite  \nthird\n"
        assert at.bytes("Makefile") == b"all: a b\n\tcc a.c\n\tcc b.c  # zwei\n\tcc c.c\n"
        assert at.bytes("tabs.py") == b"if x:\n\ty = 1\n\tif z:\n\t\tw = 3\n\t\tv = 4\n"


async def test_mode_links_and_hard_links_are_kept(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "run.sh": "value = 1\n",
        "secret.txt": "value = 1\n",
        "target.txt": "value = 1\n",
        "first.txt": "value = 1\n",
        "deep/real.txt": "value = 1\n",
    }
    async with desk(tmp_path, files=files) as at:
        (at.ws / "run.sh").chmod(0o755)
        (at.ws / "secret.txt").chmod(0o600)
        (at.ws / "link.txt").symlink_to("target.txt")
        os.link(at.ws / "first.txt", at.ws / "second.txt")
        (at.ws / "folder").symlink_to("deep")
        names = ["run.sh", "secret.txt", "link.txt", "second.txt", "folder/real.txt"]
        told = await at.agent([change(name, PIECE, "value = 2") for name in names])
        assert told.statuses == ["completed"] * 5, told.outputs
        assert all(at.bytes(name) == b"value = 2\n" for name in [*names, *files])
        assert (at.ws / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (at.ws / "secret.txt").stat().st_mode & 0o777 == 0o600
        assert (at.ws / "link.txt").is_symlink()
        assert (at.ws / "folder").is_symlink()
        assert (at.ws / "first.txt").stat().st_ino == (at.ws / "second.txt").stat().st_ino
        await at.undo(told)
        assert all(at.bytes(name) == b"value = 1\n" for name in [*names, *files])
        assert (at.ws / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (at.ws / "first.txt").stat().st_ino == (at.ws / "second.txt").stat().st_ino
        assert sorted(path.name for path in at.ws.iterdir()) == sorted(
            ["deep", "first.txt", "folder", "link.txt", "run.sh", "second.txt", "secret.txt", "target.txt"]
        ), "no leftovers"


async def test_uncertain_places_are_refused_and_named(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "anchors.js": "{\n  a();\n}\n{\n  b();\n}\n",
        "exact.py": "def f():\n    return 1\n\n\ndef g():\n    return 1\n",
        "near.py": "if a:\n        x = 1\n        y = 2\nif b:\n    x = 1\n    y = 2\n",
        "a.py": "nothing = 0\n",
        "b.py": "only_here = 1\n",
    }
    async with desk(tmp_path, files=files) as at:
        told = await at.agent(
            [
                change("anchors.js", "{\n  c();\n}\n", "{\n  d();\n}\n"),
                change("exact.py", "    return 1\n", "    return 2\n"),
                change("near.py", "  x = 1\n  y = 2\n", "  x = 3\n  y = 4\n"),
                change("a.py", "only_here = 1", "only_here = 2"),
            ]
        )
        assert told.statuses == ["failed"] * 4
        assert all("Nothing was changed" in text for text in told.outputs)
        assert "lines 2, 6" in told.outputs[1]
        assert "lines 2, 5" in told.outputs[2]
        assert "a.py" in told.outputs[3]
        assert "b.py" not in told.outputs[3]
        assert {name: at.bytes(name).decode() for name in files} == files
        assert told.outcomes == []


async def test_the_same_edit_twice_is_already_applied(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "replace.py": "def greet():\n    pass\n",
        "insert.py": "import os\n\nprint(os)\n",
        "delete.py": "import os\nimport sys\n",
    }
    edits = [
        change("replace.py", "def greet():", "def welcome():"),
        change("insert.py", "import os\n", "import os\nimport sys\n"),
        change("delete.py", "import os\nimport sys\n", "import os\n"),
    ]
    async with desk(tmp_path, files=files) as at:
        told = await at.agent(edits, edits)
        assert told.statuses == ["completed"] * 3 + ["failed"] * 3, told.outputs
        assert all("already applied" in text for text in told.outputs[3:5])
        assert at.bytes("replace.py") == b"def welcome():\n    pass\n"
        assert at.bytes("insert.py") == b"import os\nimport sys\n\nprint(os)\n"
        assert at.bytes("delete.py") == b"import os\n"


@pytest.mark.parametrize("opened", [True, False], ids=["buffer", "disk"])
async def test_two_edits_of_one_file_in_one_reply_both_land_with_reads_beside_them(
    tmp_path: Path, opened: bool
) -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    async with desk(tmp_path, files={"a.txt": text, "b.txt": "b\n"}) as at:
        buffer = at.open("a.txt") if opened else None
        told = await at.agent(
            [
                call("read_file", path="a.txt"),
                change("a.txt", "line 3\n", "LINE 3\nand more\n"),
                call("grep", pattern="line 7$"),
                call("read_file", path="b.txt"),
                change("a.txt", "line 30\n", "LINE 30\n"),
                call("list_dir"),
            ]
        )
        assert set(told.statuses) == {"completed"}, told.outputs
        wanted = text.replace("line 3\n", "LINE 3\nand more\n").replace("line 30\n", "LINE 30\n")
        assert (buffer.text if buffer else at.bytes("a.txt").decode()) == wanted


async def test_all_edits_of_a_call_land_together_or_not_at_all(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.py": "a = 1\nb = 2\nc = 3\n"}) as at:
        pair = [
            {"old_string": "a = 1", "new_string": "a = 10"},
            {"old_string": "no such line", "new_string": "b = 20"},
        ]
        told = await at.agent([call("edit_file", path="a.py", edits=pair)])
        assert told.statuses == ["failed"]
        assert "edit 2 of 2" in told.outputs[0]
        assert at.bytes("a.py") == b"a = 1\nb = 2\nc = 3\n"


BROKEN: dict[str, dict[str, Any]] = {
    "no content": {"calls": [call("write_file", path="new.py")]},
    "null content": {"calls": [call("write_file", path="new.py", content=None)]},
    "cut off": {
        "calls": [{"tool": "write_file", "arguments": '{"path": "new.py", "content": "import o'}],
    },
    "finish length": {
        "calls": [{"tool": "write_file", "arguments": '{"path": "new.py", "content": "import os\\n"}'}],
        "finish": "length",
    },
    "cut off, length": {
        "calls": [{"tool": "write_file", "arguments": '{"path": "new.py", "content": "import o'}],
        "finish": "length",
    },
    "placeholder": {"calls": [call("write_file", path="new.py", content="a = 1\n# ... rest of the code\n")]},
    "a list as content": {"calls": [call("write_file", path="new.py", content=["a"])]},
    "no edits": {"calls": [call("edit_file", path="new.py", edits=[])]},
    "no path": {"calls": [call("write_file", content="x")]},
    "empty path": {"calls": [call("write_file", path="", content="x")]},
    "NUL in the path": {"calls": [call("write_file", path="new\0.py", content="x")]},
    "a folder": {"calls": [call("write_file", path=".", content="x")]},
    "a file as a folder": {"calls": [call("write_file", path="a.py/new.py", content="x")]},
}


async def test_broken_calls_make_no_file_and_are_told_to_the_model(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.py": "a = 1\n"}) as at:
        for case, reply in BROKEN.items():
            told = await at.agent(reply)
            assert set(told.statuses) == {"failed"}, (case, told.statuses, told.outputs)
            assert told.finished["stopReason"] == "end_turn", (case, told.finished)
            assert [path.name for path in at.ws.iterdir()] == ["a.py"], case
        assert at.bytes("a.py") == b"a = 1\n"


async def test_write_file_needs_the_whole_file_to_be_known(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(3000))
    wide = "x" * 5000 + "\nend\n"
    files: dict[str, str | bytes] = {
        "never.py": "a = 1\n",
        "long.txt": long,
        "wide.txt": wide,
        "all.py": "b = 1\n",
    }
    async with desk(tmp_path, files=files) as at:
        told = await at.agent(
            [
                call("read_file", path="long.txt"),
                call("read_file", path="wide.txt"),
                call("read_file", path="all.py"),
            ],
            [call("write_file", path=name, content="new\n") for name in files],
            [change("long.txt", "line 5\n", "LINE 5\n")],
            [call("write_file", path="long.txt", content="new\n")],
        )
        assert told.statuses == ["completed"] * 3 + ["failed"] * 3 + ["completed", "completed", "failed"]
        assert "not read" in told.outputs[3]
        assert "only 1-1800" in told.outputs[4], "says which lines were seen"
        assert "edit_file" in told.outputs[5], "a line too long to be shown cannot be rewritten unseen"
        assert at.bytes("never.py") == b"a = 1\n"
        assert at.bytes("long.txt").decode() == long.replace("line 5\n", "LINE 5\n")
        assert at.bytes("all.py") == b"new\n"
        told = await at.agent(
            [call("read_file", path="long.txt", offset=1501), call("read_file", path="long.txt", limit=1500)],
            [call("write_file", path="long.txt", content="new\n")],
        )
        assert told.statuses == ["completed"] * 3, told.outputs


async def test_an_edit_of_an_unread_file_does_not_make_it_read(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.py": lines("a = 1", "precious = 2")}) as at:
        told = await at.agent(
            [change("a.py", "a = 1", "a = 2")], [call("write_file", path="a.py", content="a = 3\n")]
        )
        assert told.statuses == ["completed", "failed"]
        assert at.bytes("a.py") == b"a = 2\nprecious = 2\n"


async def _sizes(at: Desk) -> None:
    told = await at.agent(
        [
            change("huge.txt", "a", "b"),
            call("write_file", path="huge.txt", content="x"),
            call("read_file", path="huge.txt"),
            change("wide.json", "needle", "NEEDLE"),
            call("read_file", path="wide.json"),
        ],
        seconds=30,
    )
    assert told.statuses == ["failed", "failed", "failed", "completed", "completed"], told.outputs
    assert all("too large" in text for text in told.outputs[:3])
    assert len(told.outputs[4]) < 40_000


async def test_huge_files_are_refused_and_one_long_line_is_bounded(tmp_path: Path) -> None:
    wide = b"[" + b'"item",' * 700_000 + b'"needle",' + b'"item",' * 700_000 + b'"end"]'
    async with desk(tmp_path, files={"wide.json": wide}) as at:
        with (at.ws / "huge.txt").open("wb") as file:
            file.truncate(51 * 1024 * 1024)
        await _sizes(at)
        assert at.bytes("wide.json") == wide.replace(b"needle", b"NEEDLE")
        assert (at.ws / "huge.txt").stat().st_size == 51 * 1024 * 1024


async def test_a_file_whose_secret_the_model_was_not_shown_is_not_rewritten(tmp_path: Path) -> None:
    """The model sees a key as stars; writing the whole file would put the stars into it."""
    secret = "sk-live-0123456789abcdefghij"
    files: dict[str, str | bytes] = {"settings.py": lines(f"KEY = '{secret}'", "DEBUG = True")}
    async with desk(tmp_path, files=files, environment={"OPENAI_API_KEY": secret}) as at:
        told = await at.agent(
            [call("read_file", path="settings.py")],
            [call("write_file", path="settings.py", content="KEY = '***'\nDEBUG = False\n")],
            [change("settings.py", "DEBUG = True", "DEBUG = False")],
        )
        assert secret not in told.outputs[0]
        assert told.statuses == ["completed", "failed", "completed"], told.outputs
        assert at.bytes("settings.py").decode() == lines(f"KEY = '{secret}'", "DEBUG = False")


@pytest.mark.slow
async def test_a_hundred_thousand_files_cost_an_edit_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": "value = 1\n"}) as at:
        for folder in range(100):
            (at.ws / f"f{folder}").mkdir()
            for number in range(1000):
                (at.ws / f"f{folder}/{number}.txt").touch()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        told = await at.agent([change("a.txt", PIECE, "value = 2"), change("A.txt", PIECE, "value = 3")])
        assert told.statuses == ["completed", "failed"]
        assert loop.time() - begin < 20
        told = await at.agent(
            [call("glob", pattern="**/*.txt"), call("grep", pattern="value"), call("list_dir")]
        )
        assert set(told.statuses) == {"completed"}
        assert all(len(text) < 40_000 for text in told.outputs)
        assert loop.time() - begin < 90
