"""What another parser of shell finds in a line, ours must find too: a command it overlooks is not judged."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.permissions.shell import analyse

SHFMT = Path(sys.executable).with_name("shfmt")

pytestmark = pytest.mark.skipif(not SHFMT.exists(), reason="shfmt-py is not installed")

WORDS = st.sampled_from(
    ["a", "'b c'", '"d"', "e\\ f", "$'g'", "-x", "--y=z", "h''i", "'rm'", "\\k", '"l\'m"']
)
SIMPLE = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
LINES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" && ", "; ", " | ", " || ", " & ", "\n"]), inner).map("".join),
        inner.map(lambda text: f"( {text} )"),
        inner.map(lambda text: f"{{ {text}; }}"),
        inner.map(lambda text: f'echo "$( {text} )"'),
        inner.map(lambda text: f"if {text}; then {text}; fi"),
        inner.map(lambda text: f"while {text}; do {text}; done"),
        inner.map(lambda text: f"{text} > out"),
        inner.map(lambda text: f"{text} 2>&1"),
        inner.map(lambda text: f"> out {text}"),
        inner.map(lambda text: f"cat <<'END'\n$(no {text.splitlines()[0]})\nEND\n{text}"),
        inner.map(lambda text: f"{text} # rm x\n{text}"),
        inner.map(lambda text: f"! {text}"),
    ),
    max_leaves=5,
)


def _parsed(text: str) -> Any:
    done = subprocess.run(
        [SHFMT, "--to-json", "-ln", "bash"], input=text.encode(), capture_output=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else None


def _calls(tree: Any) -> Iterator[tuple[str, ...]]:
    """The words of every simple command whose words are plain."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            todo.extend(node.values())
            if node.get("Type") == "CallExpr" and node.get("Args"):
                words = [_value(part for part in each["Parts"]) for each in node["Args"]]
                if None not in words:
                    yield tuple(word for word in words if word is not None)


def _value(parts: Iterator[Any]) -> str | None:
    text = ""
    for part in parts:
        kind = part["Type"]
        if kind == "SglQuoted":
            text += part.get("Value", "")
        elif kind == "DblQuoted":
            inner = _value(iter(part.get("Parts", [])))
            if inner is None:
                return None
            text += inner
        elif kind == "Lit":
            text += re.sub(r"\\(.)", r"\1", part["Value"])
        else:
            return None
    return text


@settings(max_examples=150)
@given(LINES)
def test_every_command_that_shfmt_sees_is_seen(line: str) -> None:
    tree = _parsed(line)
    ours = analyse(line, frozenset({"/ws"}))
    if tree is None or ours.problems:
        return
    found = {tuple(word.text for word in command.words) for command in ours.commands}
    missing = set(_calls(tree)) - found
    assert not missing, (line, found)


def test_the_oracle_sees_commands() -> None:
    assert set(_calls(_parsed("a 'b c' && (d; e)"))) == {("a", "b c"), ("d",), ("e",)}
