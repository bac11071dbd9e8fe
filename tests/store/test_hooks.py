"""Hooks in both forms are read, and one that cannot be read is never taken for another."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.store.data import parse_yaml
from magent_lsp.store.hooks import DEFAULT_TIMEOUT, EVENTS, Hook, parse_hooks


def test_our_flat_form_and_claudes_nested_one() -> None:
    text = """\
hooks:
  PreToolUse:
    - matcher: Bash|edit_file
      command: guard
      timeout: 5
      failClosed: true
    - matcher: "*"
      hooks:
        - type: command
          command: first
        - type: command
          command: second
          timeout: 9999
  Stop:
    - command: bye
"""
    data = parse_yaml(text)
    hooks, problems = parse_hooks(data.value["hooks"], Path("c.yaml"), data)
    assert problems == ()
    assert hooks[0] == Hook(
        event="PreToolUse",
        command="guard",
        matcher="Bash|edit_file",
        timeout=5,
        fail_closed=True,
        path=Path("c.yaml"),
        line=3,
    )
    assert [(h.event, h.command, h.matcher, h.timeout, h.line) for h in hooks[1:]] == [
        ("PreToolUse", "first", "", DEFAULT_TIMEOUT, 9),
        ("PreToolUse", "second", "", 600, 11),
        ("Stop", "bye", "", DEFAULT_TIMEOUT, 15),
    ]


@pytest.mark.parametrize(
    ("matcher", "tool", "matches"),
    [
        ("", "bash", True),
        ("*", "bash", True),
        ("bash", "bash", True),
        ("Bash", "bash", True),
        ("ba", "bash", False),
        ("Write|Edit", "edit_file", True),
        ("MultiEdit", "edit_file", True),
        ("Write|Edit", "write_file", True),
        ("Task", "delegate", True),
        ("mcp__.*", "mcp__db__query", True),
        ("mcp__db", "mcp__db__query", False),
        ("(?i)READ_FILE", "read_file", True),
    ],
)
def test_a_matcher_takes_the_whole_name_by_ours_or_claudes(matcher: str, tool: str, matches: bool) -> None:
    ((hook,), _) = parse_hooks({"PreToolUse": [{"matcher": matcher, "command": "x"}]})
    assert hook.matches(tool) is matches


@pytest.mark.parametrize(
    ("value", "count", "words"),
    [
        ([], 0, "mapping"),
        ({"preToolUse": [{"command": "x"}]}, 0, "did you mean 'PreToolUse'"),
        ({"Stop": {"command": "x"}}, 0, "list"),
        ({"Stop": ["x"]}, 0, "mapping"),
        ({"Stop": [{}]}, 0, "command"),
        ({"Stop": [{"command": " "}]}, 0, "command"),
        ({"Stop": [{"command": "x", "matcher": "("}]}, 0, "regular expression"),
        ({"Stop": [{"command": "x", "matcher": 5}]}, 0, "regular expression"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, 0, "not supported"),
        ({"Stop": [{"hooks": {"command": "x"}}]}, 0, "list"),
        ({"Stop": [{"command": "x", "timeout": -1}]}, 1, "seconds"),
        ({"Stop": [{"command": "x", "failClosed": "yes"}]}, 1, "true is used"),
        ({"Stop": [{"command": "x", "colour": 1}]}, 1, "no 'colour'"),
    ],
)
def test_what_is_wrong_is_told(value: Any, count: int, words: str) -> None:
    hooks, problems = parse_hooks(value)
    assert len(hooks) == count
    assert any(words in problem.message for problem in problems)


def test_a_bad_fail_closed_fails_closed() -> None:
    ((hook,), _) = parse_hooks({"Stop": [{"command": "x", "failClosed": "yes", "timeout": "soon"}]})
    assert (hook.fail_closed, hook.timeout) == (True, DEFAULT_TIMEOUT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["hooks", "matcher", "command", "type"]) | st.text(), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(EVENTS), JSON, max_size=3))
def test_no_shape_crashes_the_parser(value: dict[str, Any]) -> None:
    hooks, _ = parse_hooks(value)
    assert all(hook.command.strip() for hook in hooks)
