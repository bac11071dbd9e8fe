"""One uniform shift between the indentation a model wrote and the one a file has."""

from collections.abc import Callable, Sequence

from magent_lsp.core.views import BLANKS

Shift = Callable[[str], str | None]
"""Turns an indentation of the model's text into the file's; None where it cannot be told."""

_UNITS = (4, 2, 8, 3)


def indent_of(line: str) -> str:
    """The blanks a line begins with."""
    return line[: len(line) - len(line.lstrip(BLANKS))]


def find_shift(old: Sequence[str], new: Sequence[str], file: Sequence[str]) -> Shift | None:
    """The one shift that turns every old line's indentation into that of its line in the file.

    Args:
        old: the lines the model thinks are there; as many as `file`.
        new: the lines it wants; they tell how wide one of its levels is.
        file: the lines that are there, equal to `old` but for their indentation.
    """
    pairs = [(indent_of(a), indent_of(b)) for a, b in zip(old, file, strict=True) if a.strip(BLANKS)]
    mine = {*"".join(indent_of(line) for line in (*old, *new) if line.strip(BLANKS))}
    theirs = {*"".join(b for _, b in pairs)}
    if theirs == {"\t"} and mine == {" "}:
        return _to_tabs(pairs, _unit(old, new))
    if theirs == {" "} and mine == {"\t"}:
        return _to_spaces(pairs)
    return _prefix(pairs)


def shifted(lines: Sequence[str], shift: Shift) -> list[str] | None:
    """The lines with the file's indentation; blank lines become empty; None if one cannot be shifted."""
    result = []
    for line in lines:
        if not line.strip(BLANKS):
            result.append("")
            continue
        indent = indent_of(line)
        other = shift(indent)
        if other is None:
            return None
        result.append(other + line[len(indent) :])
    return result


def _prefix(pairs: Sequence[tuple[str, str]]) -> Shift | None:
    first_old, first_file = pairs[0]
    if len(first_file) >= len(first_old):
        more = first_file[: len(first_file) - len(first_old)]
        return (lambda indent: more + indent) if all(b == more + a for a, b in pairs) else None
    less = first_old[: len(first_old) - len(first_file)]
    if not all(a == less + b for a, b in pairs):
        return None
    return lambda indent: indent[len(less) :] if indent.startswith(less) else None


def _unit(old: Sequence[str], new: Sequence[str]) -> int:
    widths = {len(indent_of(line)) for line in (*old, *new) if line.strip(BLANKS)} - {0}
    narrowest = min(widths, default=4)
    return narrowest if narrowest in _UNITS else 4


def _to_tabs(pairs: Sequence[tuple[str, str]], likely: int) -> Shift | None:
    fits: list[tuple[bool, bool, int, int]] = []
    for unit in dict.fromkeys((likely, *_UNITS)):
        if any(len(a) % unit for a, _ in pairs):
            continue
        deeper = {len(b) - len(a) // unit for a, b in pairs}
        if len(deeper) == 1:
            more = deeper.pop()
            fits.append((more != 0, unit != likely, unit, more))
    if not fits:
        return None
    *_, unit, more = min(fits)

    def shift(indent: str) -> str | None:
        levels, rest = divmod(len(indent), unit)
        return "\t" * (levels + more) + " " * rest if levels + more >= 0 else None

    return shift


def _to_spaces(pairs: Sequence[tuple[str, str]]) -> Shift | None:
    for more in (0, *(step * sign for step in range(1, 9) for sign in (1, -1))):
        for unit in _UNITS:
            if all(len(b) == unit * (len(a) + more) for a, b in pairs):

                def shift(indent: str, unit: int = unit, more: int = more) -> str | None:
                    levels = len(indent) + more
                    return " " * (unit * levels) if levels >= 0 else None

                return shift
    return None
