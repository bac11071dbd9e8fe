"""If these fail, the agent is shown old text, secrets, or not what is there."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, ToolContext, Verdict
from magent_lsp.tools import grep
from magent_lsp.tools.ignore import Ignored
from magent_lsp.tools.search import Hit, Query, find_rg, search_files
from tests.support.editor import MemoryEditor
from tests.support.tool_context import context_for, parse, write

NOTE = "\n(searched without ripgrep, which is slower)"


def no_rg(env: Mapping[str, str]) -> None:
    return None


@pytest.fixture(params=["ripgrep", "python"])
def find(request: pytest.FixtureRequest) -> grep.FindRg:
    if request.param == "python":
        return no_rg
    assert find_rg({"PATH": "/usr/bin"}), "these tests need the extra `rg`"
    return find_rg


async def run(find: grep.FindRg, tools: ToolContext, /, **arguments: Any) -> str:
    result = await grep.search(parse(grep.TOOL, **arguments), tools, find)  # type: ignore[arg-type]
    text = result.text
    if find is no_rg:
        assert text.endswith(NOTE)
        text = text.removesuffix(NOTE)
    return text


async def test_lines_with_file_and_number_in_the_order_of_paths(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"b.py": "x\nfoo\n", "a/z.py": "foo", "a.py": "foo1\nbar\nfoo2\n", "a/b/c.py": "foo\n"})
    assert await run(find, context_for(tmp_path), pattern="foo") == (
        "a/b/c.py:1:foo\na/z.py:1:foo\na.py:1:foo1\na.py:3:foo2\nb.py:2:foo"
    )


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": r"def \w+\("}, ["src/a.py:1:def one(x):", "src/b.ts:2:  def two()"]),
        ({"pattern": "DEF", "ignore_case": True}, ["src/a.py:1:def one(x):", "src/b.ts:2:  def two()"]),
        ({"pattern": "def", "glob": "*.py"}, ["src/a.py:1:def one(x):"]),
        ({"pattern": "def", "glob": "src/*.{ts,js}"}, ["src/b.ts:2:  def two()"]),
        ({"pattern": "def", "glob": "!*.ts"}, ["src/a.py:1:def one(x):"]),
        ({"pattern": "def", "path": "src/a.py"}, ["src/a.py:1:def one(x):"]),
        ({"pattern": "def", "path": "src/a.py", "glob": "*.ts"}, ["src/a.py:1:def one(x):"]),
        ({"pattern": "^b$"}, ["crlf.txt:2:b"]),
        ({"pattern": "(?<=on)e"}, ["src/a.py:1:def one(x):"]),
        ({"pattern": "é.ç"}, ["latin/ü.txt:1:aé→ç"]),
        ({"pattern": "-x"}, ["dash.txt:1:-x --foo"]),
        ({"pattern": "hidden"}, [".github/w.yml:1:hidden"]),
        ({"pattern": "sixteen"}, ["utf16.txt:2:sixteen"]),
        ({"pattern": "nothing like it"}, ["No match."]),
        ({"pattern": "in_binary"}, ["No match."]),
    ],
)
async def test_what_is_found(
    tmp_path: Path, find: grep.FindRg, arguments: dict[str, Any], lines: list[str]
) -> None:
    write(
        tmp_path,
        {
            "src/a.py": "def one(x):\n    pass\n",
            "src/b.ts": "//\n  def two()\n",
            "crlf.txt": "a\r\nb\r\nc\r\n",
            "latin/ü.txt": "aé→ç\n",
            "dash.txt": "-x --foo\n",
            ".github/w.yml": "hidden\n",
            "binary": "\0\1in_binary\n",
            ".git/config": "hidden def\n",
            "node_modules/x.js": "def\n",
        },
    )
    (tmp_path / "utf16.txt").write_bytes("\ufefffirst\nsixteen\n".encode("utf-16-le"))
    assert (await run(find, context_for(tmp_path), **arguments)).split("\n") == lines


async def test_context_lines_and_the_gaps_between_them(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"a.txt": "".join(f"{n}\n" for n in range(1, 21))})
    text = await run(find, context_for(tmp_path), pattern="^(3|5|15)$", context=1)
    assert text.split("\n") == [
        *("a.txt-2-2", "a.txt:3:3", "a.txt-4-4", "a.txt:5:5", "a.txt-6-6"),
        *("--", "a.txt-14-14", "a.txt:15:15", "a.txt-16-16"),
    ]


async def test_git_ignore_at_every_level_and_above(tmp_path: Path, find: grep.FindRg) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.log\nout/\n",
            "a.log": "foo\n",
            "out/a.py": "foo\n",
            "sub/.gitignore": "!a.log\nlocal.py\n",
            "sub/a.log": "foo\n",
            "sub/b.log": "foo\n",
            "sub/local.py": "foo\n",
            "sub/in/c.log": "foo\n",
            "sub/in/d.py": "foo\n",
        },
    )
    context = context_for(tmp_path)
    assert await run(find, context, pattern="foo") == "sub/a.log:1:foo\nsub/in/d.py:1:foo"
    assert await run(find, context, pattern="foo", path="sub/in") == "sub/in/d.py:1:foo"
    assert await run(find, context, pattern="foo", glob="*.log") == "sub/a.log:1:foo"
    assert await run(find, context, pattern="foo", path="out") == "out/a.py:1:foo"
    assert await run(find, context, pattern="foo", path="a.log") == "a.log:1:foo"


async def test_unsaved_buffers_are_what_is_searched(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"a.py": "old foo\n", "b.py": "foo on disk\n", ".gitignore": "*.log\n"})
    editor = MemoryEditor()
    editor.open(tmp_path / "a.py", "x\nnew foo\r\nlast foo")
    editor.open(tmp_path / "b.py")
    editor.open(tmp_path / "sub" / "new.py", "foo not on disk\n")
    editor.open(tmp_path / "x.log", "foo ignored\n")
    editor.open(tmp_path / "empty.py", "")
    context = context_for(tmp_path, editor=editor)
    everything = "a.py:2:new foo\na.py:3:last foo\nb.py:1:foo on disk\nsub/new.py:1:foo not on disk"
    assert await run(find, context, pattern="foo") == everything
    assert await run(find, context, pattern="old") == "No match."
    assert await run(find, context, pattern="foo", path="a.py") == "a.py:2:new foo\na.py:3:last foo"
    assert await run(find, context, pattern="foo", path="sub/new.py") == "sub/new.py:1:foo not on disk"
    assert await run(find, context, pattern="foo", glob="b*") == "b.py:1:foo on disk"
    assert await run(find, context, pattern="foo", path="sub") == "sub/new.py:1:foo not on disk"
    assert await run(find, context, pattern="last", context=1) == "a.py-2-new foo\na.py:3:last foo"
    many = "a.py:2:new foo\n(the first 1 matches; there are more: narrow the pattern, path or glob)"
    assert await run(find, context, pattern="foo", max_results=1) == many


async def test_a_buffer_open_through_a_link_replaces_the_file_too(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"real/a.py": "old foo\n"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    editor = MemoryEditor()
    editor.open(tmp_path / "link" / "a.py", "new foo\n")
    text = await run(find, context_for(tmp_path, editor=editor), pattern="foo")
    assert "old" not in text
    assert "new foo" in text


def no_secrets(subject: Subject) -> Verdict:
    return "deny" if Path(subject.value).name == ".env" else "ask" if "asked" in subject.value else "allow"


async def test_denied_files_are_left_out_without_a_word(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {".env": "KEY=1\n", "sub/.env": "KEY=2\n", "asked/a": "KEY=3\n", "a.py": "KEY\n"})
    editor = MemoryEditor()
    editor.open(tmp_path / "sub" / ".env", "KEY=unsaved\n")
    context = context_for(tmp_path, editor=editor, judge=no_secrets)
    assert await run(find, context, pattern="KEY") == "a.py:1:KEY"
    assert await run(find, context, pattern="KEY", path="sub") == "No match."
    assert await run(find, context, pattern="KEY", path="asked") == "asked/a:1:KEY=3"


async def test_the_first_matches_and_a_note_that_there_are_more(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {f"{n:03}.py": "foo\n" * 3 for n in range(100)})
    text = await run(find, context_for(tmp_path), pattern="foo")
    assert text.count(":foo") == 100
    assert text.startswith("000.py:1:foo\n000.py:2:foo\n000.py:3:foo\n001.py:1:foo")
    assert text.endswith("(the first 100 matches; there are more: narrow the pattern, path or glob)")
    assert "more" not in await run(find, context_for(tmp_path), pattern="foo", max_results=300)


async def test_huge_lines_are_cut_on_character_borders(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"a.json": "needle " + "😀é" * 500_000 + "\nsecond needle\n"})
    first, second = (await run(find, context_for(tmp_path), pattern="needle")).split("\n")
    assert first.startswith("a.json:1:needle 😀é😀é")
    assert len(first) <= 2_010
    assert "\ufffd" not in first
    assert second == "a.json:2:second needle"


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*x", "a{2,1}"])
async def test_a_bad_pattern_gets_the_reason(tmp_path: Path, find: grep.FindRg, pattern: str) -> None:
    write(tmp_path, {"a": "x\n"})
    with pytest.raises(ToolError, match=r"(?s)cannot be searched for: .*(parse|regex).*backslash"):
        await run(find, context_for(tmp_path), pattern=pattern)


async def test_a_pattern_over_lines_and_a_missing_path(tmp_path: Path, find: grep.FindRg) -> None:
    with pytest.raises(ToolError, match="spans lines"):
        await run(find, context_for(tmp_path), pattern="a\nb")
    with pytest.raises(ToolError, match="'gone'"):
        await run(find, context_for(tmp_path), pattern="a", path="gone")


async def test_a_pattern_that_would_never_end_is_stopped_and_blocks_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a" * 40 + "!\n", "b.txt": "found\n"})
    hits: list[Hit] = []
    query = Query(pattern="(a+)+$|found", seconds=0.5)

    def take(hit: Hit) -> bool:
        hits.append(hit)
        return True

    async with asyncio.timeout(30):
        ended = await search_files(
            query, tmp_path, rg=None, env={}, ignored=Ignored(tmp_path, tmp_path), take=take
        )
    assert ended.timed_out


async def test_cancel_reaches_the_search(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a" * 40 + "!\n"})
    task = asyncio.create_task(run(no_rg, context_for(tmp_path), pattern="(a+)+$"))
    await asyncio.sleep(0.1)
    task.cancel()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_several_workspace_folders(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {"one/a.py": "foo\n", "two/only/b.py": "foo\n"})
    context = context_for(tmp_path / "one", tmp_path / "two")
    assert await run(find, context, pattern="foo", path="only") == f"{tmp_path}/two/only/b.py:1:foo"
    assert await run(find, context, pattern="foo") == "a.py:1:foo"


async def test_the_loop_is_not_blocked(tmp_path: Path, find: grep.FindRg) -> None:
    write(tmp_path, {f"{n}.py": "foo\n" for n in range(50)} | {".gitignore": "1*.py\n"})
    editor = MemoryEditor()
    editor.open(tmp_path / "2.py", "foo\n" * 100_000)
    with blockbuster_ctx():
        assert "foo" in await run(find, context_for(tmp_path, editor=editor), pattern="foo", glob="*.py")


def test_people_and_rules_see_the_path() -> None:
    assert [subject.tool for subject in grep.TOOL.subjects(parse(grep.TOOL, pattern="x"))] == [
        "grep",
        "read_file",
    ]
    assert grep.TOOL.title(parse(grep.TOOL, pattern="foo")) == "Search for 'foo'"
    assert grep.TOOL.title(parse(grep.TOOL, pattern="foo", path="src")) == "Search for 'foo' in src"


LINES = st.lists(st.text("ab\t é.", max_size=6), max_size=12)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(st.sampled_from(["a.py", "b/c.py", "b.py", "d/é.py"]), LINES),
    context=st.integers(0, 3),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_both_searches_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, list[str]], context: int, end: str
) -> None:
    folder = tmp_path_factory.mktemp("same")
    write(folder, {name: end.join(lines) for name, lines in files.items()})

    async def both() -> tuple[str, str]:
        arguments = {"pattern": "a.|é$", "context": context}
        tools = context_for(folder)
        return await run(find_rg, tools, **arguments), await run(no_rg, tools, **arguments)

    with_rg, without = asyncio.run(both())
    assert with_rg == without
