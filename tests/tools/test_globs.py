"""If these fail, files that a pattern names are missed, or a pattern hangs the server."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.errors import ToolError
from magent_lsp.tools.globs import matcher


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.pyi"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("./src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("src/**", ["src/a", "src/x/y"], ["x/src/a"]),
        ("src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["a.ts"]),
        ("**/test/**/*.c", ["test/a.c", "x/test/y/a.c"], ["tests/a.c"]),
        ("**", ["a", "x/y"], []),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.js", "a.{ts,tsx}"]),
        ("{src,lib/x}/*.{c,h}", ["src/a.c", "lib/x/a.h"], ["lib/a.c"]),
        ("{a,b{c,d}}.txt", ["a.txt", "bc.txt", "bd.txt"], ["b.txt"]),
        ("a{b.txt", ["a{b.txt"], ["ab.txt"]),
        ("?.py", ["a.py", "é.py"], ["ab.py", ".py"]),
        ("[ab].py", ["a.py"], ["c.py", "[ab].py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("[^ab].py", ["c.py", "^.py"], ["a.py"]),
        (r"\[x\].py", ["[x].py"], ["x.py"]),
        ("!*.py", ["a.js"], ["a.py"]),
        ("README", ["README", "x/README"], ["README.md", "readme"]),
        ("a b.txt", ["a b.txt"], ["ab.txt"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], other: list[str]) -> None:
    matches = matcher(pattern)
    assert [path for path in matching if not matches(path)] == []
    assert [path for path in other if matches(path)] == []


@pytest.mark.parametrize("pattern", ["", "/", "../*.py", "a/../../b", "{a,b}" * 9])
def test_patterns_that_cannot_be_meant(pattern: str) -> None:
    with pytest.raises(ToolError):
        matcher(pattern)


@pytest.mark.parametrize("pattern", ["*a" * 60 + "*b", "**/a*" * 30 + "/**/b", "?*" * 50 + "x"])
def test_no_pattern_takes_long(pattern: str) -> None:
    matches = matcher(pattern)
    start = time.process_time()
    assert not matches("/".join(["a" * 200] * 20))
    assert time.process_time() - start < 0.5


@given(st.lists(st.text("ab.", min_size=1), min_size=1, max_size=4))
def test_a_path_matches_itself_and_below_any_folder(names: list[str]) -> None:
    path = "/".join(names)
    if ".." not in names and path.strip("./"):
        assert matcher("/" + path)(path)
        assert matcher("**/" + path)(f"x/y/{path}")
