"""What is logged to a terminal: a line for each warning; the rest only for those who ask."""

import logging
import sys
import warnings


class _OneLine(logging.Formatter):
    """Leaves tracebacks out."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}; -vv shows where"
        return " ".join(text.split())


def configure(verbosity: int) -> None:
    """Log to stderr: 0 warnings of ours and errors of others, 1 information, 2 everything with tracebacks."""
    handler = logging.StreamHandler(sys.stderr)
    if verbosity < 2:
        handler.setFormatter(_OneLine())
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.ERROR if verbosity < 2 else logging.INFO)
    ours = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    logging.getLogger("magent_lsp").setLevel(ours)
    if not sys.warnoptions and verbosity < 2:
        warnings.simplefilter("ignore")
