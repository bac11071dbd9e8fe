"""What happens in a run, for whoever watches: `magent/event`, `--json`, the terminal, the log."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from magent_lsp.core.document import Span
from magent_lsp.core.edits import Outcome
from magent_lsp.core.messages import ToolStatus, Usage
from magent_lsp.core.request import PermissionRequest, Reply, StopReason
from magent_lsp.core.session import Todo

ToolState = Literal["pending", "in_progress"] | ToolStatus


@dataclass(frozen=True, kw_only=True)
class RunQueued:
    """The prompt waits for the session's running run."""

    type: ClassVar[str] = "run_queued"
    position: int
    """1 is next."""


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """The run begins to work."""

    type: ClassVar[str] = "run_started"
    agent: str
    model: str
    prompt: str
    uri: str | None = None
    range: Span | None = None
    """The target of a scoped run, for highlighting."""
    parent_run_id: str | None = None
    """Set for a subagent's run: the run that delegated to it."""
    folder: str | None = None
    """The URI of the session's folder, to which relative paths in its texts belong."""


@dataclass(frozen=True, kw_only=True)
class TargetUpdated:
    """The target of a scoped run moved or changed."""

    type: ClassVar[str] = "target_updated"
    uri: str
    range: Span


@dataclass(frozen=True, kw_only=True)
class TextDeltaEvent:
    """A piece of the answer."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, kw_only=True)
class ReasoningDeltaEvent:
    """A piece of the model's reasoning."""

    type: ClassVar[str] = "reasoning_delta"
    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCallEvent:
    """A tool call began, moved on or ended. `phase` makes the event's type."""

    phase: Literal["started", "updated", "finished"]
    tool_call_id: str
    name: str
    kind: str
    title: str
    status: ToolState
    arguments: Mapping[str, Any] | None = None
    output: str | None = None
    paths: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """`tool_call_started`, `tool_call_updated` or `tool_call_finished`."""
        return f"tool_call_{self.phase}"


@dataclass(frozen=True, kw_only=True)
class PermissionRequested:
    """A person is asked; the run waits."""

    type: ClassVar[str] = "permission_requested"
    request: PermissionRequest


@dataclass(frozen=True, kw_only=True)
class PermissionResolved:
    """The request was answered, or ended with its run."""

    type: ClassVar[str] = "permission_resolved"
    request_id: str
    reply: Reply


@dataclass(frozen=True, kw_only=True)
class EditApplied:
    """The outcome of one edit."""

    type: ClassVar[str] = "edit_applied"
    uri: str
    outcome: Outcome
    diff: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, kw_only=True)
class TodoUpdated:
    """The whole todo list after a change."""

    type: ClassVar[str] = "todo_updated"
    items: tuple[Todo, ...]


@dataclass(frozen=True, kw_only=True)
class UsageUpdated:
    """Usage of the run so far."""

    type: ClassVar[str] = "usage_updated"
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something the person should know: a retry, a skipped file, a nudge."""

    type: ClassVar[str] = "notice"
    level: Literal["info", "warning", "error"]
    message: str


@dataclass(frozen=True, kw_only=True)
class EditRecord:
    """One attempted edit in a run's summary."""

    uri: str
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    """The one last event of every run."""

    type: ClassVar[str] = "run_finished"
    stop_reason: StopReason
    text: str
    """The last assistant message."""
    edits: tuple[EditRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    refused: int = 0
    """Calls that needed a permission nobody gave."""
    protected: int = 0
    """Those of them that are always asked, which `--yes` does not answer."""


RunEvent = (
    RunQueued
    | RunStarted
    | TargetUpdated
    | TextDeltaEvent
    | ReasoningDeltaEvent
    | ToolCallEvent
    | PermissionRequested
    | PermissionResolved
    | EditApplied
    | TodoUpdated
    | UsageUpdated
    | Notice
    | RunFinished
)


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """An event with its place in the run: the parameters of `magent/event`."""

    run_id: str
    session_id: str
    seq: int
    """From 1, grows by one within a run."""
    time: str
    """ISO 8601, UTC."""
    event: RunEvent


_INSIDE = frozenset({"phase", "comparison"})
"""Fields that are not told as such."""


def to_json(value: Any) -> Any:
    """Plain JSON with camelCase keys; None fields are left out, spans become LSP-like ranges.

    Columns of spans stay code points here; an edge that needs another unit converts before.
    """
    match value:
        case Span():
            return {
                "start": {"line": value.start.line, "character": value.start.column},
                "end": {"line": value.end.line, "character": value.end.column},
            }
        case Path():
            return str(value)
        case Mapping():
            return {str(key): to_json(item) for key, item in value.items()}
        case list() | tuple() | frozenset():
            return [to_json(item) for item in value]
        case PermissionRequested():
            return {"type": value.type, **to_json(value.request)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data = {"type": value.type} if hasattr(value, "type") else {}
        for part in dataclasses.fields(value):
            item = getattr(value, part.name)
            if part.name not in _INSIDE and item is not None:
                data[camel(part.name)] = to_json(item)
        return data
    return value


def camel(name: str) -> str:
    """`cost_usd` -> `costUsd`."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)
