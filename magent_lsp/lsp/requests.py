"""Our own requests, which answer when a run ends: `magent/ask` and `magent/wait`."""

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from magent_lsp.core.errors import CallerError
from magent_lsp.core.events import ReasoningDeltaEvent, RunEvent, RunFinished, TextDeltaEvent, to_json
from magent_lsp.lsp.commands.arguments import AskArguments, WaitArguments, check
from magent_lsp.lsp.commands.runs import question, title_of
from magent_lsp.lsp.protocol import ASK, WAIT, finished_event
from magent_lsp.lsp.watch import Watched

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

Token = types.ProgressToken


async def ask(edge: "Edge", params: Any) -> dict[str, Any]:
    """Ask about a place and wait for the answer; a cancelled request cancels the run.

    With a `partialResultToken` pieces of the answer are sent as `$/progress`, shaped as their events.
    """
    given, work, partial = _tokens(ASK, params)
    request = await question(edge, check(ASK, AskArguments, given))
    watched = Watched(title=title_of(request.prompt), prompt=request.prompt, quiet=True, token=work)
    started = await edge.begin(request, watched)
    if partial is not None:
        edge.watch.listen(started.run_id, lambda event: _stream(edge, partial, event))
    outcome: RunFinished | None = None
    try:
        outcome = await edge.app.wait(started.run_id)
    finally:
        if outcome is None:
            edge.cancel(started.run_id)
    return {"runId": started.run_id, "sessionId": started.session_id, **finished_event(outcome, edge.spell)}


async def wait(edge: "Edge", params: Any) -> Any:
    """The `run_finished` event of a run, when it has ended; cancelling only ends the waiting."""
    given, _, _ = _tokens(WAIT, params)
    arguments = check(WAIT, WaitArguments, given)
    return finished_event(await edge.app.wait(arguments.run_id), edge.spell)


def _tokens(method: str, params: Any) -> tuple[dict[str, Any], Token | None, Token | None]:
    """The arguments without LSP's tokens, and the two tokens."""
    if isinstance(params, list) and len(params) == 1:
        params = params[0]
    if params is not None and not isinstance(params, dict):
        raise CallerError(f"{method}: expected an object as the parameters, got {type(params).__name__}.")
    given = dict(params or {})
    work, partial = given.pop("workDoneToken", None), given.pop("partialResultToken", None)
    for name, token in (("workDoneToken", work), ("partialResultToken", partial)):
        if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
            raise CallerError(f"{method}: {name!r} is neither a string nor an integer.")
    return given, work, partial


def _stream(edge: "Edge", token: Token, event: RunEvent) -> None:
    if isinstance(event, TextDeltaEvent | ReasoningDeltaEvent):
        edge.server.progress(types.ProgressParams(token=token, value=to_json(event)))
