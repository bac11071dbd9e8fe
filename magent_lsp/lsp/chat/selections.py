"""`@selection`: the text that a person last selected in another document."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from magent_lsp.core.document import Position, Span, position_at
from magent_lsp.core.errors import CallerError
from magent_lsp.core.request import Focus
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.convert import to_path, to_span
from magent_lsp.lsp.documents import OpenDocument

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

MENTION: Final = re.compile(r"(?<![\w`@/.])@selection\b(?![\w/.-]*\w)")

UNSEEN: Final = (
    "'@selection': no selection has been seen. Select some text in another document and open its code "
    "actions there: that is how an editor tells what is selected."
)


@dataclass(frozen=True, kw_only=True)
class _Selection:
    path: Path
    uri: str
    range: types.Range
    text: str
    language: str


class Selections:
    """Remembers the last selection of one client."""

    def __init__(self) -> None:
        self._last: _Selection | None = None

    def note(self, document: OpenDocument | None, range: types.Range) -> None:
        """Take a range that the client named; one without text, or of a chat, changes nothing."""
        path = to_path(document.uri) if document is not None else None
        if document is None or path is None or path.name.endswith(SUFFIX):
            return
        text = _text(document, range)
        if text.strip():
            language = document.language_id or ""
            self._last = _Selection(path=path, uri=document.uri, range=range, text=text, language=language)

    def focus(self, edge: "Edge", message: str) -> Focus | None:
        """What `@selection` in a message means; None if it is not there. CallerError if there is none."""
        if MENTION.search(message) is None:
            return None
        focus = self.last(edge)
        if focus is None:
            raise CallerError(UNSEEN)
        return focus

    def last(self, edge: "Edge") -> Focus | None:
        """The selection that was seen last; None: none was."""
        last = self._last
        if last is None:
            return None
        text = edge.open_text(last.uri)
        span = _span(last, text) if text is not None else _plain_span(last.range)
        return Focus(path=last.path, span=span, selection=last.text, language=last.language)


def _plain_span(range: types.Range) -> Span:
    """A place in a text that is not at hand."""
    start, end = range.start, range.end
    return Span(Position(start.line, start.character), Position(end.line, end.character))


def _text(document: OpenDocument, range: types.Range) -> str:
    mirror = document.mirror
    (first, left), (last, right) = sorted((mirror.locate(range.start), mirror.locate(range.end)))
    if first == last:
        return mirror.lines[first][left:right]
    return "".join([mirror.lines[first][left:], *mirror.lines[first + 1 : last], mirror.lines[last][:right]])


def _span(selection: _Selection, text: str) -> Span:
    """Where the selected text is now: the text may have moved since."""
    span = to_span(text, selection.range)
    starts = [match.start() for match in re.finditer(re.escape(selection.text), text)]
    if not starts:
        return span
    size = len(selection.text)
    places = [Span(position_at(text, start), position_at(text, start + size)) for start in starts[:50]]
    return min(places, key=lambda place: abs(place.start.line - span.start.line))
