"""Logging: to stderr or a file, and to the editor by `window/logMessage`."""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from lsprotocol import types

from magent_lsp.llm.secrets import known_secrets, redact

LIMIT = 4000
"""Characters of one record that reach the editor."""

LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}

_TYPES = (
    (logging.ERROR, types.MessageType.Error),
    (logging.WARNING, types.MessageType.Warning),
    (logging.INFO, types.MessageType.Info),
)


class Redacting(logging.Formatter):
    """Formats a record and takes known secrets out of the result."""

    def __init__(self, pattern: str, redact: Callable[[str], str]) -> None:
        super().__init__(pattern)
        self.redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One record as text without secrets."""
        return self.redact(super().format(record))


class EditorLog(logging.Handler):
    """Sends our own records to the client; never those of the protocol library."""

    def __init__(
        self,
        send: Callable[[types.LogMessageParams], None],
        redact: Callable[[str], str],
        ours: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(logging.WARNING)
        self._send = send
        self._ours = ours
        """Whether the record that is just made belongs to this client and not to another of the process."""
        self.setFormatter(Redacting("%(name)s: %(message)s", redact))

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; a client that is gone is no reason to fail."""
        if not self._ours():
            return
        try:
            text = self.format(record)
            kind = next((kind for level, kind in _TYPES if record.levelno >= level), types.MessageType.Log)
            self._send(types.LogMessageParams(type=kind, message=text[:LIMIT]))
        except Exception:
            self.handleError(record)


def redactor(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Takes the secrets of an environment, and what looks like a key, out of a text."""
    secrets = known_secrets(environ)
    return lambda text: redact(text, secrets)


def configure(*, log_file: Path | None = None, verbosity: int = 0) -> None:
    """Set up logging of the process: stderr or a file; `-v` shows more. Pygls logs whole messages at INFO."""
    handler: logging.Handler
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(log_file, encoding="utf-8")
    else:
        handler = logging.StreamHandler(sys.stderr)
    pattern = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(Redacting(pattern, redactor(os.environ)))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("magent_lsp").setLevel(
        (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    )
    logging.getLogger("pygls").setLevel(logging.WARNING)


def follow_settings(handler: EditorLog, level: str) -> None:
    """Let the editor see our records from `level` on, a name of the setting `log`."""
    handler.setLevel(LEVELS[level])
    ours = logging.getLogger("magent_lsp")
    if LEVELS[level] < ours.getEffectiveLevel():
        ours.setLevel(LEVELS[level])
