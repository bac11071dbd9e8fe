"""One run: a person's prompt on its way to the final answer."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from magent_lsp.core.agent import Agent
from magent_lsp.core.config import Settings
from magent_lsp.core.edits import FileEdit
from magent_lsp.core.events import EditRecord, RunFinished
from magent_lsp.core.messages import Message, Usage, UserMessage
from magent_lsp.core.ports import Editor, Model, ModelSettings, ToolSource
from magent_lsp.core.redact import Redactor
from magent_lsp.core.request import RunRequest, Scope
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Tool
from magent_lsp.core.ways import Ways
from magent_lsp.engine.emitter import Emitter
from magent_lsp.engine.gate import Gate
from magent_lsp.engine.guards import Budget, LoopGuard, TreeGuard
from magent_lsp.engine.guest import Guest
from magent_lsp.engine.hooks import Hooks
from magent_lsp.engine.scopes import Target
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.engine.trace import Trace
from magent_lsp.engine.view import View
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Policy

RunState = Literal["queued", "preparing", "thinking", "working", "waiting", "finished"]
"""`waiting` is for a person's answer."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """What all runs of one client share."""

    editor: Editor
    gate: Gate
    model: Model
    model_settings: Callable[[Settings, str | None], Awaitable[ModelSettings]]
    """Settings and a wished-for model -> how to ask; raises ModelError if nothing is configured."""
    small_settings: Callable[[Settings, str | None], Awaitable[ModelSettings]]
    """As `model_settings`, for the small model: titles and summaries."""
    context_limit: Callable[[Settings, str], Awaitable[int | None]]
    """Settings and a model -> the size of its window in tokens; None: not known."""
    keep_edit: Callable[[Session, str, FileEdit], Awaitable[Callable[[], None]]]
    """Notes an edit that is about to be made (session, run id), so that the run can be undone whatever
    happens; the result is called if it was not made."""
    remember: Callable[[tuple[object, ...], str], None]
    """Stores permission rules for good, with the reason."""
    environment: Callable[[Settings], dict[str, str]]
    """The environment of child processes, without the secrets we know."""
    redact: Callable[[str], str]
    redactor: Callable[[], Redactor]
    """What `redact` works with now: another one once a further secret is known."""
    unfinished: Callable[[str], int]
    """How many characters at the end of a text may be the beginning of a secret."""
    scratch: Path
    """The folder for output that is too long to show."""
    interactive: bool
    """Whether there is a person to ask."""
    assume_yes: bool
    """Ordinary questions are answered with yes."""
    ways: Ways
    """The next steps that messages name."""
    outside: ToolSource | None = None
    """Servers that bring further tools; None: there are none."""


@dataclass(kw_only=True)
class Run:
    """The state of a run; owned by `Runs`, changed only by the code that drives it."""

    id: str
    request: RunRequest
    session: Session
    agent: Agent
    snapshot: Snapshot
    """Config and registries as they were when the run began."""
    host: Host
    emit: Emitter
    place: Place
    trace: Trace
    view: View = field(default_factory=View)
    """Its session as the model may see it."""
    parent: "Run | None" = None
    guest: Guest | None = None
    """The agent of another program whose calls it carries out, in place of a model's."""
    tools: tuple[Tool, ...] = ()
    """What is offered to the model."""
    state: RunState = "queued"
    doing: str = ""
    """What is going on, in a few words."""
    incoming: list[UserMessage] = field(default_factory=list)
    """Messages that the loop takes in between two steps: steering by people, reports of subagents."""
    edits: list[EditRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    refused: int = 0
    protected: int = 0
    text: str = ""
    """The last assistant message."""
    loops: LoopGuard = field(default_factory=LoopGuard)
    tree: TreeGuard = field(default_factory=TreeGuard)
    """Circles of the whole tree; that of the root counts."""
    circling: str = ""
    """The kind of subagent that goes round in circles, so that the whole tree ends; set at the root."""
    names_session: bool = False
    """Whether the session got its first, provisional title from this run."""
    budget: Budget = field(default_factory=Budget)
    """Set when the run begins; a subagent's money and time are its parent's too."""
    children: int = 0
    """Subagents started by the whole tree; counted at the root."""
    hooks: Hooks = field(default_factory=Hooks)
    """Set when the run begins."""
    target: Target | None = None
    """The lines that a run with such a scope may edit, wherever they move to; set at the root."""
    durable: bool = False
    """Whether its session stays open for further messages: a subagent in the background."""
    halted: str = ""
    """Why a hook ends the run after this step."""
    summary: str | None = None
    """Set when the run has declared itself done."""
    finished: "asyncio.Future[RunFinished] | None" = None
    task: "asyncio.Task[None] | None" = None

    @property
    def settings(self) -> Settings:
        """The settings of this run."""
        return self.snapshot.settings

    @property
    def root(self) -> "Run":
        """The run a person started, of which this one is a part."""
        return self if self.parent is None else self.parent.root

    @property
    def wished_model(self) -> str | None:
        """The model that a person chose for it, or for its session."""
        return self.request.model or self.session.model

    @property
    def depth(self) -> int:
        """0 for a person's run, 1 for its subagents, and so on."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def scope(self) -> Scope | None:
        """Where the run may edit, as the text stands now."""
        target = self.root.target
        return target.scope if target is not None else self.root.request.scope

    @property
    def policy(self) -> Policy:
        """The rules in force now; grants of the root session count at once."""
        return self.snapshot.policy(
            self.agent,
            grants=tuple(self.root.session.grants),
            restriction=self.request.restriction,
            scope=self.root.request.scope,
            parent=self.parent.policy if self.parent else None,
            scratch=self.host.scratch,
        )

    @property
    def tools_by_name(self) -> Mapping[str, Tool]:
        """The offered tools."""
        return {tool.name: tool for tool in self.tools}

    async def history(self) -> list[Message]:
        """The conversation as the model may see it now."""
        return await self.view.follow(self.session.messages, self.host.redactor())

    def count(self, usage: Usage) -> None:
        """Count what a request used: for the run, its session, and those that it works for."""
        self.usage += usage
        self.session.add_usage(usage)
        if self.root is not self:
            self.root.usage += usage
            self.root.session.add_usage(usage, of=self.session.id)

    def hear(self, text: str, *, synthetic: bool = False) -> None:
        """Let the loop take a message in before its next request."""
        message_id = f"msg-{uuid.uuid4().hex[:12]}"
        self.incoming.append(UserMessage(id=message_id, text=self.host.redact(text), synthetic=synthetic))

    def name_path(self, path: Path) -> str:
        """A path as people and the model see it: relative to the workspace folder where it is inside."""
        try:
            return path.relative_to(self.session.folder).as_posix() or "."
        except ValueError:
            return str(path)
