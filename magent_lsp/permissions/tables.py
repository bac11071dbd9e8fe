"""How the tables of names are written: as text, so that they stay readable."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())


def set_of(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())
