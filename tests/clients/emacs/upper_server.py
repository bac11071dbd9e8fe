"""Another language server: it complains about one line and can turn text into capitals."""

from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("upper", "1", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def opened(params: types.DidOpenTextDocumentParams) -> None:
    """Complain about the first line that is long."""
    found = [
        types.Diagnostic(
            range=types.Range(types.Position(number, 0), types.Position(number, len(line) - 1)),
            message="long line",
            source="upper",
            severity=types.DiagnosticSeverity.Warning,
        )
        for number, line in enumerate(params.text_document.text.splitlines())
        if len(line) > 80
    ]
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=found[:1])
    )


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
    """One action, which needs no command."""
    document = server.workspace.get_text_document(params.text_document.uri)
    where = params.range
    line = document.lines[where.start.line][where.start.character : where.end.character]
    edit = types.TextEdit(range=where, new_text=line.upper())
    other = types.CodeAction(title="Upper: nothing", kind=types.CodeActionKind.QuickFix)
    return [
        types.CodeAction(
            title="Upper: case", edit=types.WorkspaceEdit(changes={params.text_document.uri: [edit]})
        ),
        other,
    ]


@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
def configured(params: Any) -> None:
    """Eglot sends it to everybody."""


if __name__ == "__main__":
    server.start_io()
