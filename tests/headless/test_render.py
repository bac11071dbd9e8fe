"""Events must reach people as text and programs as JSON, in the shape of `magent/event`."""

import io
import json
from itertools import count

from magent_lsp.core.events import (
    EditApplied,
    Envelope,
    Notice,
    PermissionRequested,
    ReasoningDeltaEvent,
    RunEvent,
    RunFinished,
    RunStarted,
    TextDeltaEvent,
    TodoUpdated,
    ToolCallEvent,
)
from magent_lsp.core.messages import Usage
from magent_lsp.core.request import PermissionOption, PermissionRequest
from magent_lsp.core.session import Todo
from magent_lsp.headless.render import JsonLines, Text, describe_usage
from magent_lsp.headless.terminal import Terminal


class Streams:
    """Two pipes, and a sink that writes to them."""

    def __init__(self, *, json: bool = False, reasoning: bool = False) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        terminal = Terminal(out=self.out, err=self.err, stdin=io.StringIO(), environ={})
        self.sink = JsonLines(terminal) if json else Text(terminal, reasoning=reasoning)
        self._seq = count(1)

    def emit(self, *events: RunEvent, run_id: str = "run-1") -> None:
        for event in events:
            self.sink.emit(
                Envelope(
                    run_id=run_id,
                    session_id="s-1",
                    seq=next(self._seq),
                    time="2026-01-02T03:04:05.000Z",
                    event=event,
                )
            )


def tool(phase: str = "finished", **more: object) -> ToolCallEvent:
    values = {"name": "bash", "kind": "execute", "title": "Run ls", "status": "completed", **more}
    return ToolCallEvent(phase=phase, tool_call_id="c-1", **values)  # type: ignore[arg-type]


def test_one_object_a_line_shaped_as_the_parameters_of_magent_event() -> None:
    streams = Streams(json=True)
    streams.emit(TextDeltaEvent(text="ä\u2028\n"), RunFinished(stop_reason="end_turn", text="ä"))
    first, second = (json.loads(line) for line in streams.out.getvalue().splitlines())
    assert first == {
        "runId": "run-1",
        "sessionId": "s-1",
        "seq": 1,
        "time": "2026-01-02T03:04:05.000Z",
        "event": {"type": "text_delta", "text": "ä\u2028\n"},
    }
    assert second["event"]["stopReason"] == "end_turn"
    assert streams.err.getvalue() == ""


def test_only_the_answer_goes_to_stdout() -> None:
    streams = Streams()
    streams.emit(
        RunStarted(agent="build", model="m", prompt="p"),
        TextDeltaEvent(text="Hello "),
        TextDeltaEvent(text="there"),
        tool(output="a.py\nb.py"),
        Notice(level="warning", message="trying again"),
        TextDeltaEvent(text="bye"),
        RunFinished(stop_reason="end_turn", text="bye", usage=Usage(input_tokens=1200, output_tokens=3)),
    )
    assert streams.out.getvalue() == "Hello there\nbye\n"
    remarks = streams.err.getvalue()
    for part in ("build · m", "✓ Run ls", "    b.py", "warning: trying again", "1,200 tokens in", "s-1"):
        assert part in remarks


def test_an_answer_that_was_not_streamed_is_shown_at_the_end() -> None:
    streams = Streams()
    streams.emit(RunFinished(stop_reason="end_turn", text="the list"))
    assert streams.out.getvalue() == "the list\n"


def test_what_a_subagent_says_is_not_the_answer() -> None:
    streams = Streams()
    streams.emit(RunStarted(agent="build", model="m", prompt="p"), TextDeltaEvent(text="mine\n"))
    streams.emit(
        RunStarted(agent="explore", model="m", prompt="p", parent_run_id="run-1"),
        TextDeltaEvent(text="theirs\n"),
        RunFinished(stop_reason="end_turn", text="theirs\n"),
        run_id="run-2",
    )
    streams.emit(RunFinished(stop_reason="end_turn", text="mine\n"))
    assert streams.out.getvalue() == "mine\n"
    assert "explore: end_turn" in streams.err.getvalue()


def test_reasoning_is_shown_only_when_asked_for() -> None:
    for wanted in (False, True):
        streams = Streams(reasoning=wanted)
        streams.emit(ReasoningDeltaEvent(text="hm, "), ReasoningDeltaEvent(text="so"), tool())
        assert ("hm, so\n" in streams.err.getvalue()) is wanted
        assert streams.out.getvalue() == ""


def test_a_failed_call_shows_why_and_a_read_only_one_its_title() -> None:
    streams = Streams()
    streams.emit(
        tool(kind="read", title="Read a.py", output="1\tsecret text"),
        tool(kind="read", title="Read b.py", status="failed", output="there is no b.py"),
    )
    assert "✓ Read a.py\n✗ Read b.py\n    there is no b.py\n" in streams.err.getvalue()
    assert "secret text" not in streams.err.getvalue()


def test_long_output_keeps_its_end() -> None:
    streams = Streams()
    streams.emit(tool(output="\n".join(f"line {n}" for n in range(100))))
    assert "… 92 lines before" in streams.err.getvalue()
    assert "line 99" in streams.err.getvalue()
    assert "line 91\n" not in streams.err.getvalue()


def test_a_diff_is_shown_once_with_the_question_or_with_the_edit() -> None:
    edit = EditApplied(uri="file:///a.py", outcome="applied", diff="+new", tool_call_id="c-1")
    request = PermissionRequest(
        request_id="ask-1",
        run_id="run-1",
        session_id="s-1",
        tool_call_id="c-1",
        tool="edit_file",
        title="Edit a.py",
        reason="a rule",
        options=(PermissionOption(reply="reject", title="Reject"),),
        diff="+new",
    )
    asked, unasked = Streams(), Streams()
    asked.emit(PermissionRequested(request=request), edit)
    unasked.emit(edit)
    assert "+new" not in asked.err.getvalue()  # the question showed it
    assert "+new" in unasked.err.getvalue()


def test_an_edit_that_did_not_land_says_so() -> None:
    streams = Streams()
    streams.emit(EditApplied(uri="file:///a.py", outcome="stale"))
    assert "file:///a.py: stale" in streams.err.getvalue()


def test_todos_are_shown_with_their_state() -> None:
    streams = Streams()
    streams.emit(
        TodoUpdated(items=(Todo(content="one", status="completed"), Todo(content="two", status="pending")))
    )
    assert streams.err.getvalue().splitlines() == ["  ☑ one", "  ☐ two"]


def test_usage_says_what_is_known_and_what_is_guessed() -> None:
    assert describe_usage(Usage()) == ""
    assert (
        describe_usage(Usage(input_tokens=1234, output_tokens=5, estimated=True))
        == "about 1,234 tokens in, 5 out"
    )
    assert describe_usage(Usage(input_tokens=9, cached_tokens=8, cost_usd=0.01)).endswith(
        "(8 cached), 0 out · $0.0100"
    )
