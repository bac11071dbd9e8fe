"""What is wrong with a file that a person wrote, so that they can mend it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from magent_lsp.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that was skipped or replaced by its default; it never stops the server."""

    message: str
    """A sentence that names the thing and what to do."""
    path: Path | None = None
    line: int | None = None
    """Counted from 1; None where no line is to blame."""
    severity: Literal["error", "warning"] = "warning"
    """`error`: the whole file or section is not in force."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part)
        return f"{place}: {self.message}" if self.path else self.message


def from_error(error: ConfigError, path: Path | None = None) -> Problem:
    """The problem that an exception told of."""
    return Problem(message=error.reason, path=error.path or path, line=error.line, severity="error")
