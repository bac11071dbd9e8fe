"""The client as the core's Editor: open buffers beat the disk, and every edit is verified."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import Workspace

from magent_lsp.core.config import Client, Settings
from magent_lsp.core.document import Document
from magent_lsp.core.edits import EditOutcome, FileEdit
from magent_lsp.core.errors import ToolError
from magent_lsp.core.request import Answer, Diagnostic, Focus, PermissionReply, PermissionRequest, Question
from magent_lsp.lsp.buffers import Buffers, snapshot
from magent_lsp.lsp.comparison import shown
from magent_lsp.lsp.delivery import Delivery
from magent_lsp.lsp.diagnostics import Diagnostics
from magent_lsp.lsp.dialogs import Dialogs
from magent_lsp.lsp.documents import Documents
from magent_lsp.lsp.habits import habits_of
from magent_lsp.lsp.lanes import Lanes
from magent_lsp.lsp.parcel import Caller
from magent_lsp.lsp.verify import Bounds
from magent_lsp.store import disk
from magent_lsp.store.land import in_thread


class Server(Protocol):
    """What is needed of the pygls server, once it is initialized."""

    @property
    def protocol(self) -> Any:
        """The connection, a `Caller`."""
        ...

    @property
    def workspace(self) -> Workspace:
        """The open documents; a `Documents`."""
        ...

    @property
    def client_capabilities(self) -> types.ClientCapabilities:
        """What the client declared."""
        ...


class LspEditor:
    """One client's buffers, files and dialogs."""

    def __init__(
        self,
        server: Server,
        client: Client,
        settings: Callable[[], Settings],
        bounds: Bounds | None = None,
    ) -> None:
        self._server = server
        self._client = client
        self._bounds = bounds or Bounds()
        self._caller: Caller = server.protocol
        habits = habits_of(getattr(server.protocol, "client", None), server.client_capabilities)
        self.habits = habits
        """What the client does beside the protocol."""
        self._dialogs = Dialogs(self._caller, client, habits)
        self._buffers = Buffers(self._documents)
        self._diagnostics = Diagnostics(self._documents())
        self._delivery = Delivery(self._caller, self._documents, self._bounds, habits)
        self._lanes = Lanes(
            caller=self._caller,
            buffers=self._buffers,
            delivery=self._delivery,
            capabilities=lambda: server.client_capabilities,
            settings=settings,
            can_save=client.save,
            takes_edits=client.edits_after_actions,
            bounds=self._bounds,
            habits=habits,
        )

    @property
    def can_save(self) -> bool:
        """Whether the client declared `magent/save`."""
        return self._client.save

    @property
    def language(self) -> Literal["elisp", "lua"] | None:
        """The language of the client's `magent/eval`, if it declared one."""
        return self._client.eval

    def on_late(self, tell: Callable[[EditOutcome], None]) -> None:
        """Have a function told when an edit that was `unknown` is found applied or rejected, or another."""
        self._delivery.late = tell

    def on_held_back(self, tell: Callable[[], None]) -> None:
        """Have a function told when the editor waits for a key before it tells of an edit."""
        self._delivery.held_back = tell

    def close(self) -> None:
        """Wait for nothing any more."""
        self._delivery.close()
        self._buffers.close()

    async def read(self, path: Path) -> Document:
        """The text of an open buffer, else of the disk; ToolError if there is none or it is not text."""
        document = await self._buffers.find(path)
        if document is not None:
            await self._delivery.settled(document.uri, self._bounds.read)
            document = self._buffers.by_uri(document.uri)
        if document is None:
            return await in_thread(disk.read, path)
        await self._buffers.compare(document)
        return snapshot(document, path)

    async def settled(self, path: Path) -> bool:
        """Wait, bounded, for an earlier edit of a file, not confirmed yet; whether its fate is known."""
        document = await self._buffers.find(path)
        return document is None or await self._delivery.settled(document.uri)

    async def is_open(self, path: Path) -> bool:
        """Whether a file is open, under whatever name."""
        return await self._buffers.find(path) is not None

    def documents(self) -> Sequence[Document]:
        """All open buffers that are files."""
        return self._buffers.all()

    def selection(self) -> Focus | None:
        """What the person selected last; None: an editor tells it only with what it asks us."""
        return None

    async def apply(self, edit: FileEdit, label: str, *, save: bool = True) -> EditOutcome:
        """Make one change, in the buffer if the file is open, and verify it."""
        return await self._lanes.apply(edit, label, save)

    async def save(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Have the client save buffers; returns those that are still unsaved."""
        found = [(path, await self._buffers.find(path)) for path in dict.fromkeys(paths)]
        buffers = [(path, document) for path, document in found if document is not None]
        await self._lanes.save([document.uri for _, document in buffers])
        for _, document in buffers:
            await self._buffers.compare(document, again=True)
        return [path for path, document in buffers if document.unsaved is not False]

    async def request_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask the person with a dialog, beside the edit if the client can show it; None if it has none."""
        if not self._client.diff:
            return await self._dialogs.permission(request)
        async with shown(request, self._caller, self._spelling):
            return await self._dialogs.permission(request)

    async def ask(self, question: Question) -> Answer | None:
        """Ask the person for information; None if they did not answer or cannot be asked here."""
        return await self._dialogs.question(question)

    def remember_diagnostics(self, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Keep what the client says of a document, until the document changes."""
        self._diagnostics.remember(uri, diagnostics)

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic]:
        """Problems that the client named since the document last changed."""
        return self._diagnostics.of(path)

    async def evaluate(self, code: str) -> str:
        """Run code in the client; ToolError with what it says if that fails."""
        try:
            answer = await self._caller.call("magent/eval", {"code": code}, seconds=self._bounds.evaluate)
        except TimeoutError:
            raise ToolError(
                f"The editor gave no answer within {self._bounds.evaluate:g} s; the code may still run."
            ) from None
        except (JsonRpcException, OSError) as error:
            raise ToolError(f"The editor could not run the code: {error}") from error
        if isinstance(answer, dict) and isinstance(answer.get("value"), str):
            return str(answer["value"])
        reason = answer.get("error") if isinstance(answer, dict) else None
        raise ToolError(f"The code failed: {reason or 'the editor answered nothing.'}")

    def _spelling(self, uri: str) -> str:
        """The client's own spelling of the URI of an open document."""
        document = self._documents().open_document(uri)
        return document.uri if document is not None else uri

    def _documents(self) -> Documents:
        workspace = self._server.workspace
        assert isinstance(workspace, Documents), "the server's protocol is a DocumentsProtocol"
        return workspace
