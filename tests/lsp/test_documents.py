"""The mirror is the buffer: whatever is typed, wherever, in whatever pieces."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from magent_lsp.lsp.documents import Documents, DocumentsProtocol, OpenDocument
from magent_lsp.lsp.mirror import Mirror

URI = "file:///a.txt"


def at(line: int, character: int) -> types.Position:
    """A position."""
    return types.Position(line=line, character=character)


def partial(start: types.Position, end: types.Position, text: str) -> types.TextDocumentContentChangePartial:
    """An incremental change."""
    return types.TextDocumentContentChangePartial(range=types.Range(start=start, end=end), text=text)


class Reference:
    """LSP's documents, written down as slowly and plainly as can be: UTF-16 units in one list."""

    def __init__(self, text: str) -> None:
        self.units = self._units(text)

    @staticmethod
    def _units(text: str) -> list[int]:
        data = text.encode("utf-16-le")
        return [data[n] | data[n + 1] << 8 for n in range(0, len(data), 2)]

    @property
    def text(self) -> str:
        return b"".join(unit.to_bytes(2, "little") for unit in self.units).decode("utf-16-le")

    def index(self, position: types.Position) -> int:
        line, at = 0, 0
        while line < position.line:
            while at < len(self.units) and self.units[at] not in (10, 13):
                at += 1
            if at == len(self.units):
                return at
            at += 2 if self.units[at : at + 2] == [13, 10] else 1
            line += 1
        start = at
        while at - start < position.character and at < len(self.units) and self.units[at] not in (10, 13):
            at += 1
        if start < at < len(self.units) and 0xDC00 <= self.units[at] <= 0xDFFF:
            at -= 1
        return at

    def change(self, start: types.Position, end: types.Position, text: str) -> None:
        low, high = sorted((self.index(start), self.index(end)))
        self.units[low:high] = self._units(text)


TEXTS = st.text(
    st.sampled_from(list("ab \t\n\n\r\x0b\x0c\x1c\x85\u2028\u2029é中😀👩\u200d\u0301\u05d0")), max_size=30
)
POSITIONS = st.builds(at, st.integers(0, 12), st.integers(0, 20))


@given(TEXTS, st.lists(st.tuples(POSITIONS, POSITIONS, TEXTS) | TEXTS, max_size=12))
@settings(max_examples=400)
def test_the_mirror_follows_every_change(text: str, changes: list[Any]) -> None:
    mirror, reference = Mirror(text), Reference(text)
    for change in changes:
        if isinstance(change, str):
            mirror.set(change)
            reference = Reference(change)
        else:
            mirror.splice(*change)
            reference.change(*change)
        assert mirror.text == reference.text
        assert len(mirror) == len(mirror.text)
        assert list(mirror.lines) == re.split(r"(?<=\n)|(?<=\r)(?!\n)", mirror.text)


def test_lines_end_where_lsp_says_and_nowhere_else() -> None:
    """Pygls puts the X behind the form feed and is wrong from then on."""
    document = OpenDocument(URI, "a\n\x0c\nb\nc\n", 1, "text")
    document.apply_change(partial(at(2, 0), at(2, 1), "X"))
    assert document.source == "a\n\x0c\nX\nc\n"


def test_positions_are_clamped() -> None:
    mirror = Mirror("ab\r\ncd")
    mirror.splice(at(0, 99), at(0, 99), "!")
    assert mirror.text == "ab!\r\ncd"
    mirror.splice(at(99, 0), at(99, 5), "?")
    assert mirror.text == "ab!\r\ncd?"
    mirror.splice(at(0, 3), at(0, 4), "")
    assert mirror.text == "ab!\r\ncd?", "one past the end, as Neovim sends it, is the end"


def test_surrogate_pairs_are_never_split() -> None:
    mirror = Mirror("a😀b")
    mirror.splice(at(0, 2), at(0, 3), "x")
    assert mirror.text == "axb"
    halves = Mirror("ab")
    halves.splice(at(0, 1), at(0, 1), "\ud83d")
    halves.splice(at(0, 2), at(0, 2), "\ude00")
    assert halves.text == "a😀b"


