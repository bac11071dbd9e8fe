"""Finds lines such as `# ... rest of the code` in text a model wants to write: they would delete code."""

import re

_ELLIPSIS = r"(?:\.{3,}|…)"
_KEPT = (
    r"(?:rest|remain(?:der|ing|s)?|existing|previous|original|other|same|unchanged|omitted|"
    r"truncated|skipped|unmodified|as before|stays?|keep|kept)"
)
_THING = (
    r"(?:code|file|content|contents|function|functions|method|methods|class|classes|implementation|imports?|"
    r"logic|body|section|sections|lines?|text|document|module|script|tests?|definitions?|fields?|properties|"
    r"props|styles?|rules?|config|configuration|variables?|items?|entries|components?|unchanged|above|below|here)"
)
_OPEN = r"^\s*(?:#+|//+|/\*+|\*|<!--|--|;+|%+|\{/\*|\"{3}|'{3}|[\[(<{])?\s*"
_CLOSE = r"\s*(?:\*/\}?|-->|[\])>}]|\"{3}|'{3})?\s*$"

_PATTERNS = (
    # `# ... rest of the code ...`, `// ... existing code ...`, `[... unchanged ...]`
    re.compile(
        rf"{_OPEN}{_ELLIPSIS}[^\w\n]*(?=[^\n]*\b{_KEPT}\b)(?=[^\n]*\b{_THING}\b)[^\n]{{3,90}}$", re.IGNORECASE
    ),
    # `# rest of the code ...`, `// existing code…`
    re.compile(
        rf"{_OPEN}(?:(?<=\S\s)|(?<=\S)|(?:the\s+)?(?={_KEPT}\b))(?=[^\n]*\b{_KEPT}\b)(?=[^\n]*\b{_THING}\b)"
        rf"[^\n]{{3,90}}?{_ELLIPSIS}{_CLOSE}",
        re.IGNORECASE,
    ),
    # `// rest of the file remains unchanged`, `# (the rest of the code stays the same)`
    re.compile(
        rf"{_OPEN}\(?(?:the\s+)?(?:rest|remainder)\s+of\s+(?:the\s+|this\s+|your\s+)?[\w\s]{{0,30}}?\b{_THING}\b"
        rf"(?:[^\n]{{0,20}}?(?:unchanged|same|as (?:before|is)|omitted|here|unmodified))?[).…\s]*{_CLOSE}",
        re.IGNORECASE,
    ),
)
_LONGEST = 140
"""A line with more characters is text, not a placeholder."""


def placeholder_in(added: str, existing: str = "") -> str | None:
    """The first added line that stands for code instead of being it; None if there is none.

    Lines that `existing` has as well are left alone: they were there before.
    """
    known: set[str] | None = None
    for line in added.splitlines():
        if len(line) > _LONGEST or not any(pattern.match(line) for pattern in _PATTERNS):
            continue
        if known is None:
            known = {old.strip() for old in existing.splitlines()}
        if line.strip() not in known:
            return line.strip()
    return None
