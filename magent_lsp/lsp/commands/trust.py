"""Trusting the config that a project brings along."""

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.errors import CallerError, MagentError, UserError
from magent_lsp.lsp.commands.arguments import TrustArguments
from magent_lsp.lsp.convert import to_path

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge
    from magent_lsp.store.trust import Review

TRUST = "Trust it"
NOT_NOW = "Not now"

LONG = 1500
"""Characters of a review that a dialog can show; a longer one is opened as a document."""


async def trust(edge: "Edge", arguments: TrustArguments) -> dict[str, Any]:
    """Show what trusting a project would allow or run, and ask; with a `digest`, trust exactly that."""
    folder = to_path(arguments.folder) if arguments.folder else None
    if arguments.folder and folder is None:
        raise CallerError(f"'folder' {arguments.folder!r} is no file URI of a folder.")
    review = await edge.in_thread(edge.app.review_trust, folder)
    if arguments.digest is not None:
        if arguments.digest != review.digest:
            raise CallerError("'digest': the project's config changed since it was shown; ask again.")
        _trust(edge, review)
        trusted = True
    else:
        # Not what was loaded: files may have come since.
        trusted = await edge.in_thread(edge.app.trust_store.is_trusted, review.folder)
        if not trusted:
            edge.reviewing = review
            edge.spawn(_ask(edge, review), name="trust question")
        else:
            said = str(review) if review.empty else f"The config of {review.folder} is trusted already."
            edge.server.message(types.MessageType.Info, f"Magent: {said}")
    return {
        "folder": str(review.folder),
        "digest": review.digest,
        "trusted": trusted,
        "items": list(review.lines()),
    }


async def _ask(edge: "Edge", review: "Review") -> None:
    text, outcomes = str(review), edge.watch.outcomes
    if len(text) > LONG:
        try:
            path = await outcomes.keep("trust", "trust this project", f"{text}\n")
        except UserError:
            pass  # then all of it is in the message
        else:
            opened = edge.can_show_documents and await outcomes.open_document(path)
            where = "The document that was opened" if opened else str(path)
            text = f"Trust the config of {review.folder}? {where} says what it would do."
    params = types.ShowMessageRequestParams(
        type=types.MessageType.Warning,
        message=f"Magent: {text}",
        actions=[types.MessageActionItem(title=TRUST), types.MessageActionItem(title=NOT_NOW)],
    )
    try:
        answer = await edge.server.protocol.call(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=None)
    except JsonRpcException:
        edge.server.message(
            types.MessageType.Warning, f"Magent: {text}\nAnswer with the code action `{TRUST}`."
        )
        return
    edge.reviewing = None
    if getattr(answer, "title", None) != TRUST:
        return
    try:
        _trust(edge, review)
    except MagentError as error:
        edge.server.message(types.MessageType.Error, f"Magent: {error}")


def _trust(edge: "Edge", review: "Review") -> None:
    edge.app.trust(review)
    edge.reviewing = None
    edge.reload()
    edge.server.message(types.MessageType.Info, f"Magent: the config of {review.folder} is trusted now.")
