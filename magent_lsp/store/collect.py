"""Reads all definitions of a kind and settles which one counts for each name."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.files import Walk
from magent_lsp.store.places import Place
from magent_lsp.store.problems import UNTRUSTED, Problem, from_error

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Definition(Generic[T]):
    """What one file defines."""

    name: str
    path: Path
    item: T
    problems: tuple[Problem, ...] = ()


@dataclass(kw_only=True)
class Collected(Generic[T]):
    """The definitions that count, by name."""

    chosen: dict[str, T] = field(default_factory=dict)
    shadowed: set[str] = field(default_factory=set)
    """Names for which a file that cannot be read would have come first."""
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Candidate(Generic[T]):
    place: Place
    path: Path
    item: T | None
    """None: the file cannot be read."""


def collect(
    what: str,
    places: Sequence[Place],
    wanted: Callable[[str], bool],
    read: Callable[[Path, Place], Definition[T]],
    *,
    keep: Callable[[Path, Place], Definition[T] | None] = lambda path, place: None,
    reserved: frozenset[str] = frozenset(),
) -> Collected[T]:
    """Read every file of the places, strongest first; `read` raises ConfigError for a bad one.

    `keep` may give what a file defined before it broke. An untrusted project's definition never
    takes the place of one that the user or the package has, nor a `reserved` name.
    """
    result: Collected[T] = Collected()
    found: dict[str, list[_Candidate[T]]] = {}
    for place in places:
        walk = Walk(wanted=wanted, within=place.within)
        for path in (*walk.files(place.folder), *_not_yet_there(place, wanted)):
            try:
                definition = _read(read, path, place)
            except FileNotFoundError:
                continue
            except ConfigError as error:
                result.problems.append(from_error(error, path))
                kept = keep(path, place)
                if kept is None:
                    found.setdefault(path.stem, []).append(_Candidate(place=place, path=path, item=None))
                    continue
                definition = kept
            result.problems += definition.problems
            candidate = _Candidate(place=place, path=path, item=definition.item)
            found.setdefault(definition.name, []).append(candidate)
        result.problems += walk.problems
    for name, candidates in found.items():
        _settle(what, name, candidates, name in reserved, result)
    return result


def _read(read: Callable[[Path, Place], Definition[T]], path: Path, place: Place) -> Definition[T]:
    try:
        return read(path, place)
    except (ConfigError, FileNotFoundError):
        raise
    except Exception as error:  # whatever one file holds, all others must load
        logger.exception("%s cannot be used", path)
        raise ConfigError(f"cannot be used: {error!r}"[:300], path=path) from error


def _not_yet_there(place: Place, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Files that so far are buffers only."""
    for path in place.texts:
        if path.is_relative_to(place.folder) and wanted(path.name) and not path.exists():
            yield path


def _settle(
    what: str, name: str, candidates: list[_Candidate[T]], reserved: bool, result: Collected[T]
) -> None:
    """Choose among the definitions of one name."""
    own = reserved or any(candidate.place.project is None for candidate in candidates)
    first: _Candidate[T] | None = None
    for candidate in candidates:
        if candidate.item is None:
            if first is None and candidate.place.trusted:
                result.shadowed.add(name)
        elif not candidate.place.trusted and own:
            message = f"the {what} {name!r} cannot be replaced {UNTRUSTED}"
            result.problems.append(Problem(message=message, path=candidate.path))
        elif first is None:
            first = candidate
            result.chosen[name] = candidate.item
        elif (first.place.family, first.place.project) == (candidate.place.family, candidate.place.project):
            message = f"the {what} {name!r} is already defined by {first.path}; this file is skipped"
            result.problems.append(Problem(message=message, path=candidate.path))


def native_first(items: Mapping[str, T], native: Callable[[T], bool]) -> dict[str, T]:
    """The same, with what the package ships in front: a stable order for people and models."""
    return dict(sorted(items.items(), key=lambda pair: (not native(pair[1]), pair[0])))
