"""What a search or a listing may show: nothing that reading by name would not be allowed."""

from pathlib import Path

from magent_lsp.core.document import Document
from magent_lsp.core.tool import Subject, ToolContext, Verdict

_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


class View:
    """The files below one root that a call may show.

    The call itself was judged for its root. So a file is shown if reading it is no stricter than reading
    the root; what would be asked or denied more strictly is left out without a word, as a note would tell
    that a file or a match is there.
    """

    def __init__(self, context: ToolContext, root: Path) -> None:
        self._context = context
        self._root = root
        self._limit = self._strictness(root)
        self._known: dict[Path, bool] = {}

    def shows(self, path: Path) -> bool:
        """Whether the path may be named and its content shown."""
        if path not in self._known:
            self._known[path] = self._strictness(path) <= self._limit
        return self._known[path]

    def unsaved(self) -> list[Document]:
        """Open buffers at or below the root whose text the disk does not have, and that may be shown."""
        return [
            document
            for document in self._context.editor.documents()
            if document.unsaved and document.path.is_relative_to(self._root) and self.shows(document.path)
        ]

    def _strictness(self, path: Path) -> int:
        return _STRICTNESS[self._context.judge(Subject(tool="read_file", kind="path", value=str(path)))]


def subjects(tool: str, path: str) -> tuple[Subject, ...]:
    """What a search or listing touches: its own name's rules count, and those of reading the path."""
    return (
        Subject(tool=tool, kind="path", value=path),
        Subject(tool="read_file", kind="path", value=path),
    )
