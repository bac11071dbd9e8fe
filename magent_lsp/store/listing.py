"""Looks over many session files quickly: only their first and last pieces are read, except to search."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from magent_lsp.core.messages import AssistantMessage, Message, Usage, UserMessage, spoken
from magent_lsp.store.records import (
    MessageRecord,
    MetaRecord,
    Record,
    TitleRecord,
    UsageRecord,
    decode,
    messages_of,
    stamp,
)

PIECE: Final = 32 * 1024
"""Bytes read at each end; a writer repeats the title often enough that the last piece holds it."""
_EXCERPT: Final = 80
_R = TypeVar("_R", MetaRecord, TitleRecord, UsageRecord)


@dataclass(frozen=True, kw_only=True)
class SessionInfo:
    """What a list of sessions shows."""

    id: str
    folder: Path | None
    title: str
    """The given one, else the first line of the first prompt."""
    agent: str
    model: str | None
    created: str
    updated: str
    parent: str | None
    forked: bool
    """Whether `parent` is what this one was forked from; otherwise that session delegated to this one."""
    size: int
    """Bytes on disk."""
    empty: bool
    """Whether nothing was said yet."""
    usage: Usage | None = None
    """What it used, its subagents included; None: not known."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A session in which a text occurs."""

    session: SessionInfo
    message_id: str
    excerpt: str
    """The text with what stands around it, on one line."""
    count: int
    """Messages that hold the text."""


def files(sessions: Path, workspace: str | None = None) -> list[Path]:
    """The session files of one workspace or of all, newest id first."""
    folders = [sessions / workspace] if workspace else _folders(sessions)
    found = [path for folder in folders for path in _files(folder)]
    return sorted(found, key=lambda path: path.name, reverse=True)


def _folders(sessions: Path) -> list[Path]:
    try:
        return [path for path in sessions.iterdir() if path.is_dir()]
    except OSError:
        return []


def _files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl"):
                    yield Path(entry.path)
    except OSError:
        return


def info(path: Path) -> SessionInfo | None:
    """What the two ends of a file say; None if it cannot be read or holds no session."""
    try:
        with path.open("rb") as file:
            head = file.read(PIECE)
            status = os.fstat(file.fileno())
            size = status.st_size
            tail = b""
            if size > len(head):
                file.seek(max(size - PIECE, len(head)))
                tail = file.read(PIECE)
    except OSError:
        return None
    meta, prompt, said = _first(head, whole=size == len(head))
    if meta is None or meta.folder is None:
        return None
    ends = head + tail
    agent = _last(ends, MetaRecord, lambda record: record.agent)
    model = _last(ends, MetaRecord, lambda record: record.model)
    titled = _last(tail, TitleRecord) or _last(head, TitleRecord)
    return SessionInfo(
        id=path.stem,
        folder=Path(meta.folder),
        title=(titled.title if titled else "") or prompt,
        agent=(agent and agent.agent) or meta.agent or "",
        model=(model and model.model) or meta.model,
        created=meta.created or meta.time,
        updated=stamp(datetime.fromtimestamp(status.st_mtime, UTC)),
        parent=meta.parent,
        forked=meta.forked_at is not None,
        size=size,
        empty=not said and size == len(head),
        usage=_used(head + tail),
    )


def _used(pieces: bytes) -> Usage | None:
    last = _last(pieces, UsageRecord)
    return last.total.value() if last and last.total else None


def _first(head: bytes, whole: bool) -> tuple[MetaRecord | None, str, bool]:
    """The first meta record, the first line of the first prompt, and whether any message is there."""
    meta: MetaRecord | None = None
    said = False
    lines = head.split(b"\n")
    for record in _readable(lines if whole else lines[:-1]):
        if isinstance(record, MetaRecord):
            meta = meta or record
        for message in messages_of(record):
            said = True
            if meta and isinstance(message, UserMessage) and not message.synthetic and message.text.strip():
                return meta, message.text.strip().splitlines()[0][:200], True
    return meta, "", said


def _last(piece: bytes, model: type[_R], says: Callable[[_R], object] = lambda _: True) -> _R | None:
    """The last readable record of a kind in a piece of a file that says something of what is asked."""
    mark = b'\n{"kind":"%s"' % model.model_fields["kind"].default.encode()
    at = len(piece)
    while (at := piece.rfind(mark, 0, at)) >= 0:
        end = piece.find(b"\n", at + 1)
        for record in _readable([piece[at + 1 : end if end >= 0 else len(piece)]]):
            if isinstance(record, model) and says(record):
                return record
    return None


def _readable(lines: Iterable[bytes]) -> Iterator[Record]:
    for line in lines:
        if line.strip():
            try:
                yield decode(line)
            except ValueError:
                continue


def holds(path: Path, needle: bytes) -> bool:
    """Whether the bytes occur in one line of a file."""
    try:
        with path.open("rb") as file:
            return any(needle in line for line in file)
    except OSError:
        return False


def search(paths: Iterable[Path], text: str, limit: int) -> list[Found]:
    """Sessions in whose prompts or answers the text occurs, case aside."""
    needle = text.casefold().strip()
    found: list[Found] = []
    for path in paths if needle else ():
        hits = list(_hits(path, needle))
        about = info(path) if hits else None
        if about is not None:
            message_id, excerpt = hits[-1]
            found.append(Found(session=about, message_id=message_id, excerpt=excerpt, count=len(hits)))
        if len(found) >= limit:
            break
    return found


def _hits(path: Path, needle: str) -> Iterator[tuple[str, str]]:
    """Ids and excerpts of the messages that hold the needle."""
    plain = needle.isascii() and needle.isprintable() and not set(needle) & set('"\\')
    raw = needle.encode()
    try:
        with path.open("rb") as file:
            for line in file:
                if b'"message"' not in line[:120] or (plain and raw not in line.lower()):
                    continue
                for record in _readable([line]):
                    if isinstance(record, MessageRecord):
                        yield from _excerpts(messages_of(record), needle)
    except OSError:
        return


def _excerpts(messages: Iterable[Message], needle: str) -> Iterator[tuple[str, str]]:
    for message in messages:
        if isinstance(message, UserMessage | AssistantMessage):
            text = spoken(message)
            at = text.casefold().find(needle)
            if at >= 0:
                start = max(at - _EXCERPT, 0)
                piece = " ".join(text[start : at + len(needle) + _EXCERPT].split())
                yield message.id, ("…" if start else "") + piece
