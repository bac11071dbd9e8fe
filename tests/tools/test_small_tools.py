"""Todo, skill, delegate and diagnostics: if these fail, plans, skills, subagents or problems get lost."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from magent_lsp.core.document import Position, Span
from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Diagnostic
from magent_lsp.core.session import Todo
from magent_lsp.core.tool import Subject, ToolResult, Verdict
from magent_lsp.tools import delegate, diagnostics, skill, todo
from tests.support.editor import MemoryEditor
from tests.support.tool_context import call, context_for, parse


def item(content: str = "step", status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status}


async def test_a_plan_is_set(tmp_path: Path) -> None:
    items = [item("one", "completed"), item(" two ", "in_progress"), item("three")]
    result = await call(todo.TOOL, context_for(tmp_path), items=items)
    assert result.todos == (
        Todo(content="one", status="completed"),
        Todo(content="two", status="in_progress"),
        Todo(content="three", status="pending"),
    )
    assert "1 of 3" in result.text
    assert (await call(todo.TOOL, context_for(tmp_path), items=[])).todos == ()


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([item()] * 21, "21 items are too many"),
        ([item("a", "in_progress"), item("b", "in_progress")], "only one may be"),
        ([item("  ")], "no content"),
    ],
)
async def test_plans_that_nobody_could_follow(
    tmp_path: Path, items: list[dict[str, str]], reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        await call(todo.TOOL, context_for(tmp_path), items=items)


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse(todo.TOOL, items=[item("a", "done")])


async def test_a_skill_is_loaded_by_name(tmp_path: Path) -> None:
    def load(name: str, arguments: str) -> ToolResult:
        return ToolResult(text=f"{name}: {arguments}", skill=(name, "body"))

    result = await call(skill.TOOL, context_for(tmp_path, load_skill=load), name="release", arguments="1.2")
    assert (result.text, result.skill) == ("release: 1.2", ("release", "body"))
    assert skill.TOOL.subjects(parse(skill.TOOL, name="x")) == (
        Subject(tool="skill", kind="name", value="x"),
    )
    with pytest.raises(ToolError):
        await call(skill.TOOL, context_for(tmp_path), name="release")


async def test_a_task_reaches_the_subagent(tmp_path: Path) -> None:
    async def run(agent: str, prompt: str, background: bool) -> ToolResult:
        return ToolResult(text=f"{agent} {prompt} {background}")

    context = context_for(tmp_path, delegate=run)
    result = await call(delegate.TOOL, context, agent="explore", prompt="look", background=True)
    assert result.text == "explore look True"
    input = parse(delegate.TOOL, agent="explore", prompt="look " * 50 + "\nmore")
    assert delegate.TOOL.subjects(input) == (Subject(tool="delegate", kind="name", value="explore"),)
    assert delegate.TOOL.title(input).startswith("Delegate to explore: look look")
    assert len(delegate.TOOL.title(input)) < 90
    assert delegate.TOOL.concurrent
    with pytest.raises(ToolError):
        await call(delegate.TOOL, context_for(tmp_path), agent="a", prompt="b")


def problem(path: Path, line: int, message: str, severity: str = "error") -> Diagnostic:
    span = Span(Position(line, 4), Position(line, 5))
    return Diagnostic(path=path, span=span, severity=severity, message=message, source="ruff", code="E1")  # type: ignore[arg-type]


async def test_problems_are_named_worst_first_where_they_are(tmp_path: Path) -> None:
    editor = MemoryEditor()
    editor.problems = [
        problem(tmp_path / "b.py", 0, "a\n  hint", "hint"),
        problem(tmp_path / "b.py", 9, "late"),
        problem(tmp_path / "a.py", 2, "early"),
    ]
    context = context_for(tmp_path, editor=editor)
    assert (await call(diagnostics.TOOL, context)).text == (
        "a.py:3:5: error: early [ruff E1]\nb.py:10:5: error: late [ruff E1]\nb.py:1:5: hint: a hint [ruff E1]"
    )
    assert (await call(diagnostics.TOOL, context, path="a.py")).text == "a.py:3:5: error: early [ruff E1]"
    assert "No problems" in (await call(diagnostics.TOOL, context, path="c.py")).text


async def test_problems_of_denied_files_stay_hidden_and_many_are_bounded(tmp_path: Path) -> None:
    def judge(subject: Subject) -> Verdict:
        return "deny" if subject.value.endswith(".env") else "allow"

    editor = MemoryEditor()
    editor.problems = [problem(tmp_path / ".env", 0, "KEY=1")]
    editor.problems += [problem(tmp_path / "a.py", line, "x") for line in range(150)]
    lines = (await call(diagnostics.TOOL, context_for(tmp_path, editor=editor, judge=judge))).text.split("\n")
    assert len(lines) == 101
    assert lines[-1] == "(50 more)"
    assert "KEY" not in "".join(lines)
    assert diagnostics.TOOL.subjects(parse(diagnostics.TOOL)) == ()
