"""What a look at the set-up found, as values."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    mend: str = ""
    """What to do about it; empty if nothing needs doing."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """Lines that belong together."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that was looked at."""

    sections: tuple[Section, ...]

    @property
    def ok(self) -> bool:
        """Whether an agent can work: nothing failed."""
        return all(line.state != "fail" for section in self.sections for line in section.lines)

    def markdown(self) -> str:
        """The report as a document."""
        marks = {"ok": "✓", "warn": "!", "fail": "✗"}
        parts = ["# Magent doctor"]
        for section in self.sections:
            parts.append(f"## {section.title}")
            lines = []
            for line in section.lines:
                lines.append(f"- {marks[line.state]} **{line.name}**: {line.detail}")
                lines += [f"  - {line.mend}"] if line.mend else []
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"
