"""Path patterns, links and folders: a mistake here opens a file that a person closed."""

from dataclasses import replace
from pathlib import Path

import pytest

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.paths import compile_segment, name_matches, names_meet
from tests.support.permissions import FIXTURE, layer, path, place, policy

PATTERNS: list[tuple[str, str, bool]] = [
    ("*", "a", True),
    ("*", "/etc/passwd", True),
    ("**", "a/b/c", True),
    ("*.py", "a.py", True),
    ("*.py", "src/deep/a.py", True),
    ("*.py", "a.pyc", False),
    ("a.py", "src/a.py", True),
    ("src", "src/a.py", True),
    ("src", "lib/src/a.py", True),
    ("src", "src-evil/a.py", False),
    ("src", "source", False),
    ("src/", "src/a.py", True),
    ("src/", "src", True),
    ("src/*", "src/a.py", True),
    ("src/*", "src/sub/a.py", True),
    ("src/*", "lib/src/a.py", False),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/sub/a.py", False),
    ("src/**", "src", True),
    ("src/**", "src/a/b/c", True),
    ("src/**", "srcs/a", False),
    ("src/**/test", "src/test", True),
    ("src/**/test", "src/a/b/test", True),
    ("src/**/test", "src/a/b/test/x", True),
    ("src/**/test", "src/a/b", False),
    ("**/test", "test", True),
    ("**/test", "a/b/test", True),
    ("./src", "src/a", True),
    ("./src", "lib/src/a", False),
    ("./a.py", "a.py", True),
    ("./a.py", "src/a.py", False),
    ("/ws/src", "src/a", True),
    ("/ws/src/**", "src/a", True),
    ("/src", "src/a", False),
    ("/etc/*", "/etc/passwd", True),
    ("/etc/*", "/etc-evil/passwd", False),
    ("/etc", "/etc/ssl/x", True),
    ("~/x", "~/x", True),
    ("~/x", "/home/u/x", True),
    ("~/x/**", "/home/u/x/y/z", True),
    ("~/x", "x", False),
    ("~/.ssh/**", "../home/u/.ssh/id", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[ab].py", "a.py", True),
    ("[ab].py", "c.py", False),
    ("[!ab].py", "c.py", True),
    ("[^ab].py", "a.py", False),
    ("[a-c].py", "b.py", True),
    ("[a-c].py", "d.py", False),
    ("[]].py", "].py", True),
    ("[a", "[a", True),
    ("\\*.py", "*.py", True),
    ("\\*.py", "a.py", False),
    ("a*b*c", "axxbyyc", True),
    ("a*b*c", "axxbyy", False),
    ("*a*", "bab", True),
    (".env", ".env", True),
    (".env", "sub/.env", True),
    (".env", ".env.local", False),
    (".env", "x.env", False),
    (".env.*", ".env.local", True),
    (".env", ".ENV", True),
    ("SECRET", "secret", True),
    ("é", "e\u0301", True),
    ("STRASSE", "straße", True),
    ("src//a", "src/a", True),
    ("src/./a", "src/a", True),
    ("a b", "a b", True),
]


@pytest.mark.parametrize(("pattern", "value", "matches"), PATTERNS)
def test_a_deny_covers_what_its_pattern_says(pattern: str, value: str, matches: bool) -> None:
    rules = policy({"read_file": {"*": "allow", "/**": "allow", pattern: "deny"}}, defaults=False)
    verdict = path("read_file", value, rules).verdict
    assert (verdict == "deny") is matches or pattern in ("*", "**")


WHERE: list[tuple[str, str, Verdict]] = [
    ("read_file", "a.py", "allow"),
    ("read_file", "./src/../src/a.py", "allow"),
    ("read_file", "/ws/src/a.py", "allow"),
    ("read_file", "/ws/../ws/a.py", "allow"),
    ("read_file", ".", "allow"),
    ("read_file", "/ws", "allow"),
    ("read_file", "../x", "ask"),
    ("read_file", "..", "ask"),
    ("read_file", "/", "ask"),
    ("read_file", "/ws-evil/f", "ask"),
    ("read_file", "/wsx", "ask"),
    ("read_file", "/w", "ask"),
    ("read_file", "~/x", "ask"),
    ("read_file", "~", "ask"),
    ("read_file", "src/../../x", "ask"),
    ("read_file", "passwd-link", "ask"),
    ("read_file", "env-link", "deny"),
    ("read_file", "out/new", "ask"),
    ("read_file", "out/../x", "ask"),
    ("read_file", "in/a.py", "allow"),
    ("read_file", "loop/x", "ask"),
    ("read_file", ".env", "deny"),
    ("read_file", "sub/.Env", "deny"),
    ("read_file", "../ws/.env", "deny"),
    ("read_file", "/other/.env", "deny"),
    ("read_file", "", "deny"),
    ("read_file", "a\0b", "deny"),
    ("read_file", "a" * 40_000, "deny"),
    ("edit_file", "a.py", "allow"),
    ("edit_file", "env-link", "deny"),
    ("write_file", "out/new", "ask"),
    ("write_file", "../x", "ask"),
    ("grep", ".env", "deny"),
    ("grep", "src", "allow"),
    ("list_dir", "src", "allow"),
    ("list_dir", "/etc", "ask"),
    ("glob", "..", "ask"),
]


@pytest.mark.parametrize(("tool", "value", "verdict"), WHERE)
def test_a_path_is_judged_by_where_it_really_leads(tool: str, value: str, verdict: Verdict) -> None:
    links = {
        "/ws/passwd-link": "/etc/passwd",
        "/ws/env-link": "/ws/.env",
        "/ws/out": "/outside",
        "/ws/in": "/ws/src",
        "/ws/loop": "loop",
    }
    decision = path(tool, value, where=place(links=links))
    assert decision.verdict == verdict, decision.explain()


PROTECTED = [
    ".git/hooks/pre-commit",
    ".git",
    "sub/.git/config",
    ".GIT/config",
    ".Git/x",
    ".git./x",
    ".git /x",
    "git~1/config",
    ".g\u200cit/config",
    ".git:stream",
    ".gitmodules",
    "sub/.gitmodules",
    ".vscode/tasks.json",
    ".VSCode/settings.json",
    ".idea/x",
    ".husky/pre-commit",
    ".devcontainer/devcontainer.json",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pre-commit-config.yaml",
    ".mcp.json",
    ".claude/settings.json",
    ".opencode/x",
    ".agents/x",
    ".magent/agent/x.md",
    ".magent/config.yaml",
    ".magent/plans",
    ".magent/plans/../config.yaml",
    ".magent/plansx/a",
    "sub/.magent/x",
    ".bashrc",
    ".zshrc",
    ".profile",
    "hooks-link",
    "src/../.git/config",
]


@pytest.mark.parametrize("value", PROTECTED)
@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
def test_files_that_decide_what_runs_are_always_asked(tool: str, value: str) -> None:
    named = {} if ".." in value else {f"./{value}": "allow"}
    rules = policy({tool: {"*": "allow", **named}}, layer("grant", {tool: "allow"}))
    decision = path(tool, value, rules, place(links={"/ws/hooks-link": "/ws/.git/hooks"}))
    assert decision.verdict == "ask", decision.explain()
    assert decision.protected
    assert decision.grants == ()
    assert not decision.always


@pytest.mark.parametrize(
    "value", [".magent/plans/a.md", ".magent/plans/x/b.md", ".github/x", "git/x", ".gitignore", "x.git"]
)
def test_neighbours_of_protected_files_are_ordinary(value: str) -> None:
    assert path("edit_file", value).verdict == "allow"


def test_our_own_files_are_always_asked() -> None:
    where = place(own=("/home/u/.config/magent", "/ws/state"))
    rules = policy({"write_file": {"*": "allow", "~/.config/**": "allow"}})
    for value in ("~/.config/magent/config.yaml", "state/trust/x", "/ws/STATE/x"):
        decision = path("write_file", value, rules, where)
        assert (decision.verdict, decision.protected) == ("ask", True), value


def test_an_explicit_allow_on_the_command_line_opens_a_protected_file() -> None:
    given = {"write_file": {".vscode/**": "allow"}}
    rules = policy(FIXTURE, layer("environment", given), allow=given)
    decision = path("write_file", ".vscode/tasks.json", rules)
    assert (decision.verdict, decision.protected) == ("allow", False)
    assert path("write_file", ".git/config", rules).protected
    assert path("edit_file", ".vscode/tasks.json", rules).protected


def test_a_workspace_opened_through_a_link_is_the_workspace() -> None:
    where = place("/link", links={"/link": "/data/ws"})
    for value in ("a.py", "/link/a.py", "/data/ws/a.py", "./src/../src/a.py"):
        assert path("read_file", value, where=where).verdict == "allow", value
    assert path("read_file", "/data/ws/.env", where=where).verdict == "deny"
    assert path("read_file", "/data/other", where=where).verdict == "ask"
    closed = policy({"read_file": {"*": "allow", "/link/secret/**": "deny"}})
    assert path("read_file", "secret/x", closed, where).verdict == "deny"
    assert path("read_file", "/data/ws/secret/x", closed, where).verdict == "deny"


def test_a_folder_apart_is_outside_and_what_is_opened_in_it_is_not() -> None:
    where = place("/ws", "/ws/apart/deep", links={"/ws/link": "/ws/apart"})
    where = replace(where, apart=(Path("/ws/apart"),))
    for value, verdict in (
        ("a.py", "allow"),
        ("apart.py", "allow"),
        ("apart", "ask"),
        ("apart/c.py", "ask"),
        ("x/../apart/c.py", "ask"),
        ("link/c.py", "ask"),
        ("apart/deep/d.py", "allow"),
        ("Apart/c.py", "allow"),
    ):
        assert path("read_file", value, where=where).verdict == verdict, value
    folding = replace(where, case_insensitive=True)
    assert path("read_file", "Apart/c.py", where=folding).verdict == "ask"


def test_several_folders_are_all_inside() -> None:
    where = place("/a/x", "/b", links={"/b": "/data/b"})
    for value in ("f", "/a/x/f", "/b/f", "/data/b/f"):
        assert path("read_file", value, where=where).verdict == "allow", value
    for value in ("/a/xy/f", "/a/f", "/data/bb/f", "/bb"):
        assert path("read_file", value, where=where).verdict == "ask", value
    anchored = policy({"read_file": {"*": "allow", "src/**": "deny"}})
    assert path("read_file", "/b/src/f", anchored, where).verdict == "deny"


@pytest.mark.parametrize(
    ("name", "permission", "verdict"),
    [
        ("user", {"read_file": {"/etc/hosts": "allow"}}, "allow"),
        ("user", {"read_file": {"/etc/**": "allow"}}, "allow"),
        ("client", {"read_file": {"/etc/hosts": "allow"}}, "allow"),
        ("environment", {"read_file": {"/etc/hosts": "allow"}}, "allow"),
        ("grant", {"read_file": {"/etc/hosts": "allow"}}, "allow"),
        ("user", {"read_file": "allow"}, "ask"),
        ("user", {"read_file": {"hosts": "allow"}}, "ask"),
        ("user", {"read_file": {"**/hosts": "allow"}}, "ask"),
        ("user", {"read_file": {"/etc/passwd": "allow"}}, "ask"),
        ("user", {"read_file": {"/etc/hosts": "deny"}}, "deny"),
        ("project", {"read_file": {"/etc/hosts": "allow"}}, "ask"),
        ("agent", {"read_file": {"/etc/hosts": "allow"}}, "ask"),
    ],
)
def test_outside_only_the_person_opens_and_only_by_a_whole_path(
    name: str, permission: object, verdict: Verdict
) -> None:
    rules = policy(None, layer(name, permission))  # type: ignore[arg-type]
    assert path("read_file", "/etc/hosts", rules).verdict == verdict


def test_a_link_leaves_only_where_both_ends_are_allowed() -> None:
    where = place(links={"/ws/link": "/etc/hosts"})
    rules = policy({"read_file": {"/etc/hosts": "allow", "link": "ask"}})
    assert path("read_file", "link", rules, where).verdict == "ask"
    assert path("read_file", "link", policy({"read_file": {"/etc/hosts": "allow"}}), where).verdict == "allow"
    assert path("read_file", "link", policy({"read_file": {"link": "allow"}}), where).verdict == "ask"


def test_case_counts_for_an_allow_unless_the_disk_ignores_it() -> None:
    rules = policy({"edit_file": {"*": "ask", "src/**": "allow"}})
    assert path("edit_file", "SRC/a", rules).verdict == "ask"
    assert path("edit_file", "SRC/a", rules, place(case_insensitive=True)).verdict == "allow"


def test_a_file_named_like_an_allowed_folder_is_not_it() -> None:
    rules = policy({"write_file": {"*": "ask", "gen/": "allow"}})
    assert path("write_file", "gen/x", rules).verdict == "allow"
    assert path("write_file", "gen", rules).verdict == "ask"


@pytest.mark.parametrize(
    ("pattern", "glob", "meet"),
    [
        ("*.pem", "*", True),
        ("*.pem", "*.py", False),
        ("*.pem", "a*", True),
        ("*.pem", "a.p?m", True),
        (".env", "*", False),
        (".env", ".*", True),
        (".env", "?env", False),
        ("a[bc]d", "a?d", True),
        ("a[bc]d", "aed", False),
        ("ab*", "*ba", True),
        ("id_rsa", "id_*", True),
    ],
)
def test_a_wildcard_that_may_reach_a_denied_name_is_seen(pattern: str, glob: str, meet: bool) -> None:
    assert names_meet(compile_segment(pattern), compile_segment(glob), dots=False) is meet


def test_many_stars_take_no_time() -> None:
    segment = compile_segment("*a" * 100 + "b")
    assert not name_matches(segment, "a" * 2_000)
