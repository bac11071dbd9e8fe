"""Open documents as the client tells of them: pygls' workspace with our own text behind it.

Pygls breaks lines where LSP does not (form feeds, U+2028), is slow for long documents, and raises for a
`didChange` of a document it does not know. Only the seams named here are ours; the rest is pygls.
"""

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.workspace import TextDocument, Workspace

from magent_lsp.core.views import to_lf
from magent_lsp.lsp.mirror import Mirror

logger = logging.getLogger(__name__)

Observer = Callable[["OpenDocument | None", str], object]
"""Told of every change of a document's text, one content change at a time; None once it is closed."""


@dataclass(frozen=True)
class _Vouched:
    mirror: Mirror
    broken: Callable[[], None]


class OpenDocument(TextDocument):
    """A text document whose text is what the client says."""

    def __init__(
        self, uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> None:
        super().__init__(uri, source=source, version=version, language_id=language_id)
        self._told = Mirror(source or "")
        """What the client has told of."""
        self._vouched: _Vouched | None = None
        self._is_open = source is not None
        self._source = None  # the mirror has it; pygls would keep the first text for ever
        self._saved: str | None = None
        self._known: tuple[int, bool] | None = None
        self.changes = 0
        """Content changes since the document was opened."""
        self.last_change: types.TextDocumentContentChangeEvent | None = None
        """The newest of them; None: there was none since it was opened."""

    @property
    def mirror(self) -> Mirror:
        """The text and its lines."""
        return self._told if self._vouched is None else self._vouched.mirror

    @property
    def source(self) -> str:
        """The text; for a document that is not open, what is on the disk."""
        return self.mirror.text if self._is_open else super().source

    @property
    def lines(self) -> Sequence[str]:
        """The lines by LSP's rule, with their ends; not to be changed."""
        return self.mirror.lines if self._is_open else Mirror(self.source).lines

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Take one content change of the client."""
        self.changes += 1
        self.last_change = change
        if isinstance(change, types.TextDocumentContentChangePartial):
            self._told.splice(change.range.start, change.range.end, change.text)
        else:
            self._told.set(change.text)

    def vouch(self, text: str, *, broken: Callable[[], None]) -> None:
        """Take the client's word for a text whose changes it will tell later; `broken` if it tells others."""
        self.changes += 1
        self._vouched = _Vouched(Mirror(text), broken)

    def catch_up(self) -> bool:
        """Whether the newest change only tells of a text that the client has vouched for before."""
        vouched = self._vouched
        if vouched is None:
            return False
        told, text = self._told, vouched.mirror
        if len(told) == len(text) and told.text == text.text:
            self._vouched = None
        return True

    def told_all(self) -> bool:
        """Note that a message is taken as a whole; whether it gave another text than was vouched for."""
        vouched, self._vouched = self._vouched, None
        if vouched is not None:
            vouched.broken()
        return vouched is not None

    @property
    def compared(self) -> bool:
        """Whether anything is known of the disk; unlike `unsaved` it costs nothing."""
        return self._saved is not None

    @property
    def unsaved(self) -> bool | None:
        """Whether the text differs from what was last known to be on the disk; None if nothing is known.

        Line ends do not count: an editor may show LF for a file that has CRLF.
        """
        if self._saved is None:
            return None
        if self._known is None or self._known[0] != self.changes:
            self._known = self.changes, to_lf(self.mirror.text) != self._saved
        return self._known[1]

    def saved_as(self, text: str) -> None:
        """Remember what is on the disk."""
        self._saved, self._known = to_lf(text), None


class Documents(Workspace):
    """The workspace of one client; keys are URIs as pygls has them, without percent-encoding."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._observers: list[Observer] = []

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call the observer after every change from now on; the result ends it."""
        self._observers.append(observer)

        def end() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return end

    def open_documents(self) -> list[OpenDocument]:
        """All open documents."""
        return [item for item in self.text_documents.values() if isinstance(item, OpenDocument)]

    def open_document(self, uri: str) -> OpenDocument | None:
        """An open document by its URI, however that is encoded."""
        document = self.text_documents.get(unquote(uri))
        return document if isinstance(document, OpenDocument) else None

    def put_text_document(
        self, text_document: types.TextDocumentItem, notebook_uri: str | None = None
    ) -> None:
        """Open a document; opened again, it has the new text."""
        before = self.open_document(text_document.uri)
        super().put_text_document(text_document, notebook_uri)
        document = self.open_document(text_document.uri)
        if document is not None and before is not None:
            document.changes = before.changes + 1
        self._tell(document, text_document.uri)

    def update_text_document(
        self,
        text_doc: types.VersionedTextDocumentIdentifier,
        change: types.TextDocumentContentChangeEvent,
    ) -> None:
        """Take a change; one of a document that was never opened counts only if it has the whole text."""
        document = self.open_document(text_doc.uri)
        if document is None:
            if isinstance(change, types.TextDocumentContentChangePartial):
                logger.warning("ignored a change of %r, which is not open", text_doc.uri)
                return
            item = types.TextDocumentItem(
                uri=text_doc.uri, language_id="", version=text_doc.version, text=change.text
            )
            self.put_text_document(item)
            return
        document.apply_change(change)
        document.version = text_doc.version
        if not document.catch_up():
            self._tell(document, text_doc.uri)

    def vouch(self, uri: str, text: str, version: int, *, broken: Callable[[], None]) -> None:
        """Take the client's word for a document's text and version; `broken` if it turns out wrong."""
        document = self.open_document(uri)
        if document is not None:
            document.vouch(text, broken=broken)
            document.version = version
            self._tell(document, uri)

    def told_all(self, uri: str) -> None:
        """One message's changes of a document are all taken."""
        document = self.open_document(uri)
        if document is not None and document.told_all():
            self._tell(document, uri)

    def remove_text_document(self, doc_uri: str) -> None:
        """Close a document; one that is not open is ignored."""
        super().remove_text_document(doc_uri)
        self._tell(None, doc_uri)

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> OpenDocument:
        return OpenDocument(doc_uri, source=source, version=version, language_id=language_id)

    def _tell(self, document: OpenDocument | None, uri: str) -> None:
        for observer in list(self._observers):
            observer(document, uri)


class DocumentsProtocol(LanguageServerProtocol):
    """Pygls' protocol with our documents, and positions in UTF-16 whatever the client prefers."""

    client: types.ClientInfo | None = None
    """What the client says of itself."""

    @property
    def client_name(self) -> str:
        """What the client calls itself; empty if it does not say."""
        return self.client.name if self.client is not None else ""

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Initialize as pygls does, with our workspace in place before any handler of ours runs."""
        self.client = params.client_info
        if params.capabilities.general is not None:
            params.capabilities.general.position_encodings = None
        steps = super().lsp_initialize(params)
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                self._use_documents()
                result: types.InitializeResult = end.value
                return result
            self._use_documents()
            answer = yield step

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Take changes as pygls does, and note that these were all of them."""
        steps = super().lsp_text_document__did_change(params)
        first = next(steps, None)
        if isinstance(workspace := self.workspace, Documents):
            workspace.told_all(params.text_document.uri)
        if first is not None:
            yield first
            yield from steps

    @lsp_method(types.TEXT_DOCUMENT_DID_SAVE)
    def lsp_text_document__did_save(
        self, params: types.DidSaveTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Note that the buffer and the disk agree."""
        workspace = self.workspace
        if isinstance(workspace, Documents):
            document = workspace.open_document(params.text_document.uri)
            if document is not None:
                document.saved_as(document.source if params.text is None else params.text)
        if (handler := self.fm.features.get(types.TEXT_DOCUMENT_DID_SAVE)) is not None:
            yield handler, (params,), None

    def _use_documents(self) -> None:
        plain = self._workspace
        if plain is None or isinstance(plain, Documents):
            return
        self._workspace = Documents(
            plain.root_uri, workspace_folders=list(plain.folders.values()), position_encoding="utf-16"
        )
