"""What a chat document says; pure functions over its text, with offsets in code points."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from magent_lsp.core.document import split_lines
from magent_lsp.core.edits import Replacement
from magent_lsp.engine.summaries import BLOCKED
from magent_lsp.lsp.chat.fences import code_lines, left_open
from magent_lsp.lsp.chat.marks import MAGENT, NOTE, YOU, Who, heading, is_ours, quote, unquote
from magent_lsp.store.keys import Key

KEYS: Final = (
    Key(
        name="session",
        type="text",
        meaning="Written by Magent: the session that remembers what the tools did. Where it says something "
        "else than the text, the text counts.",
    ),
    Key(name="agent", type="text", default="the setting `agent`", meaning="Who answers."),
    Key(name="model", type="text", default="the setting `model`", meaning="The model, as `provider/name`."),
)
"""What front matter may hold."""

LONG: Final = 100_000
"""Characters of a text that is better read beside the loop."""

FIRST: Final = 4096
"""Characters in which front matter is looked for first."""

_FIELD: Final = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*:(?P<gap>[ \t]*)(?P<value>[^\r\n]*)")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*\Z")
_LOOKS: Final = re.compile(r"## (?:you|magent)", re.IGNORECASE)
_CLEAR: Final = re.compile(r"/clear(?:\s|\Z)")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Something a person said, and the answer."""

    said: str
    """Empty if the document begins with an answer."""
    answer: str = ""
    """Without the lines about tools; empty if there was none."""


@dataclass(frozen=True, kw_only=True)
class Chat:
    """What a chat document says."""

    fields: Mapping[str, str]
    turns: tuple[Turn, ...]
    """What was said before the message, since the last `/clear`."""
    message: str
    """The text below the last `## You`, empty if the answer is the last part."""
    start: int
    end: int
    """Where the message stands in the text, without blanks around it."""
    headed: bool
    """Whether the document has headings; without any, its whole text is the message."""


class Place(NamedTuple):
    """Where in a text a part is."""

    who: Who
    at: int
    """Where the heading begins."""
    start: int
    end: int
    """The content."""


class Part(NamedTuple):
    """What stands below one heading."""

    who: Who
    start: int
    end: int
    """The content."""
    text: str
    """What it says: LF at line ends, nothing quoted, no lines about tools, no blanks around it."""


def parse(text: str) -> Chat:
    """Read a chat document; what was written by hand is taken as far as it can be understood."""
    lines = _Lines(text)
    fields = {key: value for key, value, _, _ in _fields(lines)}
    parts = list(_parts(lines))
    if parts:
        last = parts[-1] if parts[-1].who == "you" else None
        turns = _turns(text, parts[:-1] if last else parts)
    else:
        last, turns = _headless(lines), ()
    content = text[last.start : last.end] if last else ""
    start = (last.start if last else len(text)) + len(content) - len(content.lstrip())
    return Chat(
        fields=fields,
        turns=turns,
        message=last.text if last else "",
        start=start,
        end=start + len(content.strip()),
        headed=bool(parts),
    )


def places_of(text: str) -> list[Place]:
    """Where the parts of a text are."""
    lines = _Lines(text)
    return [
        Place(who=who, at=lines.starts[first], start=lines.starts[first + 1], end=lines.starts[end])
        for who, first, end in _headings(lines, _code(lines))
    ]


def part_at(text: str, offset: int) -> Place | None:
    """The part in which a place lies; None above the first heading."""
    return next((place for place in reversed(places_of(text)) if place.at <= offset), None)


def is_answer(text: str) -> bool:
    """Whether a text is one answer, or the beginning of one: code that it leaves open is code."""
    lines = split_lines(text)
    if len(_LOOKS.findall(text)) == 1:
        return heading(lines[0].rstrip("\r\n")) == "magent"
    fence = left_open(text)
    code = code_lines([*lines, fence] if fence else lines)
    headings = [
        (number, who)
        for number, line in enumerate(lines)
        if not code[number] and (who := heading(line.rstrip("\r\n")))
    ]
    return headings == [(0, "magent")]


def template(fields: Mapping[str, str], title: str = "Chat", turns: Sequence[Turn] = ()) -> str:
    """The text of a new chat document."""
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    body = "".join(f"{YOU}\n\n{quoted(turn.said)}\n\n{MAGENT}\n\n{quoted(turn.answer)}\n\n" for turn in turns)
    return f"---\n{head}---\n# {' '.join(title.split())}\n\n{body}{YOU}\n\n"


def quoted(text: str) -> str:
    """A text in which no line can be taken for one of ours, with its code ended."""
    lines = text.strip().split("\n")
    code = code_lines(lines)
    whole = "\n".join(line if is_code else quote(line) for line, is_code in zip(lines, code, strict=True))
    fence = left_open(whole)
    return f"{whole}\n{fence}" if fence else whole


