"""The tasks of all runs: what runs now, what waits, and that each ends in one visible outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from magent_lsp.core.errors import MagentError, UnknownId
from magent_lsp.core.events import Notice, RunFinished, RunQueued
from magent_lsp.core.request import StopReason
from magent_lsp.engine.emitter import redacted
from magent_lsp.engine.run import Run
from magent_lsp.engine.scopes import overlap

logger = logging.getLogger(__name__)

Drive = Callable[[Run], Awaitable[StopReason]]

REMEMBERED = 200
"""Finished runs whose outcome can still be asked for."""


class Runs:
    """Owns every run's task.

    A prompt to a session that is busy waits for it, and so does a scoped run that overlaps another.
    """

    def __init__(self, drive: Drive, settled: Callable[[Run], None]) -> None:
        self._drive = drive
        self._settled = settled
        """Told when a run has ended, before its last event."""
        self._active: dict[str, Run] = {}
        self._waiting: list[Run] = []
        self._ended: dict[str, RunFinished] = {}
        self._closing = False

    def start(self, run: Run) -> bool:
        """Begin a run, or queue it; returns whether it was queued."""
        run.finished = asyncio.get_running_loop().create_future()
        if self._blocked(run, self._waiting):
            self._waiting.append(run)
            run.emit(RunQueued(position=len(self._waiting)))
            return True
        self._launch(run)
        return False

    async def run_child(self, child: Run) -> RunFinished:
        """Run a subagent to its end; cancelled with the caller."""
        child.finished = asyncio.get_running_loop().create_future()
        self._launch(child)
        try:
            return await asyncio.shield(child.finished)
        except asyncio.CancelledError:
            await self._stop(child)
            raise

    async def wait(self, run_id: str) -> RunFinished:
        """The outcome of a run; UnknownId if there is no such run."""
        if run_id in self._ended:
            return self._ended[run_id]
        run = self.find(run_id)
        assert run.finished is not None
        return await asyncio.shield(run.finished)

    def find(self, run_id: str) -> Run:
        """A run that has not ended."""
        run = self._active.get(run_id) or next((r for r in self._waiting if r.id == run_id), None)
        if run is None:
            raise UnknownId(f"There is no run {run_id!r} that has not ended.")
        return run

    def unfinished(self) -> list[Run]:
        """Runs that work or wait, in the order in which they were asked for."""
        return [*self._active.values(), *self._waiting]

    def notify(self, text: str) -> None:
        """Say something that concerns everybody in each run that a person started."""
        for run in self._active.values():
            if run.parent is None:
                run.emit(Notice(level="warning", message=text))

    def cancel(self, run_id: str | None) -> list[str]:
        """Cancel one run, or all; returns the ids of those that had not ended."""
        chosen = [run for run in self.unfinished() if run_id in (None, run.id)]
        for run in chosen:
            if run in self._waiting:
                self._waiting.remove(run)
                self._end(run, "cancelled", None)
            elif run.task is not None:
                run.task.cancel()
        return [run.id for run in chosen]

    async def close(self) -> None:
        """Cancel everything and wait until it has ended."""
        self._closing = True
        tasks = [run.task for run in self._active.values() if run.task is not None]
        self.cancel(None)
        if tasks:
            await asyncio.wait(tasks)

    def _blocked(self, run: Run, earlier: list[Run]) -> bool:
        return any(
            other.session.id == run.session.id or (other.parent is None and overlap(other.scope, run.scope))
            for other in [*self._active.values(), *earlier]
        )

    def _launch(self, run: Run) -> None:
        self._active[run.id] = run
        run.state = "preparing"
        run.task = asyncio.create_task(self._carry(run), name=f"run {run.id}")
        run.task.add_done_callback(lambda task: self._never_began(run))

    async def _carry(self, run: Run) -> None:
        stop: StopReason = "error"
        error: str | None = None
        try:
            stop = await self._drive(run)
        except asyncio.CancelledError:
            stop = "cancelled"
            raise
        except MagentError as failure:
            error = str(failure)
        except Exception as failure:
            logger.exception("run %s failed", run.id)
            error = f"Something went wrong in the agent itself: {failure!r}. The session is kept."
        finally:
            self._end(run, stop, error)

    def _never_began(self, run: Run) -> None:
        # A task that is cancelled before its first step never enters its `try`.
        if run.id in self._active:
            self._end(run, "cancelled", None)

    def _end(self, run: Run, stop: StopReason, error: str | None) -> None:
        self._active.pop(run.id, None)
        run.state = "finished"
        outcome: RunFinished = RunFinished(
            stop_reason=stop,
            text=run.text,
            edits=tuple(run.edits),
            usage=run.usage,
            error=error,
            refused=run.refused,
            protected=run.protected,
        )
        # It is also asked for by itself, past the events.
        outcome = redacted(outcome, run.host.redact)
        try:
            self._settled(run)
        except Exception:  # the outcome must reach people whatever the clean-up does
            logger.exception("cleaning up after run %s failed", run.id)
        self._ended[run.id] = outcome
        while len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]
        run.emit(outcome)
        if run.finished is not None and not run.finished.done():
            run.finished.set_result(outcome)
        self._launch_next()

    def _launch_next(self) -> None:
        if self._closing:
            return
        for run in list(self._waiting):
            earlier = self._waiting[: self._waiting.index(run)]
            if not self._blocked(run, earlier):
                self._waiting.remove(run)
                self._launch(run)

    async def _stop(self, run: Run) -> None:
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait([run.task])
