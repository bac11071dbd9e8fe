"""The guide for other agents: its examples are read, and its words are true."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from magent_lsp.engine.guest import PATIENCE
from magent_lsp.headless.arguments import parser
from magent_lsp.mcp.load import INSTALL
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.agents import load_agents
from magent_lsp.store.config import load_settings
from magent_lsp.store.dirs import Dirs
from magent_lsp.tools.registry import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "other-agents.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    match = re.search(rf"<!-- example: {name} -->\n *```\w+\n(.*?)\n *```", PAGE, re.DOTALL)
    assert match
    return match[1]


def may_use(dirs: Dirs) -> set[str]:
    rules = load_agents(None, dirs, True).layers["guest"]
    policy = Policy(layers=(default_layer(), rules))
    return {tool.name for tool in TOOLS if offered(tool.name, policy)}


def test_the_setting(tmp_path: Path) -> None:
    client = yaml.safe_load(example("config"))
    loaded = load_settings(dirs=Dirs.under(tmp_path), folder=None, trusted=True, client=client, environ={})
    assert (loaded.problems, loaded.settings.serve_mcp) == ((), True)


def test_the_commands_are_there() -> None:
    entries: list[Any] = [
        json.loads(example("json"))["mcpServers"]["editor"],
        tomllib.loads(re.sub(r"(?m)^ +", "", example("toml")))["mcp_servers"]["editor"],
    ]
    for entry in entries:
        assert entry["command"] == "magent-lsp"
        assert parser().parse_args(entry["args"]).command == "mcp"
    assert "claude mcp add editor -- magent-lsp mcp\n" in PAGE
    assert INSTALL.split("`")[1] in PAGE


def test_the_table_of_tools_is_whole(tmp_path: Path) -> None:
    table = PAGE.split("<!-- guest tools -->")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[3:])))
    assert named == may_use(Dirs.under(tmp_path))


def test_the_example_of_an_agent(tmp_path: Path) -> None:
    dirs = Dirs.under(tmp_path)
    (dirs.user / "agents").mkdir(parents=True)
    (dirs.user / "agents/guest.md").write_text(example("agent"))
    registry = load_agents(None, dirs, True)
    assert registry.problems == ()
    assert registry.agents["guest"].prompt.strip().startswith("You can read in the user's editor.")
    assert may_use(dirs) == {
        *("read_file", "grep", "glob", "list_dir", "diagnostics", "open_buffers", "ask_user"),
    }


def test_the_seconds_are_those_of_the_code() -> None:
    assert f"it ends {PATIENCE:g} seconds" in PAGE
