"""A language server that is not ours: it renames nothing, but offers an action and sees every change."""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("other", "1")


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
    """One action, which puts a comment on the first line."""
    first = types.Range(types.Position(0, 0), types.Position(0, 0))
    edit = types.WorkspaceEdit(changes={params.text_document.uri: [types.TextEdit(first, "# other\n")]})
    return [types.CodeAction(title="Other: comment", kind=types.CodeActionKind.QuickFix, edit=edit)]


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover:
    """The whole text as this server sees it, so that a test can compare."""
    return types.Hover(contents=server.workspace.get_text_document(params.text_document.uri).source)


if __name__ == "__main__":
    server.start_io()
