"""What `magent.status` says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magent_lsp import __version__
from magent_lsp.app.configuration import Configuration
from magent_lsp.app.model_access import ModelAccess
from magent_lsp.core.events import to_json
from magent_lsp.core.messages import Usage
from magent_lsp.core.request import PermissionRequest
from magent_lsp.core.session import Session
from magent_lsp.store.problems import Problem

if TYPE_CHECKING:
    from magent_lsp.engine.run import Run


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """A run that has not ended, for people."""

    run_id: str
    session_id: str
    title: str
    agent: str
    state: str
    doing: str
    parent_run_id: str | None


def run_info(run: "Run") -> RunInfo:
    """A run as people see it."""
    return RunInfo(
        run_id=run.id,
        session_id=run.session.id,
        title=run.session.title,
        agent=run.agent.name,
        state=run.state,
        doing=run.doing,
        parent_run_id=run.parent.id if run.parent else None,
    )


def status(
    configuration: Configuration,
    access: ModelAccess,
    runs: Sequence[RunInfo],
    sessions: Iterable[Session],
    pending: Sequence[PermissionRequest],
    today: Usage,
    outside: Sequence[Problem],
) -> dict[str, Any]:
    """Runs, sessions, model, agent, usage, trust and problems, as plain JSON."""
    sessions = list(sessions)
    chosen = access.chosen
    return {
        "version": __version__,
        "folders": [str(folder) for folder in configuration.folders],
        "model": chosen.model if chosen else configuration.settings.model,
        "modelReason": chosen.reason if chosen else None,
        "agent": configuration.settings.agent,
        "modelClientReady": access.models.ready,
        "runs": [to_json(run) for run in runs],
        "sessions": [
            {
                "sessionId": session.id,
                "title": session.title,
                "agent": session.agent,
                "messages": len(session.messages),
                "todos": [to_json(todo) for todo in session.todos],
                "usage": to_json(session.usage),
            }
            for session in sessions
        ],
        "pending": [to_json(request) for request in pending],
        "usage": to_json(sum((session.usage for session in sessions), start=Usage())),
        "usageToday": to_json(today),
        "trusted": configuration.trusted,
        "problems": [
            {
                "path": str(problem.path) if problem.path else None,
                "line": problem.line,
                "message": problem.message,
                "severity": problem.severity,
            }
            for problem in (*configuration.problems, *outside)
        ],
    }