def test_line_ends_that_come_in_two_pieces_are_one() -> None:
    mirror = Mirror("a\rb")
    mirror.splice(at(1, 0), at(1, 0), "\n")
    assert mirror.text == "a\r\nb"
    assert list(mirror.lines) == ["a\r\n", "b"]


@pytest.fixture
def documents() -> Documents:
    """An empty workspace."""
    return Documents(None)


def opened(documents: Documents, text: str, version: int = 0) -> OpenDocument:
    """A document that was opened."""
    documents.put_text_document(
        types.TextDocumentItem(uri=URI, language_id="text", version=version, text=text)
    )
    document = documents.open_document(URI)
    assert document is not None
    return document


def changed(documents: Documents, change: Any, version: int = 1) -> None:
    """The client says that the document changed."""
    documents.update_text_document(types.VersionedTextDocumentIdentifier(uri=URI, version=version), change)


def test_clients_that_break_the_rules_are_tolerated(documents: Documents) -> None:
    changed(documents, partial(at(0, 0), at(0, 0), "x"))
    assert documents.open_document(URI) is None
    documents.remove_text_document(URI)
    changed(documents, types.TextDocumentContentChangeWholeDocument(text="whole"), 7)
    document = documents.open_document(URI)
    assert document is not None
    assert (document.source, document.version) == ("whole", 7)
    opened(documents, "again", 0)
    assert opened(documents, "and again", 0).source == "and again"
    documents.remove_text_document(URI)
    documents.remove_text_document(URI)
    assert documents.open_documents() == []


def test_every_single_change_is_observed(documents: Documents) -> None:
    """A client may send our edit and the user's next keys in one notification."""
    opened(documents, "a")
    seen: list[str | None] = []
    end = documents.observe(lambda document, uri: seen.append(document.source if document else None))
    for text in ("b", "c"):
        changed(documents, partial(at(0, 9), at(0, 9), text))
    documents.remove_text_document(URI)
    end()
    opened(documents, "later")
    assert seen == ["ab", "abc", None]


def test_unsaved_text_is_known(documents: Documents) -> None:
    document = opened(documents, "a\nb\n")
    assert document.unsaved is None
    document.saved_as("a\r\nb\r\n")
    assert document.unsaved is False, "an editor may show LF for a file that has CRLF"
    changed(documents, partial(at(0, 0), at(0, 0), "x"))
    assert document.unsaved is True
    changed(documents, partial(at(0, 0), at(0, 1), ""))
    assert document.unsaved is False, "typed and taken back"


def test_a_uri_is_found_however_it_is_encoded(documents: Documents) -> None:
    documents.put_text_document(
        types.TextDocumentItem(uri="file:///c%3A/a%20b.txt", language_id="", version=1, text="x")
    )
    assert documents.open_document("file:///c:/a b.txt") is not None


class Host(LanguageServer):
    """A server with our documents."""

    def __init__(self) -> None:
        super().__init__("test", "1", protocol_cls=DocumentsProtocol)


def initialized(encodings: list[str] | None) -> Host:
    """A server after `initialize`, as a client with these encodings sends it."""
    host = Host()
    general = types.GeneralClientCapabilities(position_encodings=encodings)  # type: ignore[arg-type]
    params = types.InitializeParams(
        capabilities=types.ClientCapabilities(general=general), root_uri="file:///ws", process_id=None
    )
    steps = host.protocol.lsp_initialize(params)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value.capabilities.position_encoding == "utf-16"
    return host


@pytest.mark.parametrize("encodings", [None, ["utf-32", "utf-8", "utf-16"], ["utf-8"]])
def test_positions_are_utf16_whatever_the_client_prefers(encodings: list[str] | None) -> None:
    workspace = initialized(encodings).workspace
    assert isinstance(workspace, Documents)
    assert workspace.root_uri == "file:///ws"


def test_saving_is_advertised_and_noted() -> None:
    host = initialized(None)
    workspace = host.workspace
    assert isinstance(workspace, Documents)
    opened(workspace, "text")
    saved = types.DidSaveTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=URI))
    list(host.protocol.lsp_text_document__did_save(saved))
    document = workspace.open_document(URI)
    assert document is not None
    assert document.unsaved is False
    sync = host.server_capabilities.text_document_sync
    assert isinstance(sync, types.TextDocumentSyncOptions)
    assert sync.save
