"""Glob patterns over relative paths, in time that no pattern can make explode."""

import fnmatch
import re
from collections.abc import Callable
from itertools import pairwise

from magent_lsp.core.errors import ToolError

_MOST_ALTERNATIVES = 64
_ESCAPED = re.compile(r"\\(.)")


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test for paths relative to the search's root, `/` as separator.

    `*` and `?` stay within a name, `**` crosses folders, `[…]` and `{a,b}` are alternatives; a pattern
    without `/` matches at any depth; a leading `!` turns it round. Raises ToolError for a pattern that
    cannot match below the root.
    """
    wanted = not pattern.startswith("!")
    text = pattern.removeprefix("!").strip().removeprefix("./")
    if not text.strip("/"):
        raise ToolError(f"The glob {pattern!r} is empty; `**` matches all files.")
    anchored = "/" in text
    tests = [_path_test(each.strip("/"), anchored) for each in _alternatives(text)]
    return lambda path: any(test(path) for test in tests) is wanted


def _alternatives(pattern: str) -> list[str]:
    """The pattern once for each choice of its braces."""
    todo, done = [pattern], []
    while todo:
        text = todo.pop()
        choice = _first_braces(text)
        if choice is None:
            done.append(text)
        else:
            start, end, options = choice
            todo += [text[:start] + option + text[end:] for option in reversed(options)]
        if len(todo) + len(done) > _MOST_ALTERNATIVES:
            raise ToolError(f"The glob {pattern!r} has too many alternatives; use a simpler one.")
    return done


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Where the first `{a,b}` begins and ends, and its options; None without one."""
    start = text.find("{")
    while start >= 0:
        depth, cuts = 0, [start]
        for at in range(start, len(text)):
            if text[at] == "{":
                depth += 1
            elif text[at] == "," and depth == 1:
                cuts.append(at)
            elif text[at] == "}":
                depth -= 1
                if depth == 0:
                    cuts.append(at)
                    options = [text[a + 1 : b] for a, b in pairwise(cuts)]
                    return start, at + 1, options
        start = text.find("{", start + 1)
    return None


def _path_test(pattern: str, anchored: bool) -> Callable[[str], bool]:
    names = pattern.split("/")
    if ".." in names:
        raise ToolError(f"The glob {pattern!r} leaves the folder; give that folder as `path` instead.")
    if not anchored or (len(names) == 2 and names[0] == "**" and names[1] != "**"):
        last = _name_test(names[-1])
        return lambda path: last(path.rpartition("/")[2])
    tests = [None if name == "**" else _name_test(name) for name in names]
    return lambda path: _walk(tests, path.split("/"))


def _name_test(name: str) -> Callable[[str], bool]:
    plain = _ESCAPED.sub(r"[\1]", name).replace("[^", "[!")
    match = re.compile(fnmatch.translate(re.sub(r"\*+", "*", plain))).match
    return lambda text: match(text) is not None


def _walk(tests: list[Callable[[str], bool] | None], names: list[str]) -> bool:
    """Follow all the places where the pattern can be after each name; None is `**`."""
    end = len(tests)
    places = _with_skips({0}, tests)
    for name in names:
        after: set[int] = set()
        for place in places:
            if place < end:
                test = tests[place]
                if test is None:
                    after.add(place)
                elif test(name):
                    after.add(place + 1)
        places = _with_skips(after, tests)
        if not places:
            return False
    return end in places


def _with_skips(places: set[int], tests: list[Callable[[str], bool] | None]) -> set[int]:
    """With the places behind each `**`, which may also match nothing."""
    found = set(places)
    for place in places:
        while place < len(tests) and tests[place] is None:
            place += 1
            found.add(place)
    return found
