"""Watches all runs of a client, and shows each in the way that this client can show it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types

from magent_lsp.core.events import (
    EditApplied,
    Envelope,
    Notice,
    RunEvent,
    RunFinished,
    RunStarted,
    TodoUpdated,
)
from magent_lsp.core.session import step_of
from magent_lsp.lsp.outcomes import Outcomes, closing_words
from magent_lsp.lsp.progress import THINKING, WRITING, Progress, say, waiting_words
from magent_lsp.lsp.protocol import EVENT, event_params

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

logger = logging.getLogger(__name__)

REMEMBERED = 200
"""Finished runs whose edited files are still known."""

Listener = Callable[[RunEvent], None]


@dataclass(kw_only=True)
class Watched:
    """What the edge knows of a run."""

    title: str
    prompt: str = ""
    document: bool = False
    """Whether the answer is wanted as a document, however short it is."""
    quiet: bool = False
    """The answer reaches the person in another way: a response, or a chat document."""
    token: types.ProgressToken | None = None
    """A progress token that the client made."""
    parent: str | None = None
    step: str = ""
    """Where the agent stands in its list, shown while it thinks."""
    uris: dict[str, None] = field(default_factory=dict)
    """Files that the run changed, or may have, in order."""
    edited: int = 0
    """Which edit of all was its last one."""
    guest: bool = False
    """Another program's agent works in it, and it goes on for a while after each call."""
    listeners: list[Listener] = field(default_factory=list)
    finished: bool = False


class Watch:
    """The event sink of one client."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge
        self._runs: dict[str, Watched] = {}
        self._edits = 0
        self.progress = Progress(edge.server, edge.cancel)
        self.outcomes = Outcomes(edge)

    def follow(self, run_id: str, watched: Watched) -> None:
        """Show a run that was just started."""
        watched.title, watched.prompt = self._edge.redact(watched.title), self._edge.redact(watched.prompt)
        self._runs[run_id] = watched
        if self._edge.shows_progress or watched.token is not None:
            self.progress.begin(run_id, watched.title, watched.token)
        elif not self._edge.client.events and not watched.quiet:
            self._edge.server.message(types.MessageType.Info, f"{watched.title} …")
        self._forget_old()

    def listen(self, run_id: str, listener: Listener) -> None:
        """Hand every further event of a run to somebody."""
        self._run(run_id).listeners.append(listener)

    def uris(self, run_id: str) -> list[str]:
        """Files that a run of this connection changed, or may have."""
        return list(self._run(run_id).uris) if run_id in self._runs else []

    def emit(self, event: Envelope) -> None:
        """Take an event of a run."""
        run = self._run(event.run_id)
        match event.event:
            case RunStarted(parent_run_id=parent) if parent is not None:
                run.parent = parent
            case EditApplied(uri=uri, outcome="applied" | "diverged" | "unknown"):
                root = self._run(self._root(event.run_id))
                self._edits += 1
                root.uris[uri], root.edited = None, self._edits
            case TodoUpdated(items=items):
                run.step = step_of(items)
            case RunFinished() as finished:
                run.finished = True
                if run.parent is None:
                    self.progress.end(event.run_id, closing_words(finished))
        self._report(event, run)
        if self._edge.client.events:
            self._edge.server.protocol.notify(
                EVENT, event_params(event, self._edge.spell, self._edge.open_text)
            )
        elif run.parent is None and not run.quiet:
            self._show(event, run)
        for listener in run.listeners:
            listener(event.event)

    def close(self) -> None:
        """End all progress: the connection closes."""
        self.progress.end_all("stopped")

    def _report(self, event: Envelope, run: Watched) -> None:
        words = say(event.event)
        if words is None or isinstance(event.event, RunFinished):
            return
        if isinstance(event.event, RunStarted) and not run.step and not self._edge.model_ready:
            words = "loading model client"
        elif words in (THINKING, WRITING) and run.step:  # a model also writes between its steps
            words = run.step
        root = self._root(event.run_id)
        asked = next((each for each in self._edge.app.pending() if each.run_id == root), None)
        if asked is not None:  # whatever goes on beside it
            words = waiting_words(asked)
        elif root != event.run_id:
            words = f"subagent: {words}"
        self.progress.report(root, words)

    def _show(self, event: Envelope, run: Watched) -> None:
        match event.event:
            case Notice(level="warning" | "error" as level, message=message) if not self._known(message):
                kind = types.MessageType.Error if level == "error" else types.MessageType.Warning
                self._edge.server.message(kind, f"Magent: {message}")
            case Notice(level="info", message=message) if not self._edge.shows_progress:
                params = types.LogMessageParams(type=types.MessageType.Info, message=f"Magent: {message}")
                self._edge.server.window_log_message(params)
            case RunFinished() as finished:
                self.outcomes.show(event.run_id, run, finished)

    def _known(self, message: str) -> bool:
        """Whether a notice only repeats what is shown of a file of the user already."""
        return any(problem.message in message for problem in self._edge.app.problems)

    def last_with_edits(self) -> tuple[str, Watched] | None:
        """The run that changed something last, of those that ended and those of guests; for undo."""
        undoable = [
            (run_id, run)
            for run_id, run in self._runs.items()
            if (run.finished or run.guest) and run.uris and run.parent is None
        ]
        return max(undoable, key=lambda each: each[1].edited, default=None)

    def _run(self, run_id: str) -> Watched:
        return self._runs.setdefault(run_id, Watched(title="Magent"))

    def _root(self, run_id: str) -> str:
        seen = {run_id}
        while (
            (run := self._runs.get(run_id)) is not None and run.parent is not None and run.parent not in seen
        ):
            run_id = run.parent
            seen.add(run_id)
        return run_id

    def _forget_old(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.finished]
        for run_id in ended[: max(len(ended) - REMEMBERED, 0)]:
            del self._runs[run_id]
