"""What was allowed for good is kept, can be taken back, and a damaged file allows nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from magent_lsp.core.errors import ConfigError, UnknownId
from magent_lsp.permissions.rules import Rule, Source
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.grants import GrantStore

Put = Callable[[Path, str | bytes], Path]


def rule(pattern: str, tool: str = "bash", verdict: str = "allow") -> Rule:
    return Rule(tool=tool, pattern=pattern, verdict=verdict, source=Source(name="x"))  # type: ignore[arg-type]


def test_grants_are_kept_listed_and_taken_back(dirs: Dirs) -> None:
    store = GrantStore(dirs)
    assert store.load().rules == ()
    first = store.add((rule("git status *"), rule("make *")), "git status && make")
    second = store.add([rule("src/**", "edit_file")], "edit src/a.py")
    assert (first.id, second.id) == ("1", "2")
    again = GrantStore(dirs)
    assert [(g.id, g.reason, [r.pattern for r in g.rules]) for g in again.list()] == [
        ("1", "git status && make", ["git status *", "make *"]),
        ("2", "edit src/a.py", ["src/**"]),
    ]
    layer = again.load()
    assert (layer.name, [r.source.name for r in layer.rules]) == ("grant", ["grant 1", "grant 1", "grant 2"])
    assert again.list()[0].when.endswith("+00:00")
    assert again.revoke("1").id == "1"
    assert [g.id for g in store.list()] == ["2"]
    with pytest.raises(UnknownId, match="'1'"):
        store.revoke("1")
    store.revoke("2")
    assert store.load().rules == ()
    assert store.add([rule("x")], "y").id == "1"


def test_a_grant_only_allows(dirs: Dirs) -> None:
    GrantStore(dirs).add([rule("a"), rule("b", verdict="deny"), rule("c", verdict="ask")], "x")
    assert [r.pattern for r in GrantStore(dirs).load().rules] == ["a"]


@pytest.mark.parametrize("content", [b"- id: [", b"a: b", b"\xff", b"- id: 1\n\trules: []", b"x" * 1_000_001])
def test_a_damaged_file_grants_nothing_and_is_left_alone(dirs: Dirs, put: Put, content: bytes) -> None:
    path = put(dirs.user / "grants.yaml", content)
    store = GrantStore(dirs)
    assert store.load().rules == ()
    ((problem,), grants) = store.read()[1], store.read()[0]
    assert (problem.path, grants) == (path, ())
    with pytest.raises(ConfigError):
        store.add([rule("a")], "x")
    with pytest.raises(ConfigError):
        store.revoke("1")
    assert path.read_bytes() == content


def test_one_bad_entry_does_not_spoil_the_others(dirs: Dirs, put: Put) -> None:
    text = """\
- id: 1
  for: fine
  rules:
    - {tool: bash, pattern: "make *"}
    - {tool: bash, pattern: "rm *", verdict: nope}
    - {pattern: x}
- just text
- id: 3
"""
    put(dirs.user / "grants.yaml", text)
    grants, problems = GrantStore(dirs).read()
    assert [[(r.pattern, r.verdict) for r in grant.rules] for grant in grants] == [
        [("make *", "allow"), ("rm *", "deny")]
    ]
    assert [problem.line for problem in problems] == [5, 6, 7, 8]


def test_the_file_is_for_the_user_alone(dirs: Dirs) -> None:
    GrantStore(dirs).add([rule("a")], "x")
    assert (dirs.user / "grants.yaml").stat().st_mode & 0o077 == 0


def test_servers_at_the_same_time_lose_no_grant(dirs: Dirs) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: GrantStore(dirs).add([rule(str(number))], "x"), range(40)))
    assert len({grant.id for grant in GrantStore(dirs).list()}) == 40
