"""Patterns of plain texts (commands, URLs, names): only `*` is special, and it matches anything."""

UNIVERSAL = frozenset({"*", "**", "**/*", "**/**"})
"""Patterns that match everything."""


def universal(pattern: str) -> bool:
    """Whether a pattern matches everything."""
    return pattern in UNIVERSAL


def broad(pattern: str) -> bool:
    """Whether a pattern names nothing in particular, such as `*`, `./**` or `/**`."""
    return not pattern.strip("*/.?~")


def text_matches(pattern: str, text: str, *, fold: bool = False) -> bool:
    """Whether the whole text matches; a trailing ` *` also matches the bare text before it."""
    if universal(pattern):
        return True
    if fold:
        pattern, text = pattern.casefold(), text.casefold()
    if pattern.endswith(" *") and _matches(pattern[:-2], text):
        return True
    return _matches(pattern, text)


def _matches(pattern: str, text: str) -> bool:
    """Leftmost search of each literal piece: linear, where a regular expression could take for ever."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    *middle, last = rest
    position = len(first)
    for piece in middle:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(text) - len(last) >= position and text.endswith(last)
