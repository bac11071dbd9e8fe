"""What a tool is: a pydantic model of its input, and a function that reads or proposes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel

from magent_lsp.core.config import Settings
from magent_lsp.core.edits import FileEdit
from magent_lsp.core.messages import Image
from magent_lsp.core.ports import Editor
from magent_lsp.core.request import Answer, Question
from magent_lsp.core.session import Session, Todo

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]

Verdict = Literal["allow", "ask", "deny"]

READ: Final = "read_file"
"""The tool whose rules say what may be read."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One thing a call would touch, as the permission rules see it."""

    tool: str
    """The name whose rules judge it: `read_file`, `bash`, `fetch`, …"""
    kind: Literal["path", "command", "url", "name", "definition", "none"]
    value: str = ""
    """The path as the model gave it, the command line, the URL, the agent or skill; for a tool that somebody
    else defines, what stands for the definition, so that a grant lasts as long as it."""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a call gave; the executor truncates, records and sends it."""

    text: str
    failed: bool = False
    images: tuple[Image, ...] = ()
    todos: tuple[Todo, ...] | None = None
    """The new todo list, if the call set one."""
    seen: tuple[tuple[Path, str], ...] = ()
    """Files whose text the model now knows, with the digest of that text."""
    skill: tuple[str, str] | None = None
    """Name and body of a skill that was loaded."""
    done: bool = False
    """True ends a scoped run."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A change that waits for a verdict: either a file edit, or an action with its preview."""

    title: str
    edit: FileEdit | None = None
    act: Callable[[], Awaitable[ToolResult]] | None = None
    """Called by the executor, and only by it, once the call is allowed."""
    same: Any = None
    """Compared with the proposal of a retry on fresh text: equal means the same text is replaced by
    the same text, so the person need not be asked again."""
    command: str | None = None
    diff: str | None = None
    note: str = ""
    """Added to the result of an applied edit, such as how the old text was found."""
    paths: tuple[Path, ...] = ()
    subjects: tuple[Subject, ...] = ()
    """Further things to judge that were only known after reading; with those of the call."""


class Agents(Protocol):
    """The subagents that keep their session and can be spoken to by name; methods raise ToolError."""

    def kind(self, name: str) -> str:
        """Which agent it is, such as `explore` for `explore-1`."""
        ...

    def overview(self) -> str:
        """All of them, a line each."""
        ...

    async def message(self, name: str, text: str) -> ToolResult:
        """Say something to one: taken in at once, or the beginning of its next run."""
        ...

    async def wait(self, name: str, seconds: float | None, report: Callable[[str], None]) -> ToolResult:
        """The latest result of one, when it has done all it was told to."""
        ...

    async def close(self, name: str) -> ToolResult:
        """End one; its session stays on disk."""
        ...


Ask = Callable[[Question], Awaitable[Answer | None]]
"""Asks the person and waits for them; None: they gave no answer."""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """All that a tool may use; made by the executor for each call."""

    folders: tuple[Path, ...]
    """Workspace folders; the first is the one of the session, to which relative paths belong."""
    session: Session
    settings: Settings
    editor: Editor
    judge: Callable[[Subject], Verdict]
    """The verdict on one thing, to leave denied files out of results and to judge redirects."""
    report: Callable[[str], None] = lambda text: None
    """Shows partial output while the call runs."""
    delegate: Callable[[str, str, bool], Awaitable[ToolResult]] | None = None
    """(agent, prompt, background): runs a subagent."""
    agents: Agents | None = None
    """Subagents that were started in the background."""
    ask: Ask | None = None
    """Asks the person and waits for them; None: nobody can be asked."""
    load_skill: Callable[[str, str], ToolResult] | None = None
    """(name, arguments): a skill's body, wrapped for the model; ToolError if unknown."""
    environment: Callable[[], dict[str, str]] = dict
    """The environment for child processes, without the secrets we know."""
    scratch: Path | None = None
    """A folder of ours for output that is too long to show; None: nowhere."""
    own: tuple[Path, ...] = ()
    """Folders of our config and state, which no command may change."""
    closed: tuple[Path, ...] = ()
    """Folders of ours that a sandboxed command must not see."""

    @property
    def folder(self) -> Path:
        """The folder to which relative paths belong."""
        return self.folders[0]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A capability offered to the model."""

    name: str
    description: str
    input: type[BaseModel]
    kind: ToolKind
    run: Callable[[Any, ToolContext], Awaitable[ToolResult | Proposal]]
    """Reads, or proposes; never changes anything itself. Raises ToolError for the model."""
    subjects: Callable[[Any], tuple[Subject, ...]] = field(default=lambda input: ())
    """What the call touches; judged before `run`. Empty: the tool's own name without a value."""
    title: Callable[[Any], str] = field(default=lambda input: "")
    """A short line for people, such as `Read src/a.py`; empty: the tool's name."""
    schema: dict[str, Any] | None = None
    """JSON schema sent to the model; None: made from `input`."""
    side_by_side: bool = False
    """Whether calls of one reply may run at the same time although the tool is no mere reader."""
    quotes: bool = False
    """Whether it may tell the model what is in the files it is to change: then it must be allowed to read
    them, before anything is prepared."""
    shows: bool = False
    """Whether `run` gives a Proposal although the tool is of another kind than those that change things."""

    def reads(self, subjects: Sequence[Subject]) -> tuple[Subject, ...]:
        """What must be allowed to be read before a call that touches these subjects is prepared."""
        return tuple(replace(each, tool=READ) for each in subjects if self.quotes and each.kind == "path")

    @property
    def previews(self) -> bool:
        """Whether `run` only prepares a Proposal, so that a person is asked after it, with the preview."""
        return self.shows or self.kind in ("edit", "delete", "move", "execute")

    @property
    def concurrent(self) -> bool:
        """Whether neighbouring calls of one reply run together; all others run in order."""
        return self.side_by_side or self.kind in ("read", "search", "fetch")

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the input, as small as it can be."""
        return self.schema if self.schema is not None else lean_schema(self.input)


def lean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's JSON schema with titles dropped and definitions put in place."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def tidy(node: Any) -> Any:
        if isinstance(node, list):
            return [tidy(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            return tidy({**definitions[name], **{k: v for k, v in node.items() if k != "$ref"}})
        if "anyOf" in node and {"type": "null"} in node["anyOf"]:
            rest = [option for option in node["anyOf"] if option != {"type": "null"}]
            if len(rest) == 1:
                merged = {**rest[0], **{k: v for k, v in node.items() if k != "anyOf"}}
                if merged.get("default", ...) is None:
                    del merged["default"]
                return tidy(merged)
        return {
            key: {name: tidy(part) for name, part in item.items()} if key == "properties" else tidy(item)
            for key, item in node.items()
            if key != "title" or not isinstance(item, str)
        }

    result: dict[str, Any] = tidy(schema)
    result.pop("description", None)
    return result
