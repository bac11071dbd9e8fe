"""What is wrong with a file that a person wrote, so that they can mend it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from magent_lsp.core.errors import ConfigError

MOST: Final = 20
"""Problems of one file that are told one by one."""
LONGEST: Final = 400
"""Characters of a message."""
UNTRUSTED: Final = "until this project is trusted"
"""Stands in the message of every problem that is none once the person trusts the project."""


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

    @property
    def needs_trust(self) -> bool:
        """Whether nothing is wrong but that the project is not trusted."""
        return UNTRUSTED in self.message

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part)
        return f"{place}: {self.message}" if self.path else self.message


def bounded(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems, without repetition and so that people can read them: few of each file, none too long."""
    found: dict[Path | None, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        found.setdefault(problem.path, []).append(problem)
    result: list[Problem] = []
    for path, each in found.items():
        result += map(_shortened, each[:MOST])
        if len(each) > MOST:
            result.append(Problem(message=f"{len(each) - MOST} more problems in this file", path=path))
    return tuple(result)


def _shortened(problem: Problem) -> Problem:
    if len(problem.message) <= LONGEST:
        return problem
    half = LONGEST // 2
    return replace(problem, message=f"{problem.message[:half]} … {problem.message[-half:]}")


def from_error(error: ConfigError, path: Path | None = None) -> Problem:
    """The problem that an exception told of."""
    return Problem(message=error.reason, path=error.path or path, line=error.line, severity="error")
