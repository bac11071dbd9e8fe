"""Shows what is wrong in the files that people write, as diagnostics on those files."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from magent_lsp.core.ways import Ways
from magent_lsp.lsp.convert import to_uri
from magent_lsp.store.problems import Problem

if TYPE_CHECKING:
    from magent_lsp.lsp.server import MagentServer

SOURCE = "magent"

_SEVERITY = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
_TRUST: Final = Ways().trust


class Problems:
    """What was published, so that a mended file is cleared and nothing is said twice."""

    def __init__(self, server: "MagentServer") -> None:
        self._server = server
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._said: set[Problem] = set()

    def publish(self, problems: Sequence[Problem]) -> None:
        """Replace all diagnostics of ours."""
        by_uri: dict[str, list[types.Diagnostic]] = defaultdict(list)
        for problem in problems:
            if problem.path is not None:
                by_uri[to_uri(problem.path.absolute())].append(_diagnostic(problem))
        for uri in [*self._published.keys() - by_uri.keys(), *by_uri]:
            diagnostics = by_uri.get(uri, [])
            if diagnostics != self._published.get(uri, []):
                self._server.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
                )
        self._published = dict(by_uri)

    def announce(self, problems: Sequence[Problem]) -> None:
        """Say once, in one message, what is new."""
        fresh = [problem for problem in problems if problem not in self._said]
        # A problem that was mended and comes back is news again.
        self._said = set(problems)
        if fresh:
            more = f" (and {len(fresh) - 1} more: see magent.status)" if len(fresh) > 1 else ""
            worst = min(fresh, key=lambda problem: problem.severity != "error")
            kind = types.MessageType.Error if worst.severity == "error" else types.MessageType.Warning
            self._server.message(kind, f"Magent: {replace(worst, message=_message(worst))}{more}")


def _message(problem: Problem) -> str:
    """The problem, with the way to trust where only that is missing."""
    return f"{problem.message} ({_TRUST})" if problem.needs_trust else problem.message


def _diagnostic(problem: Problem) -> types.Diagnostic:
    line = max((problem.line or 1) - 1, 0)
    return types.Diagnostic(
        range=types.Range(types.Position(line, 0), types.Position(line + 1, 0)),
        message=_message(problem),
        severity=_SEVERITY[problem.severity],
        source=SOURCE,
    )
