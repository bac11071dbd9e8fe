"""If these fail, the agent does not find files by name."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, ToolContext, Verdict
from magent_lsp.tools import glob
from magent_lsp.tools.search import find_rg
from tests.support.editor import MemoryEditor
from tests.support.tool_context import context_for, parse, write


def no_rg(env: Mapping[str, str]) -> None:
    return None


@pytest.fixture(params=["ripgrep", "python"])
def find(request: pytest.FixtureRequest) -> Any:
    return find_rg if request.param == "ripgrep" else no_rg


async def run(find: Any, tools: ToolContext, /, **arguments: Any) -> list[str]:
    result = await glob.find(parse(glob.TOOL, **arguments), tools, find)  # type: ignore[arg-type]
    return result.text.split("\n")


def aged(folder: Path, names: list[str]) -> None:
    """Empty files, each older than the one before."""
    write(folder, dict.fromkeys(names, ""))
    for age, name in enumerate(names):
        os.utime(folder / name, (1_700_000_000 - age, 1_700_000_000 - age))


async def test_newest_first_at_every_depth(tmp_path: Path, find: Any) -> None:
    aged(tmp_path, ["z.py", "src/a.py", "b.py", "src/deep/c.py", "other.js", ".github/d.py"])
    context = context_for(tmp_path)
    assert await run(find, context, pattern="**/*.py") == [
        "z.py",
        "src/a.py",
        "b.py",
        "src/deep/c.py",
        ".github/d.py",
    ]
    assert await run(find, context, pattern="src/*") == ["src/a.py"]
    assert await run(find, context, pattern="*.py", path="src") == ["src/a.py", "src/deep/c.py"]
    assert await run(find, context, pattern="*.{js,ts}") == ["other.js"]
    assert await run(find, context, pattern=f"{tmp_path}/src/**") == ["src/a.py", "src/deep/c.py"]
    assert await run(find, context, pattern="*.rs") == ["No file matches."]


async def test_ignored_denied_and_git_s_own_files_are_left_out(tmp_path: Path, find: Any) -> None:
    def judge(subject: Subject) -> Verdict:
        return "deny" if subject.value.endswith(".env") else "allow"

    names = [".env", "a.log", "sub/b.log", "sub/c.txt", ".git/config", "node_modules/x", "sub/deep/d.log"]
    aged(tmp_path, names)
    write(tmp_path, {".gitignore": "*.log\n", "sub/.gitignore": "!b.log\n"})
    context = context_for(tmp_path, judge=judge)
    found = await run(find, context, pattern="**")
    assert set(found) == {".gitignore", "sub/.gitignore", "sub/b.log", "sub/c.txt"}
    assert await run(find, context, pattern="*.log", path="sub/deep") == ["No file matches."]


async def test_files_that_exist_only_in_the_editor_come_first(tmp_path: Path, find: Any) -> None:
    editor = MemoryEditor()
    aged(tmp_path, ["a.py"])
    editor.open(tmp_path / "new.py", "x")
    assert await run(find, context_for(tmp_path, editor=editor), pattern="*.py") == ["new.py", "a.py"]


async def test_many_files_are_bounded_with_a_note(tmp_path: Path, find: Any) -> None:
    aged(tmp_path, [f"{n:03}.py" for n in range(300)])
    found = await run(find, context_for(tmp_path), pattern="*")
    assert found[:2] == ["000.py", "001.py"]
    assert len(found) == 201
    assert found[-1].startswith("(the 200 newest")


async def test_odd_names(tmp_path: Path, find: Any) -> None:
    names = ["with blank.py", "new\nline.py", "ünï.py", "-dash.py", "[x].py"]
    aged(tmp_path, names)
    assert "\n".join(await run(find, context_for(tmp_path), pattern="*.py")) == "\n".join(names)


@pytest.mark.parametrize(
    "arguments",
    [{"pattern": "/etc/*"}, {"pattern": "../*"}, {"pattern": ""}, {"pattern": "*", "path": "gone"}],
)
async def test_what_cannot_be_searched(tmp_path: Path, find: Any, arguments: dict[str, str]) -> None:
    with pytest.raises(ToolError):
        await run(find, context_for(tmp_path), **arguments)


async def test_the_loop_is_not_blocked(tmp_path: Path, find: Any) -> None:
    aged(tmp_path, ["a.py", "b/c.py"])
    with blockbuster_ctx():
        assert len(await run(find, context_for(tmp_path), pattern="**/*.py")) == 2
