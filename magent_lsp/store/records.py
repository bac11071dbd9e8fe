"""The lines of a session file, as pydantic models.

A record is one JSON object with a `kind`, the version of the format and its time. Readers are older and newer
than writers: unknown keys are ignored, missing ones have defaults, unknown words fall back to a harmless one.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticSerializationError

from magent_lsp.core.halves import whole
from magent_lsp.core.messages import (
    AssistantMessage,
    FinishReason,
    Image,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolStatus,
    Usage,
    UserMessage,
)
from magent_lsp.core.session import RecordKind, Todo, TodoStatus

VERSION: Final = 1


def _known(words: Any, default: str) -> BeforeValidator:
    """Words that a newer version may have added become `default`."""
    return BeforeValidator(lambda value: value if value in get_args(words) else default)


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        from_attributes=True,
        extra="ignore",
        frozen=True,
        defer_build=True,
    )


class ImagePart(_Part):
    """A picture, as base64."""

    media_type: str
    data: str


class CallPart(_Part):
    """A tool call as the model wrote it."""

    id: str
    name: str
    arguments: str = ""


class UsagePart(_Part):
    """Tokens and money."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    def value(self) -> Usage:
        return Usage(**self.__dict__)


class UserPart(_Part):
    """A UserMessage."""

    role: Literal["user"] = "user"
    id: str
    text: str = ""
    images: tuple[ImagePart, ...] = ()
    synthetic: bool = False
    said: str = ""

    def value(self) -> UserMessage:
        return UserMessage(
            id=self.id,
            text=self.text,
            images=_images(self.images),
            synthetic=self.synthetic,
            said=self.said,
        )


class AssistantPart(_Part):
    """An AssistantMessage."""

    role: Literal["assistant"] = "assistant"
    id: str
    text: str = ""
    reasoning: str = ""
    reasoning_blocks: tuple[dict[str, Any], ...] = ()
    tool_calls: tuple[CallPart, ...] = ()
    finish: Annotated[FinishReason, _known(FinishReason, "stop")] = "stop"
    usage: UsagePart = UsagePart()
    model: str = ""

    def value(self) -> AssistantMessage:
        return AssistantMessage(
            id=self.id,
            text=self.text,
            reasoning=self.reasoning,
            reasoning_blocks=self.reasoning_blocks,
            tool_calls=tuple(ToolCall(**call.__dict__) for call in self.tool_calls),
            finish=self.finish,
            usage=self.usage.value(),
            model=self.model,
        )


class ResultPart(_Part):
    """A ToolMessage."""

    id: str
    call_id: str
    name: str = ""
    text: str = ""
    status: Annotated[ToolStatus, _known(ToolStatus, "completed")] = "completed"
    images: tuple[ImagePart, ...] = ()

    def value(self) -> ToolMessage:
        return ToolMessage(
            id=self.id,
            call_id=self.call_id,
            name=self.name,
            text=self.text,
            status=self.status,
            images=_images(self.images),
        )


class TodoPart(_Part):
    """One step of the plan."""

    content: str
    status: Annotated[TodoStatus, _known(TodoStatus, "pending")] = "pending"


class _Record(_Part):
    kind: str
    """First, so that a record's kind can be found without parsing it."""
    v: int = VERSION
    time: str = ""
    """ISO 8601, UTC."""


class MetaRecord(_Record):
    """What the session is; a later one changes what it names."""

    kind: Literal["meta"] = "meta"
    id: str | None = None
    folder: str | None = None
    agent: str | None = None
    passing: bool | None = None
    """Its agent is that of the question with which it began."""
    model: str | None = None
    created: str | None = None
    parent: str | None = None
    forked_at: str | None = None
    """Message of `parent` after which this session goes its own way; None: it is no fork."""


class MessageRecord(_Record):
    """What a person or the model said."""

    kind: Literal["message"] = "message"
    message: Annotated[UserPart | AssistantPart, Field(discriminator="role")]


class ToolRecord(_Record):
    """What a tool gave, and what the session knows since."""

    kind: Literal["tool"] = "tool"
    result: ResultPart | None = None
    seen: dict[str, str] = {}
    """Path -> digest of the text that the model knows."""
    skills: dict[str, str] = {}
    """Name -> body of loaded skills."""


class EditRecord(_Record):
    """One change of one file, or the undo or redo of a run's changes of it."""

    kind: Literal["edit"] = "edit"
    run_id: str
    action: Literal["edit", "undo", "redo"] = "edit"
    path: str
    target: str | None = None
    """Where a renamed file went."""
    before: str | None = None
    """Digest of the text before; None: there was no file."""
    after: str | None = None
    real_path: str | None = None
    """Where the path really led when the edit was judged."""
    mode: int | None = None
    """Permission bits of a file that was removed, if they were not the usual ones."""


class UsageRecord(_Record):
    """Usage of one request."""

    kind: Literal["usage"] = "usage"
    usage: UsagePart
    total: UsagePart | None = None
    """Of the session so far, so that a list need not read the whole file."""
    of: str | None = None
    """The session of the subagent that made the request; None: this one."""


