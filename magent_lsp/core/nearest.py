"""Tells a model whose old text was not found what stands in the file instead."""

import re

_MOST_LINES = 50_000
_LINE_WIDTH = 200
_SHOWN = 12
_COMPARED = 5000
"""Characters of two texts that are compared."""
_ENOUGH = 55.0
"""Similarity, of 100, under which a line is not worth showing."""

_NUMBERED = re.compile(r"\s*\d+(?:\t|→|\||: )")


def hint(old: str) -> str:
    """A sentence on a usual mistake in an old text; empty if none is seen."""
    lines = [line for line in old.split("\n") if line.strip()]
    if lines and all(_NUMBERED.match(line) for line in lines):
        return "It begins with the line numbers that read_file shows; leave them out. "
    if "\n" not in old and old.count("\\n") > 1:
        return "It holds \\n as two characters; use real line breaks. "
    return ""


def alike(old: str, new: str) -> bool:
    """Whether the new text is a variant of the old one, so that finding it means that the edit was made."""
    from rapidfuzz import fuzz

    return float(fuzz.ratio(old[:_COMPARED], new[:_COMPARED])) >= _ENOUGH


def nearest(text: str, old: str) -> str:
    """The lines of the text that are most like the old text, numbered, and where they first differ."""
    from rapidfuzz import fuzz, process  # heavy, and only needed when an edit fails

    file = [line[:_LINE_WIDTH] for line in text.split("\n")[:_MOST_LINES]]
    wanted = [line[:_LINE_WIDTH] for line in old.strip("\n").split("\n")]
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    hits = process.extract(
        wanted[anchor].strip(),
        [line.strip() for line in file],
        scorer=fuzz.ratio,
        limit=5,
        score_cutoff=_ENOUGH,
    )
    if not hits:
        return "Nothing in the file is like it: read the file again and copy the text exactly"

    def likeness(first: int) -> float:
        window = file[max(first, 0) : first + len(wanted)]
        return float(fuzz.ratio("\n".join(wanted[:40]), "\n".join(window[:40])))

    first = max(max((hit[2] - anchor for hit in hits), key=likeness), 0)
    window = file[first : first + len(wanted)]
    shown = [f"{first + number}\t{line}" for number, line in enumerate(window[:_SHOWN], 1)]
    if len(window) > _SHOWN:
        shown.append("…")
    last = first + len(window)
    where = f"line {last} is" if len(window) == 1 else f"lines {first + 1}-{last} are"
    return (
        f"Nearest {where}:\n" + "\n".join(shown) + f"\n{_difference(window, wanted, first)}"
        "Read the file again and copy the text exactly"
    )


def _difference(window: list[str], wanted: list[str], first: int) -> str:
    for number, (there, given) in enumerate(zip(window, wanted, strict=False), first + 1):
        if there != given:
            return f"Line {number} is {there!r}, old_string has {given!r}. "
    if len(window) < len(wanted):
        return f"The file ends after line {first + len(window)}, old_string goes on. "
    return ""
