"""Finds the one place where an edit's old text stands, and says how the text is to be changed.

Strategies in this order, each of which must find exactly one place (or be told to replace all): the exact
text; trailing blanks ignored; one uniform shift of the indentation; look-alike punctuation folded. There is
no similarity threshold and no first-of-several: what is not certain is refused, in words a model can act on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from magent_lsp.core.document import position_at
from magent_lsp.core.edits import Replacement, apply_replacements
from magent_lsp.core.errors import EditError
from magent_lsp.core.indent import find_shift, shifted
from magent_lsp.core.nearest import alike, hint, nearest
from magent_lsp.core.splice import Found, replacements_of
from magent_lsp.core.views import BLANKS, View, fold, line_end_view, strip_trailing, to_lf, trailing_view

LENIENT_LIMIT = 1_000_000
"""Characters of a text up to which more than the exact text is looked for, to bound the time."""

MOST_PLACES = 100_000
"""Places that are counted and replaced at most."""

Strategy = Literal["exact", "trailing blanks", "indentation", "punctuation"]

_HOW: dict[Strategy, str] = {
    "exact": "exactly",
    "trailing blanks": "by ignoring blanks at the ends of lines",
    "indentation": "by shifting its indentation; the new text was shifted alike",
    "punctuation": "by treating look-alike quotes, dashes and blanks as equal; those in the file stay",
}

_KEYS: dict[Strategy, Callable[[str], str]] = {
    "exact": lambda text: text,
    "trailing blanks": strip_trailing,
    "indentation": strip_trailing,
    "punctuation": lambda text: strip_trailing(fold(text)),
}


class Edit(NamedTuple):
    """One wish of the model: put `new` where `old` stands."""

    old: str
    new: str
    replace_all: bool = False


@dataclass(frozen=True, kw_only=True)
class Placed:
    """What all edits of a call do to one text."""

    replacements: tuple[Replacement, ...]
    after: str
    strategies: tuple[Strategy, ...]
    """How each edit's old text was found."""
    places: tuple[int, ...]
    """At how many places each edit applies."""
    note: str = ""
    """Which edits were not found exactly, for the model; empty if all were."""


def place(text: str, edits: Sequence[Edit], name: str = "the file") -> Placed:
    """Compute all edits on one text; EditError, naming every edit that cannot be placed, if any fails."""
    search = _Search(text)
    done: list[tuple[list[Replacement], list[Found]]] = []
    problems: list[str] = []
    for number, edit in enumerate(edits, 1):
        label = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        try:
            found = search.find(edit, name)
            done.append(([r for one in found for r in replacements_of(text, one)], found))
        except EditError as error:
            problems.append(f"{label}{error}{_earlier(text, edits, number)}")
    if problems:
        raise EditError("\n".join([*problems[:5], "Nothing was changed."]))
    parts = [replacements for replacements, _ in done]
    replacements = _together(text, parts)
    strategies = tuple(found[0].strategy for _, found in done)
    after = apply_replacements(text, replacements)
    if after == text:
        raise EditError(f"the edits would not change {name}. Nothing was changed.")
    return Placed(
        replacements=replacements,
        after=after,
        strategies=strategies,
        places=tuple(len(found) for _, found in done),
        note=_note(strategies),
    )


def line_of(text: str, offset: int) -> int:
    """The line of an offset, counted from 1."""
    return position_at(text, offset).line + 1


