"""What the client says is wrong in a document; its code action requests tell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from lsprotocol import types

from magent_lsp.core.request import Diagnostic
from magent_lsp.lsp.convert import to_path, to_span
from magent_lsp.lsp.documents import Documents, OpenDocument

_SEVERITIES: dict[types.DiagnosticSeverity, Literal["error", "warning", "information", "hint"]] = {
    types.DiagnosticSeverity.Error: "error",
    types.DiagnosticSeverity.Warning: "warning",
    types.DiagnosticSeverity.Information: "information",
    types.DiagnosticSeverity.Hint: "hint",
}

_MOST = 1000
"""Diagnostics kept of one document."""


class Diagnostics:
    """Diagnostics of open documents; those of a document are dropped when it changes or closes."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[str, list[types.Diagnostic]] = {}
        documents.observe(lambda _, uri: self._known.pop(unquote(uri), None))

    def remember(self, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Add what a request named; it names only those of its range."""
        known = self._known.setdefault(unquote(uri), [])
        known += [diagnostic for diagnostic in diagnostics if diagnostic not in known]
        del known[_MOST:]

    def of(self, path: Path | None) -> list[Diagnostic]:
        """Diagnostics of one file or of all, in the order of their places."""
        found = []
        for uri, diagnostics in self._known.items():
            document = self._documents.open_document(uri)
            place = to_path(document.uri) if document is not None else None
            if document is not None and place is not None and path in (None, place):
                found += [_diagnostic(place, document, diagnostic) for diagnostic in diagnostics]
        return sorted(found, key=lambda diagnostic: (diagnostic.path, diagnostic.span))


def _diagnostic(path: Path, document: OpenDocument, diagnostic: types.Diagnostic) -> Diagnostic:
    severity = diagnostic.severity or types.DiagnosticSeverity.Error
    return Diagnostic(
        path=path,
        span=to_span(document.source, diagnostic.range),
        severity=_SEVERITIES.get(severity, "error"),
        message=diagnostic.message,
        source=diagnostic.source or "",
        code="" if diagnostic.code is None else str(diagnostic.code),
    )
