"""Changes to files, as values."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple


class Replacement(NamedTuple):
    """Put `text` in the place of `[start, end)`, code-point offsets into the document's text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class TextEdits:
    """Replacements of one document, all computed on the same text."""

    path: Path
    replacements: tuple[Replacement, ...]
    """Sorted and not overlapping."""
    before: str
    """The whole text they were computed on."""
    after: str
    """The whole text they give."""
    real_path: Path | None = None
    """Where the path really leads, as it was judged; the write fails if that changed."""


@dataclass(frozen=True, kw_only=True)
class CreateFile:
    """A new text file; fails if the path exists."""

    path: Path
    text: str
    real_path: Path | None = None
    mode: int | None = None
    """Permission bits, for a file that was there before; None: as any new file."""


@dataclass(frozen=True, kw_only=True)
class RenameFile:
    """Move a file; fails if the target exists."""

    path: Path
    target: Path
    before: str
    """The text it was judged on."""


@dataclass(frozen=True, kw_only=True)
class DeleteFile:
    """Remove a file; fails if it no longer holds `before`."""

    path: Path
    before: str
    real_path: Path | None = None


FileEdit = TextEdits | CreateFile | RenameFile | DeleteFile

Outcome = Literal["applied", "rejected", "stale", "diverged", "unknown"]


@dataclass(frozen=True, kw_only=True)
class EditOutcome:
    """What became of one FileEdit, as far as it could be verified."""

    path: Path
    outcome: Outcome
    detail: str = ""
    """A sentence for the model and the person; empty when simply applied."""
    saved: bool = True
    """False when the new text is only in an unsaved buffer."""


def apply_replacements(text: str, replacements: Iterable[Replacement]) -> str:
    """The text after all replacements; ValueError if they overlap or leave the text."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(replacements, key=lambda r: (r.start, r.end)):
        if not at <= start <= end <= len(text):
            raise ValueError(f"replacement {start}-{end} overlaps another or leaves the text")
        parts += (text[at:start], new)
        at = end
    parts.append(text[at:])
    return "".join(parts)
