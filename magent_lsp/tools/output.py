"""Output of commands and searches, made short enough and clean enough for the model."""

import re

MAX_COLUMNS = 2_000
"""Longer lines are cut: a minified file or a data URL would fill the window."""

_NOTE = 40

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """What a terminal would show in the end: no escape sequences, no overwritten progress lines."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)


def cut_line(line: str) -> str:
    """A line without its end, at most MAX_COLUMNS characters with the note of what is missing."""
    if len(line) <= MAX_COLUMNS:
        return line
    kept = MAX_COLUMNS - _NOTE
    return f"{line[:kept]} [… {len(line) - kept} more characters]"


def cut_lines(text: str) -> str:
    """The text with every long line cut."""
    if len(text) <= MAX_COLUMNS:
        return text
    return "\n".join(cut_line(line) for line in text.split("\n"))


def head_and_tail(text: str, limit: int, *, missing: int = 0, at: int | None = None) -> str:
    """The text in about `limit` characters: its beginning and end, with a note between them.

    `missing` characters were already left out at offset `at`. Cuts at line ends where one is near.
    """
    if len(text) <= limit and not missing:
        return text
    middle = len(text) // 2 if at is None else at
    half = limit // 2
    head = text[: min(half, middle)]
    tail = text[max(len(text) - half, middle) :]
    if (end := head.rfind("\n")) > len(head) // 2:
        head = head[: end + 1]
    if 0 <= (start := tail.find("\n")) < len(tail) // 2:
        tail = tail[start + 1 :]
    left_out = len(text) - len(head) - len(tail) + missing
    if not left_out:
        return text
    return f"{head.rstrip(chr(10))}\n[… {left_out} characters left out …]\n{tail}"


def wrap_lines(text: str) -> str:
    """The text with long lines broken at blanks, for text whose lines are paragraphs."""
    if len(text) <= MAX_COLUMNS:
        return text
    return "\n".join(_wrap(line) for line in text.split("\n"))


def _wrap(line: str) -> str:
    parts: list[str] = []
    start = 0
    while len(line) - start > MAX_COLUMNS:
        end = line.rfind(" ", start + MAX_COLUMNS // 2, start + MAX_COLUMNS)
        end = start + MAX_COLUMNS if end < 0 else end + 1
        parts.append(line[start:end])
        start = end
    return "\n".join([*parts, line[start:]])
