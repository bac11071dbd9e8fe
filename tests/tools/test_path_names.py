"""The tools open what was judged: a path means the same to the guard and to them."""

import os
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Tool
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.place import Map, Place
from magent_lsp.permissions.rules import Policy
from magent_lsp.tools import edit_file, glob, grep, list_dir, read_file, write_file
from magent_lsp.tools.ground import Ground
from magent_lsp.tools.paths import resolve
from tests.support.tool_context import call, context_for, parse, write

NAMES = [
    ".",
    "a.py",
    "sub/../a.py",
    "only/b.py",
    "conf/hostname",
    "conf/../only",
    "missing",
    "dangling",
    "~",
    "~/x",
    "~root",
    "~root/.bashrc",
    "~nobody-of-this-name/x",
    "./~root/x",
    "$HOME/x",
    "${HOME}/x",
    "$PWD/hostname",
    "/etc/hostname",
    "//etc/hostname",
    " a.py",
    "a.py/",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(
        tmp_path,
        {
            "one/a.py": "a\n",
            "two/a.py": "b\n",
            "two/only/b.py": "b\n",
            "home/x": "x\n",
            "away/hostname": "SECRET\n",
        },
    )
    one, two = tmp_path / "one", tmp_path / "two"
    (two / "conf").symlink_to(tmp_path / "away")
    (one / "$PWD").symlink_to(tmp_path / "away")
    (two / "dangling").symlink_to("/nowhere/at/all")
    return Place(
        folders=(one, two),
        cwd=one,
        home=tmp_path / "home",
        resolve=lambda path: Path(os.path.realpath(path)),
        disk=Ground(),
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_guard_and_the_tools_mean_one_file(place: Place, name: str) -> None:
    if name.startswith("~") and not name.startswith("~/") and name != "~":
        with pytest.raises(ToolError, match=name.partition("/")[0]):
            resolve(name, place.folders)
        return
    opened = resolve(name, place.folders)
    judged = [form.path for form in Map(place).locate(name, tool=True).forms]
    assert str(opened) in judged
    assert os.path.realpath(opened) in judged


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (read_file.TOOL, {}),
        (list_dir.TOOL, {}),
        (glob.TOOL, {"pattern": "**"}),
        (grep.TOOL, {"pattern": "SECRET"}),
        (write_file.TOOL, {"content": "x"}),
        (edit_file.TOOL, {"edits": [{"old_string": "a", "new_string": "b"}]}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize(
    "path", ["~root", "~root/x", "~/x", "conf/hostname", "conf", "$PWD/hostname", "$PWD"]
)
async def test_nothing_outside_is_opened_without_a_question(
    place: Place, tool: Tool, arguments: dict[str, Any], path: str
) -> None:
    policy = Policy(layers=(default_layer(),))
    asked = parse(tool, path=path, **arguments)
    if judge(tool.subjects(asked), policy, place).verdict == "allow":
        with pytest.raises(ToolError):
            await call(tool, context_for(*place.folders), path=path, **arguments)


async def test_a_file_whose_name_begins_with_a_tilde_is_a_file(place: Place) -> None:
    write(place.folders[0], {"~$report.md": "locked\n"})
    assert "locked" in (await call(read_file.TOOL, context_for(*place.folders), path="~$report.md")).text
