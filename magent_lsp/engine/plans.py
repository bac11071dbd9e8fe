"""Plan files: where a new one goes, and which one is meant."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from magent_lsp.core.messages import AssistantMessage, Message, UserMessage

FOLDER: Final = ".magent/plans"
_PATH: Final = re.compile(r"\.magent/plans/\d{4}-\d\d-\d\d-[a-z0-9-]+\.md")
_WORDS: Final = 6
_CHARACTERS: Final = 48


def suggested(folder: Path, topic: str, today: date) -> str:
    """The path for a new plan, relative to the workspace folder; no file has it yet. Looks at the disk."""
    stem = f"{today.isoformat()}-{slug(topic)}"
    name, number = stem, 1
    while (folder / FOLDER / f"{name}.md").exists():
        number += 1
        name = f"{stem}-{number}"
    return f"{FOLDER}/{name}.md"


def slug(topic: str) -> str:
    """A few words of a topic, as a file name takes them."""
    plain = unicodedata.normalize("NFKD", topic).encode("ascii", "ignore").decode().lower()
    name = ""
    for word in re.findall(r"[a-z0-9]+", plain)[:_WORDS]:
        if len(name) + len(word) >= _CHARACTERS:
            break
        name = f"{name}-{word}" if name else word
    return name or "plan"


def mentioned(messages: Sequence[Message]) -> str | None:
    """The plan file that a conversation spoke of last, relative to the workspace folder."""
    for text in _texts(messages):
        found = _PATH.findall(text)
        if found:
            return str(found[-1])
    return None


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            yield message.text
        elif isinstance(message, AssistantMessage):
            yield from (call.arguments for call in reversed(message.tool_calls))


def newest(folder: Path) -> str | None:
    """The plan that was written last; None if there is none. Looks at the disk."""
    dated = []
    for path in (folder / FOLDER).glob("*.md"):
        try:
            dated.append((path.stat().st_mtime_ns, path.name))
        except OSError:
            continue
    return f"{FOLDER}/{max(dated)[1]}" if dated else None


def named(folder: Path, name: str) -> list[str]:
    """The plans that a name can mean: a path, a file's name, or a part of it. Looks at the disk."""
    wish = name.strip().strip("`'\"").removeprefix("@").removeprefix("./")
    if wish.startswith(f"{FOLDER}/"):
        wish = wish.removeprefix(f"{FOLDER}/")
    files = sorted(path.name for path in (folder / FOLDER).glob("*.md"))
    exact = [file for file in files if wish in (file, file.removesuffix(".md"))]
    found = exact or [file for file in files if wish and wish.removesuffix(".md").lower() in file.lower()]
    return [f"{FOLDER}/{file}" for file in found]