def with_fields(text: str, fields: Mapping[str, str]) -> list[Replacement]:
    """How to give front matter these values; nothing where it has them."""
    lines = _front_of(text)
    known = {key: (value, start, end) for key, value, start, end in _fields(lines)}
    new = {key: value for key, value in fields.items() if known.get(key, ("",))[0] != value}
    edits = [Replacement(known[key][1], known[key][2], f" {new[key]}") for key in new if key in known]
    eol = eol_of(text)
    added = "".join(f"{key}: {value}{eol}" for key, value in new.items() if key not in known)
    if added and lines.front:
        at = lines.starts[lines.front - 1]
        edits.append(Replacement(at, at, added))
    elif added:
        at = 1 if text.startswith("\ufeff") else 0
        edits.append(Replacement(at, at, f"---{eol}{added}---{eol}"))
    return sorted(edits)


def eol_of(text: str) -> str:
    """How the text ends most of its lines."""
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


class _Lines:
    """A text line by line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = split_lines(text)
        self.starts = [0, *accumulate(map(len, self.all))]
        self.front = self._front()
        """How many lines front matter takes; 0: there is none."""

    def _front(self) -> int:
        if not self.all or self.all[0].removeprefix("\ufeff").rstrip() != "---":
            return 0
        ends = (n for n in range(1, len(self.all)) if self.all[n].rstrip() in ("---", "..."))
        return next(ends, -1) + 1


def _front_of(text: str) -> _Lines:
    """The first lines of a text, with all of its front matter."""
    size = FIRST
    while True:
        lines = _Lines(text[:size])
        begun = bool(lines.all) and lines.all[0].removeprefix("\ufeff").rstrip() == "---"
        if size >= len(text) or not begun or 0 < lines.front < len(lines.all):
            return lines
        size *= 8


def _fields(lines: _Lines) -> Iterator[tuple[str, str, int, int]]:
    """Key, value, and where what stands behind the colon begins and ends."""
    for number in range(1, lines.front - 1):
        match = _FIELD.match(lines.all[number])
        if match is None:
            continue
        value = match["value"].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = _COMMENT.sub("", value).strip()
        start = lines.starts[number]
        yield match["key"].lower(), value, start + match.start("gap"), start + match.end("value")


def _parts(lines: _Lines) -> Iterator[Part]:
    code = _code(lines)
    for who, first, end in _headings(lines, code):
        yield Part(
            who=who,
            start=lines.starts[first + 1],
            end=lines.starts[end],
            text=_said(lines.all[first + 1 : end], code[first + 1 : end], who),
        )


def _code(lines: _Lines) -> list[bool]:
    return [False] * lines.front + code_lines(lines.all[lines.front :])


def _headings(lines: _Lines, code: Sequence[bool]) -> list[tuple[Who, int, int]]:
    """Whose part it is, the line of its heading, and the first line behind it."""
    found = [
        (who, number)
        for number in range(lines.front, len(lines.all))
        if not code[number] and (who := heading(lines.all[number].rstrip("\r\n")))
    ]
    ends = [*(number for _, number in found[1:]), len(lines.all)]
    return [(who, number, end) for (who, number), end in zip(found, ends, strict=False)]


def _said(lines: Sequence[str], code: Sequence[bool], who: Who) -> str:
    kept: list[str] = []
    ours = False
    for line, is_code in zip(lines, code, strict=True):
        bare = line.rstrip("\r\n")
        ours = who == "magent" and not is_code and is_ours(bare, after_ours=ours)
        if not ours:
            kept.append(bare if is_code else unquote(bare))
    return "\n".join(kept).strip()


def _headless(lines: _Lines) -> Part | None:
    """A document in which somebody just wrote; a title is no part of the message."""
    first = lines.front
    while first < len(lines.all) and not lines.all[first].strip():
        first += 1
    if first < len(lines.all) and lines.all[first].removeprefix("\ufeff").startswith("# "):
        first += 1
    if first >= len(lines.all):
        return None
    content = lines.all[first:]
    text = _said(content, code_lines(content), "you").removeprefix("\ufeff")
    return Part("you", lines.starts[first], len(lines.text), text)


def _turns(text: str, parts: Sequence[Part]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for part in parts:
        if part.who == "you":
            turns.append(Turn(said=part.text))
        elif turns and not part.text and f"{NOTE}{BLOCKED}" in text[part.start : part.end]:
            turns.pop()  # what a hook kept from the model does not reach it as history either
        elif turns:
            answer = f"{turns[-1].answer}\n\n{part.text}".strip()
            turns[-1] = Turn(said=turns[-1].said, answer=answer)
        elif part.text:
            turns.append(Turn(said="", answer=part.text))
    cleared = [number for number, turn in enumerate(turns) if _CLEAR.match(turn.said)]
    return tuple(turn for turn in turns[cleared[-1] + 1 if cleared else 0 :] if turn.said or turn.answer)
