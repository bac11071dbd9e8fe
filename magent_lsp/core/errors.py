"""The one tree of exceptions, sorted by who must react.

    MagentError
    ├── ToolError            the model: the text becomes a failed tool result and the loop goes on
    │   ├── EditError        the old text of an edit could not be placed; nothing was changed
    │   ├── StaleError       the file is no longer what the edit was computed on
    │   └── MissingError     there is no file at the path
    ├── UserError            the person: something to configure, grant or mend
    │   ├── ConfigError      a file the person wrote is wrong; carries path and line
    │   └── ModelError       the model or its provider; `kind` says whether trying again helps
    └── CallerError          the caller of a command or an API: bad arguments
        └── UnknownId        a run, session or request id that does not exist

Cancellation is never one of these: it is only ever `asyncio.CancelledError`.
"""

from pathlib import Path
from typing import Literal


class MagentError(Exception):
    """Anything this package raises on purpose; `str()` is a sentence for whoever must react."""


class ToolError(MagentError):
    """A tool call failed in a way that the model can react to."""


class EditError(ToolError):
    """An edit could not be placed exactly; the message names lines and what to do next."""


class StaleError(ToolError):
    """The file changed between the moment it was read and the moment of the write."""


class MissingError(ToolError):
    """There is no file at the path, so one can be created there."""


class UserError(MagentError):
    """The person must do something before this can work."""


class ConfigError(UserError):
    """A file that a person wrote is wrong."""

    def __init__(self, reason: str, *, path: Path | None = None, line: int | None = None) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        """Counted from 1; None where no line is to blame."""
        where = f"{path}:{line}" if path and line else str(path) if path else ""
        super().__init__(f"{where}: {reason}" if where else reason)


ModelErrorKind = Literal[
    "auth",  # 401, 403: key missing or refused
    "not_found",  # 404: no such model
    "bad_request",  # 400 and the like: trying again cannot help
    "overflow",  # the context does not fit: compaction, never a retry
    "refused",  # content policy
    "rate_limit",  # 429
    "server",  # 5xx, 529
    "connection",  # refused, reset, DNS
    "timeout",  # no chunk within the bound
    "cut",  # the stream ended without a finish reason
    "unconfigured",  # no model is chosen and none was found
]

RETRIABLE: frozenset[ModelErrorKind] = frozenset({"rate_limit", "server", "connection", "timeout", "cut"})


class ModelError(UserError):
    """A request to the model failed."""

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retry_after: float | None = None,
        mend: str = "",
    ) -> None:
        super().__init__(message)
        self.mend = mend
        """What the person can do, as far as the message names it, for whoever lists it apart."""
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
        """Seconds the provider asked us to wait, if it did."""

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind in RETRIABLE


class CallerError(MagentError):
    """Bad arguments; the message names the field."""


class UnknownId(CallerError):
    """There is no run, session or request with that id."""
