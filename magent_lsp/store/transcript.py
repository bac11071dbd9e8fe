"""Reads a session file back, whatever a crash has left of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from magent_lsp.core.messages import AssistantMessage, Message, SystemMessage, Usage, UserMessage
from magent_lsp.core.session import Todo
from magent_lsp.store.problems import Problem
from magent_lsp.store.records import (
    CompactionRecord,
    EditRecord,
    GrantRecord,
    MessageRecord,
    MetaRecord,
    Record,
    TitleRecord,
    TodoRecord,
    ToolRecord,
    UsageRecord,
    decode,
    messages_of,
    todos_of,
)


@dataclass(kw_only=True)
class Transcript:
    """All that a session file says, with what could not be read."""

    path: Path
    meta: MetaRecord = field(default_factory=MetaRecord)
    title: str = ""
    messages: list[Message] = field(default_factory=list)
    """Every message, in the order of writing."""
    view: list[Message] = field(default_factory=list)
    """What the model sees: the messages after the compactions."""
    todos: tuple[Todo, ...] = ()
    seen: dict[str, str] = field(default_factory=dict)
    skills: dict[str, str] = field(default_factory=dict)
    grants: list[GrantRecord] = field(default_factory=list)
    edits: list[EditRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    problems: list[Problem] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Let a record have its effect."""
        match record:
            case MetaRecord():
                changed = {key: value for key, value in record.__dict__.items() if value is not None}
                self.meta = self.meta.model_copy(update=changed)
            case MessageRecord() | ToolRecord():
                self._take_message(record)
            case TitleRecord():
                self.title = record.title
            case TodoRecord():
                self.todos = todos_of(record)
            case UsageRecord():
                self.usage += record.usage.value()
            case GrantRecord():
                self.grants.append(record)
            case EditRecord():
                self.edits.append(record)
            case CompactionRecord():
                self.view = compacted(self.view, record)
                if record.summary == "" and record.kept_from is None:  # the conversation was cleared
                    self.todos, self.seen, self.skills = (), {}, {}

    def _take_message(self, record: MessageRecord | ToolRecord) -> None:
        for message in messages_of(record):
            self.messages.append(message)
            self.view.append(message)
        if isinstance(record, ToolRecord):
            self.seen |= record.seen
            self.skills |= record.skills


def read(path: Path) -> Transcript:
    """The transcript of a session file; what cannot be read is skipped and named in its problems.

    The file is never changed. OSError if it cannot be read at all.
    """
    return of_lines(lines_of(path), path)


def lines_of(path: Path) -> list[bytes]:
    """The lines of a session file, readable or not."""
    return path.read_bytes().split(b"\n")


def of_lines(lines: Sequence[bytes], path: Path) -> Transcript:
    """The transcript that lines of a session file at `path` make."""
    transcript = Transcript(path=path)
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            record = decode(line)
        except ValueError as error:
            what = (
                "the last record was cut off and is"
                if at + 1 == len(lines)
                else "a record cannot be read and is"
            )
            message = f"{what} skipped ({error}); the file is left as it is"
            transcript.problems.append(Problem(path=path, line=at + 1, message=message))
        else:
            transcript.take(record)
    return transcript


def fork_lines(lines: Sequence[bytes], message_id: str | None) -> list[bytes] | None:
    """The lines that a fork after a message (None: the last) takes along; None if it is not there.

    Results that follow the message belong to it. Grants stay behind, and usage, and edits, whose undo is
    the first session's.
    """
    taken: list[bytes] = []
    found = False
    for line in lines:
        try:
            record = decode(line)
        except ValueError:
            continue
        results = isinstance(record, ToolRecord)
        if found and not results:
            break
        if isinstance(record, MessageRecord | ToolRecord | TodoRecord | CompactionRecord):
            taken.append(line)
        found = found or any(getattr(message, "id", None) == message_id for message in messages_of(record))
    return taken if found or message_id is None else None


def compacted(view: list[Message], record: CompactionRecord) -> list[Message]:
    """The shorter history after a compaction.

    Where the first kept message is not there (its own record was lost), everything is kept: too much can be
    compacted again, too little is gone.
    """
    pruned = [_pruned(message, record.pruned) for message in view]
    if record.summary is None:
        return pruned
    start = len(pruned)
    if record.kept_from is not None:
        start = next((n for n, m in enumerate(pruned) if getattr(m, "id", None) == record.kept_from), 0)
    summary = [UserMessage(id=record.id, text=record.summary, synthetic=True)] if record.summary else []
    return [*summary, *pruned[start:]]


def _pruned(message: Message, texts: Mapping[str, str]) -> Message:
    if isinstance(message, SystemMessage) or message.id not in texts:
        return message
    if isinstance(message, AssistantMessage):
        return replace(message, text=texts[message.id])
    return replace(message, text=texts[message.id], images=())
