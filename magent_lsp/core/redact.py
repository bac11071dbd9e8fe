"""Known secrets, taken out of everything that leaves the process or is kept."""

import json
import re
from collections.abc import Iterable
from typing import Final

MIN_LENGTH: Final = 8
"""Shorter values would take away ordinary words."""

MASK: Final = "[redacted]"


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
        return self._pattern.sub(MASK, text) if self._pattern is not None else text

    def unfinished(self, text: str) -> int:
        """How many characters at the end may be the beginning of a secret, of which the rest is to come."""
        return max((_overlap(text, value) for value in self._values), default=0)

    def __repr__(self) -> str:
        return f"Redactor({self.count} values)"


def _overlap(text: str, value: str) -> int:
    """The length of the longest beginning of a value with which a text ends; not the whole value."""
    for length in range(min(len(text), len(value) - 1), 0, -1):
        if text.endswith(value[:length]):
            return length
    return 0


def _forms(secret: str) -> set[str]:
    """A secret as it may be printed: as it is, without blanks around it, and in the ways JSON writes it."""
    stripped = secret.strip()
    escaped = {json.dumps(stripped, ensure_ascii=plain)[1:-1] for plain in (True, False)}
    return {secret, stripped, *escaped, *(form.replace("/", "\\/") for form in escaped)}


def _one_of(values: Iterable[str]) -> re.Pattern[str]:
    """One pattern for all values, the longest first, so that a prefix never leaves a tail behind."""
    return re.compile(
        "|".join(re.escape(each) for each in sorted(values, key=lambda each: (-len(each), each)))
    )
