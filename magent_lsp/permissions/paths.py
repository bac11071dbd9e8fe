"""Patterns of paths: gitignore syntax without `!`, compiled to segments and matched without backtracking."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

MAX_PATTERN: Final = 1_000
"""Longer patterns are mistakes, or an attempt to make matching slow."""

DEEP: Final = None
"""The segment `**`: any number of folders."""


@dataclass(frozen=True)
class Wild:
    """One element of a segment: `*`, `?` or `[…]`."""

    kind: Literal["star", "any", "class"]
    members: str = ""
    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def takes(self, sign: str) -> bool:
        """Whether the element can stand for this one character."""
        if self.kind != "class":
            return True
        inside = sign in self.members or any(low <= sign <= high for low, high in self.ranges)
        return inside != self.negated


STAR: Final = Wild("star")
ANY: Final = Wild("any")

Token = str | Wild
Segment = str | tuple[Token, ...]
"""A literal name, or the elements of one with wildcards."""

Anchor = Literal["any", "root", "absolute", "home"]


@dataclass(frozen=True, kw_only=True)
class PathPattern:
    """A compiled pattern."""

    anchor: Anchor
    segments: tuple[Segment | None, ...]
    folder_only: bool
    folded: bool
    needed: str | None
    """A name that every matching path holds: most paths are told apart by it alone."""


def fold_name(text: str) -> str:
    """A name as file systems that ignore case and composition see it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def pattern_problem(pattern: str) -> str | None:
    """Why a path pattern cannot be used, in words; None if it can."""
    if not pattern.strip():
        return "the pattern is empty"
    if "\0" in pattern:
        return "the pattern holds a NUL"
    if len(pattern) > MAX_PATTERN:
        return f"the pattern is longer than {MAX_PATTERN} characters"
    if pattern.startswith("!"):
        return "`!` is not supported in patterns; write the opposite verdict on a narrower pattern"
    if ".." in pattern.split("/"):
        return "a pattern cannot hold `..`; write an absolute path or `~/…`"
    if pattern.startswith("~") and pattern[1:2] not in ("", "/"):
        return "only `~/` stands for a home folder"
    return None


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str, folded: bool) -> PathPattern:
    """Compile a pattern that `pattern_problem` accepts."""
    text = fold_name(pattern) if folded else pattern
    folder_only = text.endswith("/") and len(text) > 1
    body = text.rstrip("/")
    anchor: Anchor = "root" if "/" in body and not body.startswith("**/") else "any"
    if text.startswith("/"):
        anchor = "absolute"
    elif body == "~" or body.startswith("~/"):
        anchor, body = "home", body[1:]
    elif body == "." or body.startswith("./"):
        anchor = "root"
    parts = [part for part in body.split("/") if part not in ("", ".")]
    segments: list[Segment | None] = [DEEP if part == "**" else compile_segment(part) for part in parts]
    if anchor == "any" and segments[:1] != [DEEP]:
        segments.insert(0, DEEP)
    return PathPattern(
        anchor=anchor,
        segments=tuple(segments),
        folder_only=folder_only,
        folded=folded,
        needed=next((each for each in segments if isinstance(each, str)), None),
    )


