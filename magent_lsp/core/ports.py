"""What the core needs of the outside; each port is owned here and implemented by an edge."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from magent_lsp.core.document import Document
from magent_lsp.core.edits import EditOutcome, FileEdit
from magent_lsp.core.messages import Message, StreamItem
from magent_lsp.core.request import Answer, Diagnostic, Focus, PermissionReply, PermissionRequest, Question
from magent_lsp.core.ways import Ways

if TYPE_CHECKING:
    from magent_lsp.core.events import Envelope
    from magent_lsp.core.tool import Tool


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """How to ask: which model, where, and with what limits."""

    model: str
    """`provider/name` as in LiteLLM, or `scripted:FILE`."""
    api_base: str | None = None
    api_key: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """Further options handed to the provider as they are."""
    reason: str = ""
    """Why this model was taken, for people."""
    ways: Ways = field(default_factory=Ways)
    """What the person can do about a model that cannot be asked."""
    tools_in_text: bool = False
    """The model takes no tools: they are described in the system prompt, and it writes calls as JSON."""
    connect_timeout: float = 10
    first_chunk_timeout: float = 180
    chunk_timeout: float = 60
    """Seconds; every chunk after the first."""


class Model(Protocol):
    """A language model."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence["Tool"], settings: ModelSettings
    ) -> AsyncGenerator[StreamItem, None]:
        """Deltas, then the whole AssistantMessage; raises ModelError. Close it to stop the request."""
        ...


class Editor(Protocol):
    """The place where files live and a person sits: an LSP client, or the disk and a terminal."""

    @property
    def can_save(self) -> bool:
        """Whether `save` can do anything here."""
        ...

    @property
    def language(self) -> Literal["elisp", "lua"] | None:
        """What `evaluate` takes; None: no code can be run here."""
        ...

    async def read(self, path: Path) -> Document:
        """The text of an open buffer, else of the disk; ToolError if there is none or it is not text."""
        ...

    async def apply(self, edit: FileEdit, label: str) -> EditOutcome:
        """Make one change and verify it; never raises for an edit that did not land."""
        ...

    async def save(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Save buffers; returns those that are still unsaved."""
        ...

    def documents(self) -> Sequence[Document]:
        """All open buffers."""
        ...

    def selection(self) -> Focus | None:
        """What the person selected last, as far as this edge was told; None: nothing, or it is not known."""
        ...

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask the person; None if this edge has no way to ask (other ways may still answer)."""
        ...

    async def ask(self, question: Question) -> Answer | None:
        """Ask the person for information; None if they did not answer."""
        ...

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic]:
        """Problems known to the editor, for one file or all."""
        ...

    async def evaluate(self, code: str) -> str:
        """Run code in the editor and give its printed value; ToolError if it failed or cannot be run."""
        ...


class EventSink(Protocol):
    """Somebody who watches a run."""

    def emit(self, event: "Envelope") -> None:
        """Take an event; synchronous, never blocks, never raises."""
        ...


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a run wants of the servers that bring tools."""

    folder: Path
    servers: Mapping[str, Any]
    """The entries of `mcpServers` that are in force."""
    needed: Callable[[str], bool]
    """Whether tools whose names begin like this could be of use; a server without such is not started."""
    environment: Mapping[str, str]
    """For child processes, without the secrets we know."""
    tell: Callable[[str], None]
    """Tells the person what is wrong."""


class ToolSource(Protocol):
    """Servers that bring tools of their own."""

    async def gather(self, wish: Wish) -> "tuple[Tool, ...]":
        """Their tools in a stable order; starts what does not run, waits a bounded time, never raises."""
        ...
