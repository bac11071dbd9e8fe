"""Commands about runs: start, steer, cancel, take back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magent_lsp.core.request import RunRequest
from magent_lsp.lsp.commands.arguments import (
    AskArguments,
    MaybeRunArguments,
    Nothing,
    PromptArguments,
    RunArguments,
    SteerArguments,
    shorten,
)
from magent_lsp.lsp.convert import to_uri
from magent_lsp.lsp.focus import look
from magent_lsp.lsp.watch import Watched

if TYPE_CHECKING:
    from magent_lsp.app import Started
    from magent_lsp.engine.undo import UndoReport
    from magent_lsp.lsp.edge import Edge

ASK_AGENT = "ask"
"""The read-only agent that answers questions at a place."""

EXPLAIN = "/explain"

UNDO_SECONDS = 5
"""What is not confirmed by then counts as a conflict."""


async def prompt(edge: "Edge", arguments: PromptArguments) -> dict[str, Any]:
    """Start a run; answers when it is started or queued."""
    looking = await look(
        edge,
        arguments.uri,
        arguments.range,
        scope=arguments.scope,
        diagnostics=arguments.diagnostics,
    )
    request = RunRequest(
        prompt=arguments.prompt,
        agent=arguments.agent,
        session_id=arguments.session_id,
        folder=looking.folder,
        focus=looking.focus,
        scope=looking.scope,
        model=arguments.model,
        extra=looking.extra,
    )
    watched = Watched(title=title_of(arguments.prompt), prompt=arguments.prompt)
    return acknowledged(await edge.begin(request, watched))


async def ask(edge: "Edge", arguments: AskArguments) -> dict[str, Any]:
    """Ask about a place; the answer is shown when the run ends."""
    request = await question(edge, arguments)
    watched = Watched(title=title_of(request.prompt), prompt=request.prompt, document=True)
    return acknowledged(await edge.begin(request, watched))


async def question(edge: "Edge", arguments: AskArguments) -> RunRequest:
    """The request of `magent.ask`: read-only, about the place that is named."""
    looking = await look(edge, arguments.uri, arguments.stretch, diagnostics=arguments.diagnostics)
    return RunRequest(
        prompt=arguments.question or EXPLAIN,
        agent=ASK_AGENT,
        passing=True,
        session_id=arguments.session_id,
        folder=looking.folder,
        focus=looking.focus,
        extra=looking.extra,
    )


async def steer(edge: "Edge", arguments: SteerArguments) -> dict[str, bool]:
    """Say something to a running run, taken in between two steps."""
    return {"ok": edge.app.steer(arguments.run_id, arguments.message)}


async def cancel(edge: "Edge", arguments: MaybeRunArguments) -> dict[str, list[str]]:
    """Cancel one run, or all of this client."""
    return {"cancelled": edge.cancel(arguments.run_id)}


async def status(edge: "Edge", arguments: Nothing) -> dict[str, Any]:
    """What runs and what is configured."""
    return edge.app.status()


async def undo(edge: "Edge", arguments: RunArguments) -> dict[str, list[str]]:
    """Take back the edits of a run."""
    return await take_back(edge, arguments.run_id, redo=False)


async def redo(edge: "Edge", arguments: RunArguments) -> dict[str, list[str]]:
    """Bring back what `undo` took."""
    return await take_back(edge, arguments.run_id, redo=True)


async def take_back(edge: "Edge", run_id: str, *, redo: bool) -> dict[str, list[str]]:
    """Undo or redo a run; what is not confirmed in time is among the conflicts."""
    mark = len(edge.editor.applied)
    work = edge.spawn(
        edge.app.redo(run_id) if redo else edge.app.undo(run_id),
        name=f"{'redo' if redo else 'undo'} {run_id}",
    )
    done, _ = await asyncio.wait([work], timeout=UNDO_SECONDS)
    if not done:
        # It goes on: an edit that is on its way cannot be called back, only not vouched for.
        landed = set(_uris(edge, edge.editor.applied[mark:]))
        uris = [edge.spell(uri) for uri in edge.watch.uris(run_id)]
        return {
            "restored": [uri for uri in uris if uri in landed],
            "conflicts": [uri for uri in uris if uri not in landed],
        }
    report: UndoReport = work.result()
    return {"restored": _uris(edge, report.restored), "conflicts": _uris(edge, report.conflicts)}


def acknowledged(started: "Started") -> dict[str, Any]:
    """The acknowledgement of a prompt."""
    answer: dict[str, Any] = {"runId": started.run_id, "sessionId": started.session_id}
    if started.queued:
        answer["queued"] = True
    return answer


def title_of(prompt: str) -> str:
    """The first line of a prompt, as the title of what is shown of its run."""
    lines = prompt.strip().splitlines()
    return f"Magent: {shorten(lines[0], 50)}" if lines else "Magent"


def _uris(edge: "Edge", paths: Sequence[Path]) -> list[str]:
    return [edge.spell(to_uri(path)) for path in paths]
