"""What a person asks of a run, and what a run asks of a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from magent_lsp.core.document import Span
from magent_lsp.core.messages import Image

ScopeKind = Literal["line", "region", "buffer", "directory", "project"]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Where a run may edit; edits outside are denied before anything is asked."""

    kind: ScopeKind
    path: Path | None = None
    """The file, or for `directory` the folder; None for `project`."""
    span: Span | None = None
    """Whole lines, for `line` and `region`."""


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """A problem that some tool reported at a place."""

    path: Path
    span: Span
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: str = ""
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Focus:
    """Where the person is looking when they ask."""

    path: Path
    span: Span | None = None
    """The selection, or an empty span at the cursor."""
    selection: str = ""
    symbol: str = ""
    """The identifier at the cursor."""
    language: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One prompt of a person, from which a run is started."""

    prompt: str
    agent: str | None = None
    """None: the session's, else the configured default."""
    passing: bool = False
    """The agent is for this prompt only, even where the session begins with it: a question at a place."""
    session_id: str | None = None
    """None: a new session."""
    folder: Path | None = None
    """The workspace folder; None: the one that holds the focus, else the first."""
    focus: Focus | None = None
    scope: Scope | None = None
    model: str | None = None
    images: tuple[Image, ...] = ()
    restriction: Mapping[str, Any] | None = None
    """Permission rules of a command's `allowed-tools`; the stricter of them and the usual ones counts."""
    extra: str = ""
    """Further context for the model, such as files given with `@file`; part of the first user turn."""


Reply = Literal["allow_once", "allow_session", "allow_always", "reject"]


@dataclass(frozen=True, kw_only=True)
class PermissionOption:
    """One way to answer."""

    reply: Reply
    title: str


class Comparison(NamedTuple):
    """A file's whole text before and after an edit, for an editor that shows the two beside each other."""

    path: Path
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class PermissionRequest:
    """Everything a person must see to decide about one tool call."""

    request_id: str
    run_id: str
    session_id: str
    tool_call_id: str
    tool: str
    title: str
    reason: str
    """Which rule asks, in words."""
    options: tuple[PermissionOption, ...]
    command: str | None = None
    diff: str | None = None
    paths: tuple[str, ...] = ()
    """As people name them: relative to the session's folder where they are inside."""
    uris: tuple[str, ...] = ()
    """The same files, without a doubt which they are."""
    comparison: Comparison | None = None
    """Of an edit; too long for events, so it is no part of their JSON."""


@dataclass(frozen=True, kw_only=True)
class PermissionReply:
    """A person's decision; anything unclear is a reject."""

    reply: Reply
    feedback: str = ""
    """With a reject: goes to the model, and the loop goes on."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something the agent wants to know from the person."""

    title: str
    message: str
    options: tuple[str, ...] = ()
    multiple: bool = False
    default: str = ""
    run_id: str = ""
    tool_call_id: str = ""
    """The call that asks, and its run, as events name them; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The person's answer: the chosen options, or one free text."""

    values: tuple[str, ...]


StopReason = Literal[
    "end_turn", "max_tokens", "max_turns", "budget", "loop", "rejected", "cancelled", "error"
]
