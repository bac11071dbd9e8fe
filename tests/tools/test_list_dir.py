"""If these fail, the agent does not see what is in a folder, or sees what it must not."""

from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Verdict
from magent_lsp.tools.list_dir import TOOL
from tests.support.editor import MemoryEditor
from tests.support.tool_context import call, context_for, parse, write


async def listing(folder: Path, **arguments: object) -> list[str]:
    return (await call(TOOL, context_for(folder), **arguments)).text.split("\n")


async def test_entries_by_name_folders_marked(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "", "a/x.py": "", "a/deep/y.py": "", ".hidden": "", ".git/config": ""})
    (tmp_path / "link").symlink_to("a")
    assert await listing(tmp_path) == [".hidden", "a/", "b.py", "link -> a"]
    assert await listing(tmp_path, path="a") == ["a/deep/", "a/x.py"]
    everything = [".hidden", "a/", "a/deep/", "a/deep/y.py", "a/x.py", "b.py", "link -> a"]
    assert await listing(tmp_path, depth=3) == everything


async def test_ignored_files_are_counted_only(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.log\nout/\n", "a.log": "", "out/x": "", "b.py": "", "sub/c.log": ""})
    (tmp_path / "sub" / ".gitignore").write_text("!c.log\n")
    assert await listing(tmp_path, depth=2) == [
        *(".gitignore", "b.py", "sub/", "sub/.gitignore", "sub/c.log"),
        "(left out: 2 ignored by .gitignore)",
    ]
    assert await listing(tmp_path, path="out") == ["out/x"]


async def test_denied_entries_are_left_out_without_a_word(tmp_path: Path) -> None:
    def judge(subject: Subject) -> Verdict:
        return "deny" if subject.value.endswith((".env", "secret")) else "allow"

    write(tmp_path, {".env": "", "a.py": "", "secret/key": ""})
    result = await call(TOOL, context_for(tmp_path, judge=judge), depth=3)
    assert result.text == "a.py"


async def test_empty_missing_and_not_a_folder(tmp_path: Path) -> None:
    assert await listing(tmp_path) == ["(empty)"]
    write(tmp_path, {"a.py": ""})
    with pytest.raises(ToolError, match="'gone'"):
        await listing(tmp_path, path="gone")
    with pytest.raises(ToolError, match="use read_file"):
        await listing(tmp_path, path="a.py")
    for bad in ("", "a\0b"):
        with pytest.raises(ToolError):
            await listing(tmp_path, path=bad)


async def test_a_huge_folder_is_bounded_and_upper_levels_come_first(tmp_path: Path) -> None:
    write(tmp_path, {f"a/{n}": "" for n in range(700)} | {"z.py": ""})
    lines = await listing(tmp_path, depth=2)
    assert len(lines) == 501
    assert "z.py" in lines
    assert lines[-1].startswith("(at least 202 more")


async def test_files_that_exist_only_in_the_editor(tmp_path: Path) -> None:
    editor = MemoryEditor()
    write(tmp_path, {"b.py": ""})
    editor.open(tmp_path / "a.py", "new")
    editor.open(tmp_path / "b.py", "changed")
    assert (await call(TOOL, context_for(tmp_path, editor=editor))).text == "a.py (not yet saved)\nb.py"


async def test_node_modules_is_named_but_not_walked(tmp_path: Path) -> None:
    write(tmp_path, {"node_modules/x/y.js": ""})
    assert await listing(tmp_path, depth=5) == ["node_modules/"]


async def test_the_loop_is_not_blocked(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.py": "", ".gitignore": "x\n"})
    with blockbuster_ctx():
        assert "a/" in await listing(tmp_path)


def test_people_and_rules_see_the_path() -> None:
    assert TOOL.subjects(parse(TOOL, path="src")) == (Subject(tool="list_dir", kind="path", value="src"),)
    assert TOOL.title(parse(TOOL)) == "List ."
