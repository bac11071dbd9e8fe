"""A buffer as an editor holds it: UTF-16 positions, LSP's line ends, incremental changes."""

import re
from dataclasses import dataclass, field
from typing import Any

_LINE_END = re.compile(r"\r\n|\n|\r")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass
class Buffer:
    """An open document of a test client."""

    uri: str
    text: str
    language: str = "python"
    version: int = 1
    saved: str | None = None
    history: list[str] = field(default_factory=list)
    """Texts before each edit."""
    first_change: int | None = None
    """The version after the first change, where it is not the next one."""
    counts_late: bool = False
    """Whether the version does not grow before the changes are told."""
    counts_edits: bool = False
    """Whether the version grows with every replacement."""
    unsent: list[dict[str, Any]] = field(default_factory=list)
    """Content changes that the server has not been told of."""

    def offset(self, position: dict[str, int]) -> int:
        """Code-point offset of an LSP position, clamped."""
        starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        if position["line"] >= len(starts):
            return len(self.text)
        start = starts[position["line"]]
        end = starts[position["line"] + 1] if position["line"] + 1 < len(starts) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        units = 0
        for index, character in enumerate(line):
            if units >= position["character"]:
                return start + index
            units += _units(character)
        return start + len(line)

    def position(self, offset: int) -> dict[str, int]:
        """LSP position of a code-point offset."""
        before = self.text[:offset]
        ends = list(_LINE_END.finditer(before))
        start = ends[-1].end() if ends else 0
        return {"line": len(ends), "character": _units(before[start:])}

    def range(self, part: str | None = None) -> dict[str, Any]:
        """The range of the first place of a text; None: all of it."""
        start = 0 if part is None else self.text.index(part)
        end = len(self.text) if part is None else start + len(part)
        return {"start": self.position(start), "end": self.position(end)}

    def counted(self, changes: int) -> int:
        """By how much the version grows."""
        return 0 if self.counts_late else changes if self.counts_edits else 1

    def apply(self, edits: list[dict[str, Any]]) -> None:
        """Apply text edits computed on the present text; the changes are in `unsent`, last place first."""
        placed = sorted(
            (
                (self.offset(edit["range"]["start"]), self.offset(edit["range"]["end"]), edit)
                for edit in edits
            ),
            key=lambda item: item[:2],
            reverse=True,
        )
        placed = [
            (start, end, edit) for start, end, edit in placed if self.text[start:end] != edit["newText"]
        ]
        self.history.append(self.text)
        for start, end, edit in placed:
            span = {"start": self.position(start), "end": self.position(end)}
            self.unsent.append({"range": span, "text": edit["newText"]})
            self.text = self.text[:start] + edit["newText"] + self.text[end:]
        self.version += self.counted(len(placed))
        if self.first_change is not None:
            self.version = max(self.version, self.first_change)
