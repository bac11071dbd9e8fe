"""What a search or a listing may show: nothing that reading by name would not be allowed."""

from pathlib import Path

from magent_lsp.core.document import Document
from magent_lsp.core.tool import Subject, ToolContext, Verdict

_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


class View:
    """The files below one root that a call may show.

    The call itself was judged for its root. So a file is shown if its verdict is no stricter than that of
    the root; what would be asked or denied more strictly is left out without a word, as a note would tell
    that a file or a match is there.
    """

    def __init__(self, context: ToolContext, root: Path, *tools: str) -> None:
        """`tools` are those whose rules count; a denied `read_file` counts for each of them."""
        self._context = context
        self._tools = tools
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
        judge = self._context.judge
        found = (judge(Subject(tool=tool, kind="path", value=str(path))) for tool in self._tools)
        return max(_STRICTNESS[verdict] for verdict in found)


def subjects(path: str, *tools: str) -> tuple[Subject, ...]:
    """What a search or listing touches, once for each tool whose rules count."""
    return tuple(Subject(tool=tool, kind="path", value=path) for tool in tools)
