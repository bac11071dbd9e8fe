"""An answer as it is shown: what was shown never changes, and says no more than the model did."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.events import EditRecord, Notice, RunFinished, TextDeltaEvent, ToolCallEvent
from magent_lsp.lsp.chat.answer import Answer
from magent_lsp.lsp.chat.document import parse
from magent_lsp.lsp.chat.fences import left_open

END = RunFinished(stop_reason="end_turn", text="")


def tool(name: str = "read_file", **more: Any) -> ToolCallEvent:
    fields: dict[str, Any] = {"kind": "read", "title": "Read a.py", "status": "completed", "paths": ("a.py",)}
    return ToolCallEvent(phase="finished", tool_call_id="1", name=name, **{**fields, **more})


def shown(*events: Any) -> str:
    answer = Answer()
    for event in events:
        answer.take(TextDeltaEvent(text=event) if isinstance(event, str) else event)
    return answer.text


def test_tools_are_short_lines_between_the_texts() -> None:
    run = tool(
        "bash", kind="execute", title="pytest\n-q", paths=(), output="a\nb\nc\n\nd\ne\n", status="completed"
    )
    bad = tool("edit_file", kind="edit", status="failed", output="not found\n" + "x" * 500)
    assert shown("Looking.", tool(), run, "\nDone.", bad, END) == (
        "Looking.\n\n> - tool: read_file a.py\n> - tool: bash `pytest -q`\n>   … 1 more lines\n>   b\n>   c\n"
        ">   d\n>   e\n\nDone.\n\n> - tool: edit_file a.py (failed)\n>   not found\n>   " + "x" * 119 + "…"
    )


@pytest.mark.parametrize(
    ("end", "note"),
    [
        (RunFinished(stop_reason="cancelled", text=""), "> - magent: cancelled"),
        (RunFinished(stop_reason="rejected", text=""), "> - magent: stopped: a permission was refused"),
        (RunFinished(stop_reason="error", text="", error="No\nkey."), "> - magent: No key."),
        (
            RunFinished(
                stop_reason="end_turn", text="", edits=(EditRecord(uri="f:///a.py", outcome="stale"),)
            ),
            "> - magent: 0 edits applied, 1 not (a.py: stale)",
        ),
    ],
)
def test_how_a_run_ended_is_said(end: RunFinished, note: str) -> None:
    assert shown("so far", end) == f"so far\n\n{note}"
    assert shown(end) == note


def test_code_that_was_left_open_is_ended() -> None:
    assert shown("```py\nx = 1", END) == "```py\nx = 1\n```"
    assert shown("~~~~\n```\n", tool(), "more", END) == "~~~~\n```\n~~~~\n\n> - tool: read_file a.py\n\nmore"


def test_warnings_are_shown_and_other_notices_not() -> None:
    assert shown(
        "a", Notice(level="info", message="Model: x"), Notice(level="warning", message="slow"), END
    ) == ("a\n\n> - magent: slow")


parts = st.sampled_from(
    [
        "## You",
        "## Magent",
        "\\## You",
        "> - tool: x",
        ">   body",
        "```",
        "~~~",
        "```py",
        "",
        "text",
        "> q",
        "   ",
    ]
)
answers = st.lists(parts, max_size=12).map("\n".join)


@given(answers, st.lists(st.integers(1, 9)), st.sampled_from(["\n", "\r\n"]))
def test_however_it_comes_it_reads_the_same(text: str, cuts: list[int], eol: str) -> None:
    whole = f"a {text}"
    answer, seen, at = Answer(), [""], 0
    sent = whole.replace("\n", eol)
    for size in [*cuts, len(sent)]:
        answer.take(TextDeltaEvent(text=sent[at : at + size]))
        seen.append(answer.text)
        at += size
    answer.take(END)
    seen.append(answer.text)
    for before, after in pairwise(seen):
        assert after.startswith(before)
    document = f"## You\n\nq\n\n## Magent\n\n{answer.text}\n\n## You\n\nnext"
    chat = parse(document)
    assert chat.message == "next"
    [turn] = chat.turns
    fence = left_open(whole)
    assert turn.answer == (f"{whole.rstrip()}\n{fence}" if fence else whole.strip())
