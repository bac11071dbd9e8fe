"""Pieces that an editor has put in with other blanks than they were sent with."""

from itertools import islice


def end_of(wanted: str, text: str) -> int | None:
    """Where in a text that begins with `wanted`, whatever blanks are in both, it ends; None: it does not."""
    places = ((at, character) for at, character in enumerate(text) if not character.isspace())
    end = 0
    for character in filter(lambda character: not character.isspace(), wanted):
        at, found = next(places, (0, ""))
        if found != character:
            return None
        end = at + 1
    return end


def added(wanted: str, before: str, text: str) -> int | None:
    """Where `wanted` begins in a text in which it stands oftener than before, whatever the blanks are."""
    flat, body = _flat(text), _flat(wanted)
    if not body or flat.count(body) <= _flat(before).count(body):
        return None
    places = (at for at, character in enumerate(text) if not character.isspace())
    return next(islice(places, flat.rindex(body), None))


def _flat(text: str) -> str:
    return "".join(character for character in text if not character.isspace())
