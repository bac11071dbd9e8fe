"""What a document says beside what its session remembers; pure functions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from magent_lsp.core.messages import AssistantMessage, Message, SystemMessage, UserMessage, spoken
from magent_lsp.engine.summaries import command_in
from magent_lsp.lsp.chat.document import Turn
from magent_lsp.lsp.chat.fences import left_open

Redact = Callable[[str], str]

_BLANK_LINES: Final = re.compile(r"\n{3,}")


@dataclass(kw_only=True)
class Remembered:
    """A turn as a session has it."""

    said: str
    texts: list[str] = field(default_factory=list)
    """What the model said, between its tool calls."""
    last: str = ""
    """Id of the last message."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far a document and a session say the same."""

    turns: int
    rest: str = ""
    """What the document's answer has beyond the last of these turns, as after a cancel."""


def remembered(messages: Sequence[Message]) -> list[Remembered]:
    """The turns of a session; what the harness said belongs to the turn it was said in."""
    turns: list[Remembered] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        if isinstance(message, UserMessage) and not message.synthetic:
            turns.append(Remembered(said=spoken(message)))
        elif not turns and isinstance(message, AssistantMessage):
            turns.append(Remembered(said=""))
        if turns:
            turns[-1].last = message.id
            if isinstance(message, AssistantMessage) and message.text.strip():
                turns[-1].texts.append(message.text)
    return turns


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A document beside a session, both without what is between the person and us."""

    turns: Sequence[Turn]
    """Of the document."""
    past: Sequence[Remembered]
    """Of the session."""
    same: Agreement

    @property
    def missing(self) -> Sequence[Turn] | None:
        """The turns to add for the session to say all that the document says; None: it says other things."""
        if self.same.turns < len(self.past):
            return None
        rest = [Turn(said="", answer=self.same.rest)] if self.same.rest else []
        return [*rest, *self.turns[self.same.turns :]]


def compare(
    document: Sequence[Turn], messages: Sequence[Message], redact: Redact, is_aside: Callable[[str], bool]
) -> Comparison:
    """Compare a document with the messages of a session.

    `is_aside` says of what a person typed whether it was a command of ours, whose answer is for them alone.
    """
    past = [turn for turn in remembered(messages) if not is_aside(turn.said)]
    turns = _told([turn for turn in document if not is_aside(turn.said)], past, redact)
    return Comparison(turns=turns, past=past, same=agree(turns, past, redact))


def _told(document: Sequence[Turn], session: Sequence[Remembered], redact: Redact) -> list[Turn]:
    """Without commands that came to nothing: they have no answer, and the model was never asked."""
    kept: list[Turn] = []
    for turn in document:
        if command_in(turn.said) is not None and not turn.answer:
            asked = session[len(kept)].said if len(kept) < len(session) else ""
            if _closed(_plain(turn.said, redact)) != _closed(_plain(asked, redact)):
                continue
        kept.append(turn)
    return kept


def agree(document: Sequence[Turn], session: Sequence[Remembered], redact: Redact) -> Agreement:
    """For how many turns from the beginning both say the same."""
    for number, (turn, past) in enumerate(zip(document, session, strict=False)):
        if _closed(_plain(turn.said, redact)) != _closed(_plain(past.said, redact)):
            return Agreement(turns=number)
        rest = _beyond(turn.answer, past.texts, redact)
        if rest and number + 1 == len(session):
            return Agreement(turns=number + 1, rest=rest)
        if rest is None or rest:
            return Agreement(turns=number)
    return Agreement(turns=min(len(document), len(session)))


def _beyond(answer: str, texts: Sequence[str], redact: Redact) -> str | None:
    """What an answer has behind these texts; None if it does not begin with them."""
    rest = _plain(answer, redact)
    for text in texts:
        said = _plain(text, redact)
        rest = rest.lstrip()
        if not rest.startswith(said):
            return None
        rest = rest[len(said) :]
        if fence := left_open(said):
            line, _, more = rest.lstrip("\n").partition("\n")
            rest = more if line == fence else rest
    return rest.strip()


def _closed(text: str) -> str:
    """With the code ended that a text leaves open, as in a document."""
    fence = left_open(text)
    return f"{text}\n{fence}" if fence else text


def _plain(text: str, redact: Redact) -> str:
    """Without what editors change when they save: blanks at line ends, blank lines."""
    text = redact(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = [line.rstrip(" \t") for line in text.split("\n")]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
