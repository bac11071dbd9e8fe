"""What is known at a place of our own files comes from the same tables that the loaders read with."""

from typing import get_args

import pytest

from magent_lsp.core.config import Settings
from magent_lsp.engine.about import About
from magent_lsp.engine.summaries import SUMMARIES
from magent_lsp.lsp import ours
from magent_lsp.store import keys
from magent_lsp.store.agent_file import KEYS
from magent_lsp.store.commands import PROGRAM
from magent_lsp.store.hooks import HookEvent

CONFIG = """\
model: auto
bash:
  timeoutSeconds: 3
hooks:
  PreToolUse:
    - matcher: bash
      command: x
  Stop:
    - hooks:
        - type: command
permission:
  bash:
    "git *": allow
# a comment: here
edits:
"""


@pytest.mark.parametrize(
    ("line", "path", "key"),
    [
        (0, (), "model"),
        (1, (), "bash"),
        (2, ("bash",), "timeoutSeconds"),
        (4, ("hooks",), "PreToolUse"),
        (5, ("hooks", "PreToolUse"), "matcher"),
        (6, ("hooks", "PreToolUse"), "command"),
        (9, ("hooks", "Stop", "hooks"), "type"),
        (11, ("permission",), "bash"),
        (14, (), "edits"),
    ],
)
def test_where_a_line_is(line: int, path: tuple[str, ...], key: str) -> None:
    spot = ours.spot(CONFIG.splitlines()[: line + 1])
    assert (spot.path, spot.key) == (path, key)


@pytest.mark.parametrize(
    ("path", "some"),
    [
        ((), {"model", "hooks", "mcpServers"}),
        (("bash",), {"timeoutSeconds", "sandbox"}),
        (("hooks",), set(get_args(HookEvent))),
        (("hooks", "Stop"), {"matcher", "command", "failClosed"}),
        (("mcpServers", "git"), {"command", "url"}),
        (("permission",), {"bash", "*"}),
        (("no such thing",), set()),
    ],
)
def test_settings_below_a_path(path: tuple[str, ...], some: set[str]) -> None:
    assert some <= {key.name for key in ours.keys_at("config", path, ["bash"])}


def test_every_setting_is_explained_with_its_type() -> None:
    for key in ours.keys_at("config", ()):
        assert key.name in {field.alias for field in Settings.model_fields.values()}
        assert key.meaning
        assert key.type
        assert key.name in ours.markdown(key)


def test_every_key_of_front_matter_is_explained() -> None:
    for key in (*keys.AGENT, *keys.SKILL, *keys.COMMAND, *keys.HOOK, *keys.EVENT, *keys.MCP_SERVER):
        assert key.meaning.endswith(".")
        assert key.type
    assert set(KEYS.values()) == {key.name for key in keys.AGENT}
    assert [key.name for key in keys.EVENT] == [*get_args(HookEvent)]


def test_a_command_of_the_program_cannot_be_replaced_by_an_untrusted_project() -> None:
    assert {"compact", "summary", "context"} <= {name for name in dir(About) if not name.startswith("_")}
    assert set(SUMMARIES) == PROGRAM


def test_front_matter_ends_at_the_dashes() -> None:
    text = "---\nmode: all\n---\nmode: all\n"
    assert ours.yaml_lines("agent", text, 1) is not None
    assert ours.yaml_lines("agent", text, 3) is None
    assert ours.yaml_lines("agent", "mode: all\n", 0) is None
