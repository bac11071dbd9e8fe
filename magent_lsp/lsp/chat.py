"""Chat documents: Markdown in which a conversation is held; pure functions over the text."""

import re
from dataclasses import dataclass

SUFFIX = ".magent.md"

YOU = "## You"
MAGENT = "## Magent"

_HEADING = re.compile(r"^## (You|Magent)[ \t]*\r?$", re.MULTILINE)
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Chat:
    """What a chat document says."""

    session_id: str | None
    agent: str | None
    message: str
    """The text after the last `## You`, empty if the answer is the last part."""


def template(session_id: str, agent: str, title: str = "Chat") -> str:
    """The text of a new chat document."""
    return f"---\nsession: {session_id}\nagent: {agent}\n---\n# {title}\n\n{YOU}\n\n"


def parse(text: str) -> Chat:
    """Read a chat document; what was written by hand is taken as far as it can be understood."""
    head = _HEAD.match(text)
    fields: dict[str, str] = {}
    if head is not None:
        for line in head.group(1).splitlines():
            key, colon, value = line.partition(":")
            if colon and value.strip():
                fields[key.strip()] = value.strip()
    body = text[head.end() :] if head is not None else text
    headings = list(_HEADING.finditer(body))
    if not headings:
        message = re.sub(r"\A\s*# .*", "", body)
    elif headings[-1].group(1) == "You":
        message = body[headings[-1].end() :]
    else:
        message = ""
    return Chat(session_id=fields.get("session"), agent=fields.get("agent"), message=message.strip())


def with_answer(text: str, answer: str) -> str:
    """The document after an answer, ready for the next message."""
    gap = "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{MAGENT}\n\n{quoted(answer)}\n\n{YOU}\n\n"


def quoted(answer: str) -> str:
    """An answer in which no line can be taken for one of our headings."""
    return _HEADING.sub(lambda match: f"\\{match.group()}", answer.strip())
