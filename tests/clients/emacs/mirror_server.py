"""A language server that only mirrors documents, as ours does, and says on demand what it sees."""

from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from magent_lsp.lsp.documents import DocumentsProtocol
from magent_lsp.lsp.wire import plain_converter

server = LanguageServer(
    "mirror", "1", protocol_cls=DocumentsProtocol, converter_factory=plain_converter, max_workers=1
)


@server.command("mirror.text")
def text(argument: Any) -> Any:
    """The text and the version of a document; null if it is not open."""
    document = server.workspace.text_documents.get(_uri(argument))
    return None if document is None else {"text": document.source, "version": document.version}


@server.command("mirror.saved")
def saved(argument: Any) -> Any:
    """Whether the document equals what was saved last."""
    return {"unsaved": server.workspace.text_documents[_uri(argument)].unsaved}


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
def did_save(params: Any) -> None:
    """Declared so that clients send it."""


def _uri(argument: Any) -> str:
    from urllib.parse import unquote

    return unquote(argument["uri"] if isinstance(argument, dict) else argument.uri)


if __name__ == "__main__":
    server.start_io()