class _Search:
    """The views of one text, made when a strategy first needs them."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.exact = line_end_view(text)
        self._trailing: View | None = None

    @property
    def trailing(self) -> View:
        if self._trailing is None:
            self._trailing = trailing_view(self.raw)
        return self._trailing

    def find(self, edit: Edit, name: str) -> list[Found]:
        """Where the edit applies; EditError with what to do next."""
        edit = Edit(to_lf(edit.old), to_lf(edit.new), edit.replace_all)
        if not edit.old:
            raise EditError(f"old_string is empty, but {name} has text; give the text to replace")
        if edit.old == edit.new:
            raise EditError("old_string and new_string are identical: there is nothing to change")
        found = self._first(edit)
        if not found:
            raise EditError(self._missing(edit, name))
        if len(found) > 1 and not edit.replace_all:
            raise EditError(self._ambiguous(found, name))
        self._refuse_repeat(found)
        self._refuse_large(edit, found)
        return found

    def _strategies(self) -> Iterator[Callable[[Edit], Iterator[Found]]]:
        yield self._exact
        if len(self.raw) <= LENIENT_LIMIT:
            yield self._ignoring_trailing
            yield self._shifted
            yield self._folded
            yield self._folded_and_shifted

    def _exact(self, edit: Edit) -> Iterator[Found]:
        lines = tuple(edit.old.split("\n")), tuple(edit.new.split("\n"))
        for start in _occurrences(self.exact.text, edit.old, overlapping=not edit.replace_all):
            yield Found(self.exact, start, lines[0], *lines, "exact")

    def _ignoring_trailing(self, edit: Edit) -> Iterator[Found]:
        yield from self._in_lines(edit, self.trailing.text, "trailing blanks")

    def _folded(self, edit: Edit) -> Iterator[Found]:
        yield from self._in_lines(edit, fold(self.trailing.text), "punctuation")

    def _in_lines(self, edit: Edit, text: str, strategy: Strategy) -> Iterator[Found]:
        for old, new, at_end in _variants(edit):
            needle = _KEYS[strategy](old)
            if not needle.strip():
                return
            ends_line = at_end or fold(old)[-1] in BLANKS
            pieces = tuple(old.split("\n")), tuple(new.split("\n"))
            any_found = False
            for start in _occurrences(text, needle, overlapping=not edit.replace_all):
                end = start + len(needle)
                if at_end and end != len(text):
                    continue
                if ends_line and end < len(text) and text[end] != "\n":
                    continue
                any_found = True
                seen = tuple(self.trailing.text[start:end].split("\n"))
                yield Found(self.trailing, start, seen, *pieces, strategy)
            if any_found:
                return

    def _shifted(self, edit: Edit) -> Iterator[Found]:
        yield from self._by_content(edit, "indentation", lambda line: line)

    def _folded_and_shifted(self, edit: Edit) -> Iterator[Found]:
        yield from self._by_content(edit, "punctuation", fold)

    def _by_content(self, edit: Edit, strategy: Strategy, key: Callable[[str], str]) -> Iterator[Found]:
        """Whole lines whose contents are equal and whose indentation differs by one shift."""
        file = self.trailing.text.split("\n")
        contents = "\n".join(["", *(key(line).strip(BLANKS) for line in file), ""])
        for old, new, at_end in _variants(edit):
            lines, wanted = old.split("\n"), new.split("\n")
            open_end = len(lines) > 1 and not lines[-1]
            body = lines[:-1] if open_end else lines
            if not any(line.strip(BLANKS) for line in body):
                return
            needle = "\n".join(["", *(key(line).strip(BLANKS) for line in body), ""])
            any_found = False
            for place in _occurrences(contents, needle, overlapping=True):
                first = contents.count("\n", 0, place)
                last = first + len(body)
                if (at_end and last != len(file)) or (open_end and last >= len(file)):
                    continue
                found = self._shift_at(file, first, body, (lines, wanted), strategy)
                if found is not None:
                    any_found = True
                    yield found
            if any_found:
                return

    def _shift_at(
        self,
        file: list[str],
        first: int,
        body: list[str],
        texts: tuple[list[str], list[str]],
        strategy: Strategy,
    ) -> Found | None:
        there = file[first : first + len(body)]
        shift = find_shift(body, texts[1], there)
        old = shifted(texts[0], shift) if shift else None
        new = shifted(texts[1], shift) if shift else None
        if old is None or new is None:
            return None
        seen = (*there, *([""] if len(texts[0]) > len(body) else []))
        start = sum(map(len, file[:first])) + first
        return Found(self.trailing, start, seen, tuple(old), tuple(new), strategy)

    def _refuse_repeat(self, found: Sequence[Found]) -> None:
        """An insertion sent twice finds its old text again, inside of what it made."""
        key = _KEYS[found[0].strategy]
        text = key(found[0].view.text)
        old, new = key("\n".join(found[0].old)), key("\n".join(found[0].new))
        inside = new.find(old)
        if inside >= 0 and all(
            one.start >= inside and text.startswith(new, one.start - inside) for one in found
        ):
            raise EditError(
                f"already applied: new_string already stands at line {self._line(found[0])}. If another "
                "place is meant, give more of the text around it"
            )

    def _refuse_large(self, edit: Edit, found: Sequence[Found]) -> None:
        limit = 3 * len(edit.old) + 20 * (edit.old.count("\n") + 1) + 100
        for one in found:
            length = one.view.raw(one.start + one.length) - one.view.raw(one.start)
            if one.strategy != "exact" and length > limit:
                raise EditError(
                    f"the text at line {self._line(one)} is much larger than old_string ({length} and "
                    f"{len(edit.old)} characters); copy it exactly as it is in the file"
                )

    def _line(self, found: Found) -> int:
        return found.view.text.count("\n", 0, found.start) + 1

    def _ambiguous(self, found: Sequence[Found], name: str) -> str:
        lines = list(dict.fromkeys(map(self._line, found[:200])))
        numbers = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
        how = "" if found[0].strategy == "exact" else f" ({_HOW[found[0].strategy].partition(';')[0]})"
        return (
            f"old_string stands at {len(found)} places of {name}{how}: lines {numbers}. "
            "Give more of the text around the one you mean, or set replace_all"
        )

    def _missing(self, edit: Edit, name: str) -> str:
        telling = len(edit.new.strip()) >= 4
        there = self._first(Edit(edit.new, edit.old, True)) if telling else []
        maybe = ""
        if len(there) == 1 or (there and "\n" in edit.new.strip()):
            line = self._line(there[0])
            if alike(edit.old, edit.new):
                return (
                    f"already applied: old_string is not in {name}, and new_string already stands at line "
                    f"{line}. If another place is meant, read the file again"
                )
            maybe = f"It may be already applied: new_string stands at line {line}. "
        if len(self.raw) > LENIENT_LIMIT:
            return f"old_string is not in {name}, which is too large to look for anything but the exact text"
        return f"old_string is not in {name}. {maybe}{hint(edit.old)}{nearest(self.exact.text, edit.old)}"

    def _first(self, edit: Edit) -> list[Found]:
        return next((found for strategy in self._strategies() if (found := list(strategy(edit)))), [])


def _occurrences(text: str, needle: str, *, overlapping: bool) -> Iterator[int]:
    step = 1 if overlapping else len(needle)
    at = text.find(needle)
    for _ in range(MOST_PLACES):
        if at < 0:
            return
        yield at
        at = text.find(needle, at + step)
    raise EditError(f"old_string stands at more than {MOST_PLACES} places; give more of the text around it")


def _variants(edit: Edit) -> Iterator[tuple[str, str, bool]]:
    """The texts as given, then without their last line end for a file whose last line has none."""
    yield edit.old, edit.new, False
    if edit.old.endswith("\n"):
        yield edit.old[:-1], edit.new.removesuffix("\n"), True


def _together(text: str, parts: Sequence[list[Replacement]]) -> tuple[Replacement, ...]:
    """All replacements in order; EditError if two edits touch the same place."""
    found = [(r, number) for number, part in enumerate(parts, 1) for r in part]
    ordered = sorted(found, key=lambda item: (item[0].start, item[0].end))
    for (a, first), (b, second) in pairwise(ordered):
        if b.start < a.end or (b.start, b.end) == (a.start, a.end):
            raise EditError(
                f"edits {first} and {second} both change line {line_of(text, b.start)}; merge them into one. "
                "Nothing was changed."
            )
    return tuple(r for r, _ in ordered)


def _earlier(text: str, edits: Sequence[Edit], number: int) -> str:
    """A word on edits that count on the result of an earlier one of the same call."""
    old = to_lf(edits[number - 1].old)
    for index, other in enumerate(edits[: number - 1], 1):
        if old and old in to_lf(other.new) and old not in to_lf(text):
            return (
                f"\nIt stands in new_string of edit {index}: all edits of a call are placed in the file as "
                "it is before the call; merge the two into one"
            )
    return ""


def _note(strategies: Sequence[Strategy]) -> str:
    notes = []
    for number, strategy in enumerate(strategies, 1):
        if strategy != "exact":
            which = f"of edit {number} " if len(strategies) > 1 else ""
            notes.append(f"The old text {which}was found {_HOW[strategy]}.")
    return " ".join(notes)
