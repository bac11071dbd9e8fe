"""A buffer of the scripted editor: text, version, and edits by UTF-16 positions, written down plainly."""

import re
from dataclasses import dataclass
from typing import Any

_LINE_END = re.compile(r"\r\n|\n|\r")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass
class ScriptedBuffer:
    """An open document."""

    uri: str
    text: str
    version: int = 0

    def offset(self, position: dict[str, int]) -> int:
        """Offset of a position, clamped to the line and the text."""
        starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        if position["line"] >= len(starts):
            return len(self.text)
        at = starts[position["line"]]
        units = position["character"]
        while units > 0 and at < len(self.text) and self.text[at] not in "\r\n":
            units -= _units(self.text[at])
            at += 1
        return at

    def position(self, offset: int) -> dict[str, int]:
        """Position of an offset."""
        ends = list(_LINE_END.finditer(self.text[:offset]))
        return {"line": len(ends), "character": _units(self.text[ends[-1].end() if ends else 0 : offset])}

    def range(self, part: str) -> dict[str, Any]:
        """The range of the first place of a text."""
        start = self.text.index(part)
        return {"start": self.position(start), "end": self.position(start + len(part))}

    def apply(self, edits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Apply edits that were computed on the present text; the changes to tell, last place first."""
        placed = [
            (self.offset(e["range"]["start"]), self.offset(e["range"]["end"]), e["newText"]) for e in edits
        ]
        changes = []
        for start, end, new in sorted(placed, reverse=True):
            changes.append({"range": {"start": self.position(start), "end": self.position(end)}, "text": new})
            self.text = self.text[:start] + new + self.text[end:]
        self.version += 1
        return changes