def compile_segment(text: str) -> Segment:
    """One name of a pattern, as text if nothing in it is special."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "\\" and at < len(text):
            tokens.append(text[at])
            at += 1
        elif sign == "*":
            if not tokens or tokens[-1] is not STAR:
                tokens.append(STAR)
        elif sign == "?":
            tokens.append(ANY)
        elif sign == "[" and (found := _CLASS.match(text, at)):
            tokens.append(_class(found[2], negated=bool(found[1])))
            at = found.end()
        else:
            tokens.append(sign)
    if all(isinstance(token, str) for token in tokens):
        return "".join(str(token) for token in tokens)
    return tuple(tokens)


_CLASS = re.compile(r"([!^]?)(\]?(?:\\.|[^\]\\]){0,128})\]")


def _class(body: str, *, negated: bool) -> Wild:
    signs = re.sub(r"\\(.)", r"\1", body)
    ranges, members, at = [], "", 0
    while at < len(signs):
        if at + 2 < len(signs) and signs[at + 1] == "-":
            ranges.append((signs[at], signs[at + 2]))
            at += 3
        else:
            members += signs[at]
            at += 1
    return Wild("class", members, tuple(ranges), negated)


def name_matches(segment: Segment, name: str) -> bool:
    """Whether one name matches one segment: two pointers, no backtracking beyond the last star."""
    if isinstance(segment, str):
        return segment == name
    token, at, star, mark = 0, 0, -1, 0
    while at < len(name):
        now = segment[token] if token < len(segment) else None
        if now is STAR:
            star, mark = token, at
            token += 1
        elif now is not None and (now == name[at] if isinstance(now, str) else now.takes(name[at])):
            token, at = token + 1, at + 1
        elif star >= 0:
            mark += 1
            token, at = star + 1, mark
        else:
            return False
    return all(rest is STAR for rest in segment[token:])


def segments_match(
    pattern: Sequence[Segment | None], names: Sequence[str], *, inside_only: bool = False
) -> bool:
    """Whether the pattern matches the path or a folder above it; `inside_only`: only a folder above."""
    end = len(pattern)
    if end == 2 and pattern[0] is DEEP and (only := pattern[1]) is not DEEP:  # the common `*.pem`: any depth
        return any(name_matches(only, name) for name in (names[:-1] if inside_only else names))
    states = _closure({0}, pattern)
    for index, name in enumerate(names):
        following = {
            state if pattern[state] is DEEP else state + 1
            for state in states
            if state < end and _takes(pattern[state], name)
        }
        if not following:
            return False
        states = _closure(following, pattern)
        if end in states and not (inside_only and index == len(names) - 1):
            return True
    return end in states and not names and not inside_only


def _takes(segment: Segment | None, name: str) -> bool:
    return segment is DEEP or name_matches(segment, name)


def _closure(states: Iterable[int], pattern: Sequence[Segment | None]) -> set[int]:
    """The states with those that `**` reaches by matching no folder at all."""
    result = set(states)
    for state in sorted(result):
        while state < len(pattern) and pattern[state] is DEEP:
            state += 1
            result.add(state)
    return result


def segments_meet(pattern: Sequence[Segment | None], glob: Sequence[Segment | None], *, dots: bool) -> bool:
    """Whether some path fits a shell glob and the pattern; `dots`: a leading `*` takes hidden files too."""
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        left, right = todo.pop()
        if left == len(pattern):
            return True
        after: list[tuple[int, int]] = []
        if pattern[left] is DEEP:
            after.append((left + 1, right))
        if right < len(glob):
            one, other = pattern[left], glob[right]
            if other is DEEP:
                after.append((left, right + 1))
            if one is DEEP or other is DEEP or names_meet(one, other, dots=dots):
                after.append((left if one is DEEP else left + 1, right if other is DEEP else right + 1))
        for state in after:
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def names_meet(one: Segment, other: Segment, *, dots: bool) -> bool:
    """Whether some name matches both; `other` is a shell glob, whose wildcards skip a leading dot."""
    if isinstance(other, str):
        return name_matches(one, other)
    if not dots and other and isinstance(other[0], Wild) and one[:1] in (".", (".",)):
        return False
    left_tokens: Sequence[Token] = one
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        left, right = todo.pop()
        if left == len(left_tokens) and right == len(other):
            return True
        for state in _steps(left_tokens, other, left, right):
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def _steps(one: Sequence[Token], other: Sequence[Token], left: int, right: int) -> list[tuple[int, int]]:
    a = one[left] if left < len(one) else None
    b = other[right] if right < len(other) else None
    steps = []
    if a is STAR:
        steps.append((left + 1, right))
    if b is STAR:
        steps.append((left, right + 1))
    if a is None or b is None:
        return steps
    if isinstance(a, str) and isinstance(b, str):
        agree = a == b
    elif isinstance(a, str):
        agree = isinstance(b, Wild) and b.takes(a)
    elif isinstance(b, str):
        agree = a.takes(b)
    else:
        agree = True
    if agree:
        steps.append((left if a is STAR else left + 1, right if b is STAR else right + 1))
    return steps


def escape_name(text: str) -> str:
    """A path or name as a pattern that matches only it."""
    return re.sub(r"([\\*?\[\]!])", r"\\\1", text)
