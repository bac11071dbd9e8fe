"""A conversation and what belongs to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from magent_lsp.core.messages import Message, ToolMessage, Usage

TodoStatus = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, kw_only=True)
class Todo:
    """One step of the agent's plan."""

    content: str
    status: TodoStatus


def step_of(todos: Sequence[Todo]) -> str:
    """Where a plan stands, such as `2/5 Write tests`; empty if nothing of it is in progress."""
    for number, todo in enumerate(todos, 1):
        if todo.status == "in_progress":
            return f"{number}/{len(todos)} {todo.content}"
    return ""


RecordKind = Literal["meta", "message", "tool", "edit", "usage", "todo", "grant", "compaction", "title"]

Journal = Callable[[RecordKind, Any], None]
"""Writes one record of a session as it happens; never raises, never blocks for long."""


def no_journal(kind: RecordKind, value: Any) -> None:
    """A journal that keeps nothing: sessions of tests and hidden agents."""


@dataclass(kw_only=True, eq=False)
class Session:
    """The mutable state of one conversation; every change goes through a method, which journals it."""

    id: str
    folder: Path
    """The workspace folder it belongs to."""
    agent: str
    passing: bool = False
    """Its agent is that of the question with which it began; the first prompt takes the usual one."""
    model: str | None = None
    """A model chosen for this session; None: the agent's, else the configured one."""
    title: str = ""
    created: str = ""
    """ISO 8601, UTC."""
    parent: str | None = None
    """The session this one was forked from or delegated by."""
    messages: list[Message] = field(default_factory=list)
    todos: tuple[Todo, ...] = ()
    seen: dict[str, str] = field(default_factory=dict)
    """Path -> digest of the text the model last saw there."""
    skills: dict[str, str] = field(default_factory=dict)
    """Loaded skills: name -> body."""
    grants: list[Any] = field(default_factory=list)
    """Permission rules granted for this session (`permissions.Rule`)."""
    usage: Usage = field(default_factory=Usage)
    journal: Journal = no_journal

    def append(self, message: Message) -> None:
        """Add a message to the conversation."""
        self.messages.append(message)
        self.journal("message", message)

    def append_result(self, message: ToolMessage, seen: Mapping[str, str], skills: Mapping[str, str]) -> None:
        """Add a tool's result, with what the model knows since: texts of files by digest, skills by name."""
        self.messages.append(message)
        self.seen.update(seen)
        self.skills.update(skills)
        self.journal("tool", {"result": message, "seen": dict(seen), "skills": dict(skills)})

    def clear(self) -> None:
        """Forget the conversation; the file keeps it."""
        self.messages.clear()
        self.todos = ()
        self.seen.clear()
        self.skills.clear()
        self.journal("compaction", {"id": "", "summary": "", "kept_from": None})

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        """Replace the todo list."""
        self.todos = todos
        self.journal("todo", todos)

    def add_usage(self, usage: Usage, of: str | None = None) -> None:
        """Count the usage of one request; `of` is the session of the subagent that made it."""
        self.usage += usage
        self.journal("usage", {"usage": usage, "total": self.usage, "of": of})

    def grant(self, rule: Any) -> None:
        """Allow something for the rest of this session."""
        self.grants.append(rule)
        self.journal("grant", rule)

    def use_agent(self, name: str) -> None:
        """Go on with another agent."""
        if name != self.agent or self.passing:
            self.agent, self.passing = name, False
            self.journal("meta", {"agent": name, "passing": False})

    def begin_with_question(self) -> None:
        """Its agent is for the question with which it begins."""
        self.passing = True
        self.journal("meta", {"passing": True})

    def use_model(self, model: str | None) -> None:
        """Go on with another model; None: the configured one."""
        if model != self.model:
            self.model = model
            self.journal("meta", {"model": model or "auto"})

    def rename(self, title: str) -> None:
        """Give the session a title."""
        self.title = title
        self.journal("title", title)
