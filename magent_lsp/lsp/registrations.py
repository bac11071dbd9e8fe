"""What the client is told that we serve, beside what the handshake says in any case.

Completion and hover are for files of ours alone: other servers have the rest. A client that can is told so,
and asks for nothing else. Any other is told that we have them, and gets empty answers for all other files.
"""

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.convert import to_uri
from magent_lsp.lsp.habits import habits_of
from magent_lsp.lsp.own_files import WATCHED
from magent_lsp.lsp.settings import SECTION

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

TRIGGERS: Final = ("/", "@")


def announce(result: types.InitializeResult, params: types.InitializeParams) -> None:
    """Put completion and hover into the answer for clients to whom they cannot be registered later."""
    documents = params.capabilities.text_document
    alone = habits_of(params.client_info, params.capabilities).one_completion
    wanted = documents is not None and documents.completion is not None and not alone
    later = _dynamic(documents.completion if documents else None)
    result.capabilities.completion_provider = (
        types.CompletionOptions(trigger_characters=list(TRIGGERS)) if wanted and not later else None
    )
    wanted = documents is not None and documents.hover is not None
    later = _dynamic(documents.hover if documents else None)
    result.capabilities.hover_provider = True if wanted and not later else None
    lens, folds = (documents.code_lens, documents.folding_range) if documents else (None, None)
    if lens is None or _dynamic(lens):
        result.capabilities.code_lens_provider = None
    if folds is None or _dynamic(folds):
        result.capabilities.folding_range_provider = None


def later(edge: "Edge", capabilities: types.ClientCapabilities) -> list[types.Registration]:
    """What is registered once the connection stands."""
    return [*_workspace(edge, capabilities.workspace), *_documents(edge, capabilities.text_document)]


def _dynamic(capability: Any) -> bool:
    return capability is not None and bool(capability.dynamic_registration)


def _documents(
    edge: "Edge", documents: types.TextDocumentClientCapabilities | None
) -> list[types.Registration]:
    if documents is None:
        return []
    from magent_lsp.lsp.ours import selector

    files = {"documentSelector": selector(edge)}
    chats = {"documentSelector": [{"scheme": "file", "pattern": f"**/*{SUFFIX}"}]}
    completion = {**files, "triggerCharacters": [*TRIGGERS]}
    served = (
        ("completion", documents.completion, types.TEXT_DOCUMENT_COMPLETION, completion),
        ("hover", documents.hover, types.TEXT_DOCUMENT_HOVER, files),
        ("lens", documents.code_lens, types.TEXT_DOCUMENT_CODE_LENS, chats),
        ("folds", documents.folding_range, types.TEXT_DOCUMENT_FOLDING_RANGE, chats),
    )
    return [
        types.Registration(id=f"magent-{name}", method=method, register_options=options)
        for name, capability, method, options in served
        if _dynamic(capability)
    ]


def _workspace(edge: "Edge", workspace: types.WorkspaceClientCapabilities | None) -> list[types.Registration]:
    found: list[types.Registration] = []
    if workspace is None:
        return found
    if _dynamic(workspace.did_change_configuration):
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        options: Any = {"section": SECTION}
        found.append(types.Registration(id="magent-configuration", method=method, register_options=options))
    files = workspace.did_change_watched_files
    if files is not None and files.dynamic_registration:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        if files.relative_pattern_support:
            user = types.RelativePattern(base_uri=to_uri(edge.dirs.user), pattern="**/*")
            watchers.append(types.FileSystemWatcher(glob_pattern=user))
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        found.append(types.Registration(id="magent-files", method=method, register_options=options))
    return found
