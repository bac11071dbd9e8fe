"""The guide's examples are read, and its words are true."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from magent_lsp.engine.outside import MOST
from magent_lsp.mcp.entry import Entry, expanded, read_entry
from magent_lsp.mcp.load import INSTALL
from magent_lsp.permissions.rules import Source, parse_permission
from magent_lsp.store.config import load_settings
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.keys import MCP_SERVER

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "mcp.md").read_text(encoding="utf-8")


def example(name: str) -> Any:
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)\n```", PAGE, re.DOTALL)
    assert match
    return yaml.safe_load(match[1])


def test_the_example_servers(tmp_path: Path) -> None:
    loaded = load_settings(
        dirs=Dirs.under(tmp_path), folder=None, trusted=True, client=example("config"), environ={}
    )
    assert loaded.problems == ()
    entries = {name: read_entry(name, value) for name, value in loaded.settings.mcp_servers.items()}
    assert entries["files"].command == "npx"
    assert expanded(entries["tickets"], {"TICKETS_TOKEN": "x"}).headers == {"Authorization": "Bearer x"}


def test_the_example_rules() -> None:
    rules, problems = parse_permission(example("permission")["permission"], Source(name="guide"))
    assert problems == ()
    assert [rule.verdict for rule in rules] == ["deny", "ask"]


def test_the_numbers_are_those_of_the_code() -> None:
    assert INSTALL.split("`")[1] in PAGE
    assert f"holds {MOST} of them" in PAGE
    assert f"take {Entry.timeout:g} seconds" in PAGE
    assert f"{Entry.patience:g} seconds at most (`startTimeout`)" in PAGE


@pytest.mark.parametrize("key", [key.name for key in MCP_SERVER])
def test_every_key_is_read(key: str) -> None:
    values = {"args": ["a"], "env": {"A": "b"}, "headers": {"A": "b"}, "timeout": 3, "startTimeout": 3}
    value: Any = {
        **values,
        "disabled": True,
        "command": "x",
        "url": "http://x",
        "cwd": "sub",
        "type": "http",
    }[key]
    plain = read_entry("s", {"url": "http://y"} if key in ("url", "headers", "type") else {"command": "y"})
    other = {"url": "http://y"} if key in ("url", "headers", "type") else {"command": "y"}
    changed = read_entry("s", {**other, key: value})
    assert key == "type" or changed != plain
