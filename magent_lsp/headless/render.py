"""Events of a run -> the terminal: as text for people, as JSON for programs."""

import json
from collections.abc import Callable
from typing import assert_never

from magent_lsp.core.events import (
    EditApplied,
    Envelope,
    Notice,
    PermissionRequested,
    PermissionResolved,
    ReasoningDeltaEvent,
    RunEvent,
    RunFinished,
    RunQueued,
    RunStarted,
    TargetUpdated,
    TextDeltaEvent,
    TodoUpdated,
    ToolCallEvent,
    UsageUpdated,
    to_json,
)
from magent_lsp.core.messages import Usage
from magent_lsp.headless.terminal import Terminal

_MARKS = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "rejected": ("⊘", "yellow"),
    "cancelled": ("⊘", "yellow"),
}
_LEVELS = {"info": "dim", "warning": "yellow", "error": "red"}
_TODO_MARKS = {"pending": "☐", "in_progress": "▸", "completed": "☑"}
_OUTPUT_LINES = 8
_DIFF_LINES = 60


class JsonLines:
    """One object a line, shaped as the parameters of `magent/event`."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def emit(self, event: Envelope) -> None:
        """Write one event; ASCII only, so that no reader of lines splits within one."""
        self._terminal.data(json.dumps(to_json(event), separators=(",", ":")))


class Text:
    """Answers as they stream, and a line for each thing done."""

    def __init__(self, terminal: Terminal, *, reasoning: bool = False) -> None:
        self._terminal = terminal
        self._reasoning = reasoning
        self._thinking = False
        self._children: dict[str, str] = {}
        """Runs of subagents, by id: the agent's name."""
        self._answered: set[str] = set()
        """Runs whose answer was streamed."""
        self._previewed: set[str] = set()
        """Calls whose diff was shown with the question."""
        self.bare = False
        """Leaves out the lines about agent, model and session: for a command that needs none of them."""
        self.kept: Callable[[str], bool] = lambda session_id: True
        """Whether there is such a session to go on with: one in which nothing was said is not kept."""

    def emit(self, event: Envelope) -> None:
        """Show one event."""
        happened = event.event
        if self._thinking and not isinstance(happened, ReasoningDeltaEvent):
            self._terminal.line()
            self._thinking = False
        if isinstance(happened, RunStarted) and happened.parent_run_id is not None:
            self._children[event.run_id] = happened.agent
        child = event.run_id in self._children
        match happened:
            case TextDeltaEvent() | ReasoningDeltaEvent() if child:
                pass  # what subagents say goes to the agent that asked them
            case TextDeltaEvent():
                self._answered.add(event.run_id)
                self._terminal.answer(happened.text)
            case ReasoningDeltaEvent():
                self._think(happened.text)
            case RunFinished() if child:
                self._terminal.line(f"{self._children.pop(event.run_id)}: {happened.stop_reason}", "dim")
            case RunFinished():
                self._finish(happened, event)
            case _:
                self._remark(happened)

    def _remark(self, event: RunEvent) -> None:
        line = self._terminal.line
        match event:
            case RunQueued():
                line(f"waiting for the session's running run (place {event.position})", "dim")
            case RunStarted() if self.bare:
                pass
            case RunStarted():
                line(f"{event.agent} · {event.model}", "dim")
            case ToolCallEvent():
                self._tool(event)
            case EditApplied():
                self._edit(event)
            case TodoUpdated():
                for item in event.items:
                    line(f"  {_TODO_MARKS[item.status]} {item.content}")
            case Notice():
                line(f"{event.level}: {event.message}", _LEVELS[event.level])
            case PermissionRequested():
                self._previewed.add(event.request.tool_call_id)
            case PermissionResolved() | UsageUpdated() | TargetUpdated():
                pass
            case TextDeltaEvent() | ReasoningDeltaEvent() | RunFinished():
                raise AssertionError("shown by emit")
            case _:
                assert_never(event)

    def _think(self, text: str) -> None:
        if self._reasoning:
            if not self._thinking:
                self._terminal.line("thinking:", "dim")
            self._thinking = True
            self._terminal.murmur(text)

    def _tool(self, event: ToolCallEvent) -> None:
        title = event.title or event.name
        if event.phase == "started":
            if event.kind in ("execute", "fetch", "other"):
                self._terminal.line(f"▸ {title}", "cyan")
            return
        if event.phase != "finished" or event.status not in _MARKS:
            return
        mark, style = _MARKS[event.status]
        self._terminal.line(f"{mark} {title}", style)
        if event.output and (event.kind == "execute" or event.status != "completed"):
            lines = event.output.strip().splitlines()
            if len(lines) > _OUTPUT_LINES:
                self._terminal.line(f"    … {len(lines) - _OUTPUT_LINES} lines before", "dim")
            for text in lines[-_OUTPUT_LINES:]:
                self._terminal.line(f"    {text}", "dim")

    def _edit(self, event: EditApplied) -> None:
        if event.outcome != "applied":
            self._terminal.line(f"  edit of {event.uri}: {event.outcome}", "yellow")
        elif event.diff and event.tool_call_id not in self._previewed:
            self._terminal.diff(event.diff, indent="    ", limit=_DIFF_LINES)

    def _finish(self, event: RunFinished, envelope: Envelope) -> None:
        if event.text and envelope.run_id not in self._answered:
            self._terminal.answer(event.text)
        self._answered.discard(envelope.run_id)
        self._terminal.fresh()
        kept = not self.bare and self.kept(envelope.session_id)
        session = f"session {envelope.session_id}" if kept else ""
        if parts := [part for part in (describe_usage(event.usage), session) if part]:
            self._terminal.line(" · ".join(parts), "dim")


def describe_usage(usage: Usage) -> str:
    """`1,234 tokens in (200 cached), 56 out · $0.0123`, or nothing if none is known."""
    if not usage.input_tokens and not usage.output_tokens:
        return ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    about = "about " if usage.estimated else ""
    text = f"{about}{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
    return f"{text} · ${usage.cost_usd:.4f}" if usage.cost_usd else text