class TodoRecord(_Record):
    """The whole todo list after a change."""

    kind: Literal["todo"] = "todo"
    items: tuple[TodoPart, ...]


class GrantRecord(_Record):
    """A permission rule of this session."""

    kind: Literal["grant"] = "grant"
    tool: str
    pattern: str
    verdict: str
    source: str = ""


class CompactionRecord(_Record):
    """From here on the model sees a shorter history than the file holds."""

    kind: Literal["compaction"] = "compaction"
    id: str
    """Id of the message that holds the summary."""
    summary: str | None = None
    """Takes the place of everything before `kept_from`; None: only outputs were pruned."""
    kept_from: str | None = None
    """Id of the first message that is kept as it is; None: none is."""
    pruned: dict[str, str] = {}
    """Id of a message -> the shorter text that it holds from here on."""


class TitleRecord(_Record):
    """The session's name."""

    kind: Literal["title"] = "title"
    title: str


Record = (
    MetaRecord
    | MessageRecord
    | ToolRecord
    | EditRecord
    | UsageRecord
    | TodoRecord
    | GrantRecord
    | CompactionRecord
    | TitleRecord
)

_ANY: Final[TypeAdapter[Record]] = TypeAdapter(
    Annotated[Record, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
_MODELS: Final[Mapping[str, type[_Record]]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(Record)
}


def encode(
    kind: RecordKind,
    value: Any,
    time: datetime,
    *,
    reasoning: bool = False,
    redact: Callable[[str], str] | None = None,
) -> bytes:
    """The line of a record, without its newline; ValueError for a value that does not fit the kind.

    `value` is what `core.session` gives its journal: a message, a todo list, a usage, a rule, a title; for
    the other kinds a mapping or an object with the record's fields. The model's reasoning, with its signed
    blocks, is left out unless asked for; `redact` takes secrets out of every text.
    """
    record = _record(kind, value, reasoning).model_copy(update={"time": stamp(time)})
    if redact is not None:
        record = _each_text(record, redact)
    try:
        return record.model_dump_json(by_alias=True, exclude_none=True).encode()
    except PydanticSerializationError:  # lone surrogates, which no UTF-8 file can hold
        clean = _each_text(record, whole)
        return clean.model_dump_json(by_alias=True, exclude_none=True).encode()


def stamp(time: datetime) -> str:
    """ISO 8601 with milliseconds."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def decode(line: bytes) -> Record:
    """The record of a line; ValueError says in words why it is none."""
    try:
        return _ANY.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "union_tag_invalid":
            raise ValueError("of a kind that this version does not know") from None
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None


def _record(kind: RecordKind, value: Any, reasoning: bool) -> _Record:
    """The model of a journalled value."""
    match kind, value:
        case (("message" | "tool"), ToolMessage()):
            return ToolRecord(result=ResultPart.model_validate(value))
        case "message", UserMessage():
            return MessageRecord(message=UserPart.model_validate(value))
        case "message", AssistantMessage():
            part = AssistantPart.model_validate(value)
            if not reasoning:
                part = part.model_copy(update={"reasoning": "", "reasoning_blocks": ()})
            return MessageRecord(message=part)
        case "message", SystemMessage():
            raise ValueError("the system prompt is never part of a stored history")
        case "title", str():
            return TitleRecord(title=value)
        case "usage", Usage():
            return UsageRecord(usage=UsagePart.model_validate(value))
        case "todo", (list() | tuple()):
            return TodoRecord(items=tuple(TodoPart.model_validate(item) for item in value))
        case "grant", _ if not isinstance(value, Mapping):
            source = getattr(value.source, "name", value.source)
            return GrantRecord(
                tool=value.tool, pattern=value.pattern, verdict=value.verdict, source=str(source)
            )
    return _MODELS[kind].model_validate({**value, "kind": kind} if isinstance(value, Mapping) else value)


def _each_text(record: _Record, change: Callable[[str], str]) -> _Record:
    def changed(value: Any) -> Any:
        match value:
            case str():
                return change(value)
            case dict():
                return {key: changed(item) for key, item in value.items()}
            case list() | tuple():
                return [changed(item) for item in value]
        return value

    kept = {"kind", "v", "time"}
    data = {key: value if key in kept else changed(value) for key, value in record.model_dump().items()}
    return type(record).model_validate(data)


def _images(parts: tuple[ImagePart, ...]) -> tuple[Image, ...]:
    return tuple(Image(media_type=part.media_type, data=part.data) for part in parts)


def messages_of(record: Record) -> tuple[Message, ...]:
    """The message that a record holds, if it holds one."""
    if isinstance(record, MessageRecord):
        return (record.message.value(),)
    if isinstance(record, ToolRecord) and record.result is not None:
        return (record.result.value(),)
    return ()


def todos_of(record: TodoRecord) -> tuple[Todo, ...]:
    """The todo list that a record holds."""
    return tuple(Todo(content=item.content, status=item.status) for item in record.items)
