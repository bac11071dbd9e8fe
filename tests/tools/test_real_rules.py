"""The searching tools under the real rules: if these fail, secrets come out by a side door."""

import os
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.core.tool import Tool, ToolContext
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Layer, Policy, Source, parse_permission
from magent_lsp.tools import glob, grep, list_dir
from tests.support.tool_context import call, context_for, write

FILES = {
    ".env": "needle KEY\n",
    "sub/.env.local": "needle KEY\n",
    ".env.example": "needle example\n",
    "id_rsa": "needle KEY\n",
    "src/a.py": "needle code\n",
    "private/b.py": "needle private\n",
    "asked/c.py": "needle asked\n",
}


def context(folder: Path, **permission: Any) -> ToolContext:
    rules, problems = parse_permission(permission, Source(name="test"))
    assert not problems
    policy = Policy(layers=(default_layer(), Layer(name="user", rules=rules)))
    place = Place(
        folders=(folder,), cwd=folder, home=Path("/home/x"), resolve=lambda path: Path(os.path.realpath(path))
    )
    return context_for(folder, judge=lambda subject: judge((subject,), policy, place).verdict)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(grep.TOOL, {"pattern": "needle"}), (glob.TOOL, {"pattern": "**"}), (list_dir.TOOL, {"depth": 3})],
    ids=lambda value: getattr(value, "name", ""),
)
async def test_secrets_stay_hidden(tmp_path: Path, tool: Tool, arguments: dict[str, Any]) -> None:
    write(tmp_path, FILES)
    (tmp_path / "innocent.txt").symlink_to(".env")
    text = (await call(tool, context(tmp_path), **arguments)).text
    assert "src/a.py" in text
    assert ".env.example" in text
    for hidden in ("KEY", ".env.local", "id_rsa", "innocent"):
        assert hidden not in text
    assert [line for line in text.split("\n") if line.partition(":")[0] == ".env"] == []


async def test_rules_of_the_tool_and_of_reading_both_count(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    rules = {"grep": {"*": "allow", "private/**": "deny"}, "read_file": {"*": "allow", "asked/**": "ask"}}
    text = (await call(grep.TOOL, context(tmp_path, **rules), pattern="needle")).text
    assert "src/a.py" in text
    assert "private" not in text
    assert "asked" not in text
    asked = await call(grep.TOOL, context(tmp_path, **rules), pattern="needle", path="asked")
    assert asked.text == "asked/c.py:1:needle asked"


async def test_a_folder_outside_that_was_allowed_once_is_shown(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    write(outside, FILES)
    text = (await call(grep.TOOL, context(tmp_path), pattern="needle", path=str(outside))).text
    assert f"{outside}/src/a.py:1:needle code" in text
    assert "KEY" not in text
