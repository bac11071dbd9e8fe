"""Known secrets, taken out of everything that leaves the process or is kept."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Final

MIN_LENGTH: Final = 8
"""Shorter values would take away ordinary words."""

MIN_PIECE: Final = 20
"""Characters of a word of a secret of several lines, such as a key in PEM, that is taken out by itself."""

MASK: Final = "[redacted]"

_CUT: Final = re.compile(r"[ \n]?\[… [^]\n]*\]\n?")
"""A note of what was left out of a text."""


class Redactor:
    """Replaces every known secret value in a text; made once, safe to share."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the values; those that are too short are left out."""
        values = {form for secret in secrets for form in _forms(secret) if len(form) >= MIN_LENGTH}
        self._values = tuple(sorted(values))
        self._pattern = _one_of(values) if values else None
        self.count = len(values)
        """How many spellings are known."""

    def text(self, text: str) -> str:
        """The text with every secret replaced; of two that overlap at one place the longer one."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(MASK, text)
        return self._without_torn(text) if "[… " in text else text

    def unfinished(self, text: str) -> int:
        """How many characters at the end may be the beginning of a secret, of which the rest is to come."""
        return self._longest(text, _overlap)

    def _without_torn(self, text: str) -> str:
        """Without what a cut has left of a secret on either side of it."""
        notes = list(_CUT.finditer(text))
        starts, ends = [0, *(note.end() for note in notes)], [*(note.start() for note in notes), len(text)]
        kept = []
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            part = text[start:end]
            if number < len(notes) and (torn := self._longest(part, _overlap)) >= MIN_LENGTH:
                part = part[:-torn] + MASK
            if number and (torn := self._longest(part, _rest)) >= MIN_LENGTH:
                part = MASK + part[torn:]
            kept += [part, notes[number][0] if number < len(notes) else ""]
        return "".join(kept)

    def _longest(self, text: str, measure: Callable[[str, str], int]) -> int:
        return max((measure(text, value) for value in self._values), default=0)

    def __repr__(self) -> str:
        return f"Redactor({self.count} values)"


def _overlap(text: str, value: str) -> int:
    """The length of the longest beginning of a value with which a text ends; not the whole value."""
    return _shared(text, value[:-1])


def _rest(text: str, value: str) -> int:
    """The length of the longest end of a value with which a text begins; not the whole value."""
    return _shared(value[1:], text)


def _shared(left: str, right: str) -> int:
    """The length of the longest end of one text with which the other begins."""
    if not right:
        return 0
    end = left[-len(right) :]
    at = end.find(right[0])
    while at >= 0:
        if right.startswith(end[at:]):
            return len(end) - at
        at = end.find(right[0], at + 1)
    return 0


def _forms(secret: str) -> set[str]:
    """A secret as it may be printed: as it is, without blanks around it, and in the ways JSON writes it.

    One of several lines also word by word, since lines are numbered, searched and cut by themselves.
    """
    stripped = secret.strip()
    if "\n" in stripped:
        words = {word.strip("\"',;") for word in stripped.split()}
        pieces = {word for word in words if len(word) >= MIN_PIECE and "://" not in word}
        return {form for each in pieces for form in _forms(each)} | _whole(secret, stripped)
    return _whole(secret, stripped)


def _whole(secret: str, stripped: str) -> set[str]:
    escaped = {json.dumps(stripped, ensure_ascii=plain)[1:-1] for plain in (True, False)}
    return {secret, stripped, *escaped, *(form.replace("/", "\\/") for form in escaped)}


def _one_of(values: Iterable[str]) -> re.Pattern[str]:
    """One pattern for all values, the longest first, so that a prefix never leaves a tail behind."""
    return re.compile(
        "|".join(re.escape(each) for each in sorted(values, key=lambda each: (-len(each), each)))
    )
