"""A run started on a selection must leave the rest of a person's work alone."""

from pathlib import Path

import pytest

from magent_lsp.core.document import Position, Span
from magent_lsp.core.edits import CreateFile, DeleteFile, FileEdit, Replacement, TextEdits
from magent_lsp.core.request import Scope
from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.scope import scope_allows, scope_problem
from tests.support.permissions import FIXTURE, bash, named, path, place, policy

FILE = Path("/ws/src/a.py")
TEXT = "one\ntwo\nthree\nfour"


def _span(first: int, last: int, column: int = 0) -> Span:
    return Span(Position(first, 0), Position(last, column))


@pytest.mark.parametrize(
    ("scope", "value", "verdict"),
    [
        (Scope(kind="buffer", path=FILE), "src/a.py", "allow"),
        (Scope(kind="buffer", path=FILE), "./src/../src/a.py", "allow"),
        (Scope(kind="buffer", path=FILE), "src/b.py", "deny"),
        (Scope(kind="buffer", path=FILE), "src/a.pyc", "deny"),
        (Scope(kind="buffer", path=FILE), "alias.py", "deny"),
        (Scope(kind="line", path=FILE), "src/a.py", "allow"),
        (Scope(kind="region", path=FILE), "b.py", "deny"),
        (Scope(kind="directory", path=Path("/ws/src")), "src/sub/b.py", "allow"),
        (Scope(kind="directory", path=Path("/ws/src")), "srcs/b.py", "deny"),
        (Scope(kind="directory", path=Path("/ws/src")), "src/../b.py", "deny"),
        (Scope(kind="directory", path=Path("/ws/src")), "src/out/x", "deny"),
        (Scope(kind="project"), "src/b.py", "allow"),
        (Scope(kind="project"), "../b.py", "deny"),
    ],
)
def test_files_outside_the_scope_are_denied_before_anything_is_asked(
    scope: Scope, value: str, verdict: Verdict
) -> None:
    where = place(links={"/ws/src/out": "/ws/lib", "/ws/alias.py": "/ws/lib/x.py"})
    rules = policy(FIXTURE, scope=scope)
    assert path("edit_file", value, rules, where).verdict == verdict
    assert path("write_file", value, rules, where).verdict == verdict
    assert scope_allows(scope, Path("/ws") / value, where) is (verdict == "allow")


def test_reading_is_not_bound_by_the_scope() -> None:
    rules = policy(FIXTURE, scope=Scope(kind="buffer", path=FILE))
    assert path("read_file", "lib/b.py", rules).verdict == "allow"
    assert bash("cat lib/b.py", rules).verdict == "allow"


@pytest.mark.parametrize("command", ["echo a > src/a.py", "make", "ls > x", "$X", "((", "FOO=1 ls", "rm x"])
def test_a_scoped_run_writes_nothing_by_commands(command: str) -> None:
    rules = policy({"bash": "allow", "edit": "allow"}, scope=Scope(kind="directory", path=Path("/ws")))
    assert bash(command, rules).verdict == "deny"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("git status", "allow"),
        ("make", "ask"),
        ("echo a > src/a.py", "ask"),
        ("rm x", "deny"),
        ("echo a > ../x", "deny"),
        ("make; tee /tmp/x < src/a.py", "deny"),
    ],
)
def test_commands_for_the_whole_project_follow_the_usual_rules_and_stay_in_it(
    command: str, verdict: Verdict
) -> None:
    rules = {"bash": {"*": "ask", "git status *": "allow", "rm *": "deny", "echo *": "allow"}}
    assert bash(command, policy(rules, scope=Scope(kind="project"))).verdict == verdict


def test_a_scoped_run_runs_no_code_in_the_editor() -> None:
    assert named("editor_eval", "", policy(scope=Scope(kind="buffer", path=FILE))).verdict == "deny"
    assert named("editor_eval", "", policy(scope=Scope(kind="project"))).verdict == "ask"


def _edit(*replacements: tuple[int, int, str], text: str = TEXT) -> TextEdits:
    after, at = "", 0
    for start, end, new in replacements:
        after += text[at:start] + new
        at = end
    made = tuple(Replacement(*each) for each in replacements)
    return TextEdits(path=FILE, replacements=made, before=text, after=after + text[at:])


@pytest.mark.parametrize(
    ("span", "edit", "stays"),
    [
        (_span(1, 1), _edit((4, 7, "TWO")), True),
        (_span(1, 1), _edit((4, 8, "TWO\nmore\n")), True),
        (_span(1, 1), _edit((4, 8, "")), True),
        (_span(1, 1), _edit((4, 4, "new ")), True),
        (_span(1, 1), _edit((0, 3, "ONE")), False),
        (_span(1, 1), _edit((3, 4, "")), False),
        (_span(1, 1), _edit((8, 13, "THREE")), False),
        (_span(1, 1), _edit((7, 8, "")), False),
        (_span(1, 1), _edit((4, 7, "TWO"), (8, 9, "T")), False),
        (_span(1, 2, 5), _edit((4, 13, "x")), True),
        (_span(1, 2, 5), _edit((4, 14, "x\n")), True),
        (_span(1, 2), _edit((8, 13, "x")), False),
        (_span(1, 2, 5), _edit((8, 13, "x")), True),
        (_span(3, 3), _edit((14, 18, "FOUR\nfive")), True),
        (_span(3, 3), _edit((18, 18, " and more")), True),
        (_span(9, 9), _edit((0, 3, "ONE")), False),
    ],
)
def test_an_edit_keeps_to_the_lines_of_its_scope(span: Span, edit: TextEdits, stays: bool) -> None:
    scope = Scope(kind="region", path=FILE, span=span)
    assert (scope_problem(scope, edit, place()) is None) is stays


@pytest.mark.parametrize(
    "edit", [CreateFile(path=FILE, text="x"), DeleteFile(path=FILE, before=TEXT), _edit((0, 3, "ONE"))]
)
def test_only_text_edits_fit_a_region(edit: FileEdit) -> None:
    scope = Scope(kind="line", path=FILE, span=_span(1, 1))
    assert scope_problem(scope, edit, place())
    assert scope_problem(None, edit, place()) is None
    assert scope_problem(Scope(kind="buffer", path=Path("/ws/b.py")), edit, place())
