"""Messages on their way out hold only what every client can read."""

import re
from typing import Any, Final

_HALF: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2})",
    re.IGNORECASE,
)
"""Half of a character, or a whole one, as JSON in ASCII spells it; behind an even number of backslashes."""


def readable(data: bytes) -> bytes:
    """JSON in ASCII with each half of a character as U+FFFD, and as long as before.

    `json-parse-string` of Emacs 28 and `vim.json.decode` of Neovim 0.7 refuse a message that has one.
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _HALF.sub(lambda found: found[1] + (found[2] or rb"\ufffd"), data)


class Readable:
    """A writer that passes on what every client can read."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._sends_halves = False

    def heard(self, body: bytes) -> None:
        """Take note of what the client sends: one that has halves in its texts can read them as well.

        An edit of such a line must give what the client had, or the two hold different texts.
        """
        self._sends_halves = self._sends_halves or readable(body) != body

    def write(self, data: bytes) -> Any:
        """Write a message."""
        return self._writer.write(data if self._sends_halves else readable(data))

    def close(self) -> Any:
        """Close the writer."""
        return self._writer.close()
