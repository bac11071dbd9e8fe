"""Recorded models: a file says what the model answers, so that the demo and tests run without one.

The format is described in `docs/reference/scripted-models.md`.
"""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from magent_lsp.core.errors import ConfigError, ModelError, ModelErrorKind
from magent_lsp.core.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    StreamItem,
    ToolMessage,
    Usage,
    UserMessage,
)
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.tool import Tool
from magent_lsp.llm.stream import Assembly, CallDelta, Delta


def _regex(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from error
    return value


Pattern = Annotated[str, AfterValidator(_regex)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Call(_Part):
    """A tool call."""

    tool: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    """A string is sent as it is, such as one that is cut off."""


class When(_Part):
    """What must hold for a reply to be taken; all that is given must."""

    user: Pattern | None = None
    """Found in the last message of a person."""
    tool: Pattern | None = None
    """Found in the results of the tools that were just used."""
    turn: int | None = Field(None, ge=1)
    """The how-manieth request of the conversation it is."""
    tools: bool | None = None
    """Whether tools are offered; those for titles and summaries offer none."""


class Failure(_Part):
    """An error of the provider."""

    kind: ModelErrorKind
    message: str = "scripted failure"
    status: int | None = None
    retry_after: float | None = None


class Tokens(_Part):
    """What the answer is said to have used."""

    input: int = Field(0, ge=0)
    output: int = Field(0, ge=0)
    cached: int = Field(0, ge=0)
    cost: float | None = Field(None, ge=0)


class Reply(_Part):
    """One answer."""

    when: When = When()
    text: str | list[str] = ""
    """A list is streamed piece by piece; a string word by word."""
    reasoning: str = ""
    calls: list[Call] = Field(default_factory=list)
    finish: FinishReason | None = None
    usage: Tokens | None = None
    delay: float = Field(0, ge=0, le=60)
    """Seconds before each piece."""
    first_delay: float = Field(0, ge=0, le=600)
    """Seconds before the first piece."""
    error: Failure | None = None
    """Raised after what the reply says, or at once if it says nothing."""
    repeat: bool = False
    """Whether it can be taken more than once."""


class _File(_Part):
    replies: list[Reply]


class Script:
    """A recorded model; replies are taken in the order of the file, each once unless it repeats."""

    def __init__(self, replies: Sequence[Reply], path: Path) -> None:
        self._path = path
        self._left = list(replies)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings
    ) -> AsyncGenerator[StreamItem]:
        """As `Model.stream`."""
        reply = self._take(messages, tools)
        assembly = Assembly(f"msg-{uuid.uuid4().hex[:12]}", (), settings.model)
        await asyncio.sleep(reply.first_delay)
        for delta in _deltas(reply):
            await asyncio.sleep(reply.delay)
            for piece in assembly.feed(delta):
                yield piece
        if reply.error:
            failure = reply.error
            raise ModelError(
                failure.message, kind=failure.kind, status=failure.status, retry_after=failure.retry_after
            )
        for item in assembly.finish(_usage(reply, messages)):
            yield item

    def _take(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        for place, reply in enumerate(self._left):
            if _matches(reply.when, messages, tools):
                if not reply.repeat:
                    del self._left[place]
                return reply
        why = "no reply that is left matches this request" if self._left else "all its replies are used up"
        raise ModelError(
            f"the scripted model {str(self._path)!r} has nothing to say: {why}; "
            "add one, or set `model` to a real one",
            kind="unconfigured",
        )


def read_script(path: Path) -> Script:
    """The recorded model of a file; ConfigError names the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigError(
            f"the script of the model cannot be read: {why}; give an absolute path", path=path
        ) from error
    value = _parse(text, path)
    try:
        file = _File.model_validate({"replies": value} if isinstance(value, list) else value)
    except ValidationError as error:
        first = error.errors()[0]
        place = first["loc"][1:] if isinstance(value, list) else first["loc"]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where}: {first['msg']}", path=path, line=_line(text, place)) from error
    return Script(file.replies, path)


def _parse(text: str, path: Path) -> Any:
    try:
        # JSON may hold tabs, which YAML does not take
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"not JSON: {error.msg}", path=path, line=error.lineno) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(f"not YAML: {error.problem}", path=path, line=line) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"not YAML: {error}", path=path) from error


def _line(text: str, place: Sequence[str | int]) -> int | None:
    """The line of a value, or of the nearest thing around it that is written down."""
    try:
        node: Any = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line: int | None = node.start_mark.line + 1 if node else None
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == part), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
    return line


def _matches(when: When, messages: Sequence[Message], tools: Sequence[Tool]) -> bool:
    turn = sum(isinstance(message, AssistantMessage) for message in messages) + 1
    return (
        (when.user is None or bool(re.search(when.user, _last_user(messages))))
        and (when.tool is None or any(re.search(when.tool, text) for text in _last_results(messages)))
        and when.turn in (None, turn)
        and when.tools in (None, bool(tools))
    )


def _last_user(messages: Sequence[Message]) -> str:
    said = [
        message.text for message in messages if isinstance(message, UserMessage) and not message.synthetic
    ]
    return said[-1] if said else ""


def _last_results(messages: Sequence[Message]) -> list[str]:
    results = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) or (
            isinstance(message, UserMessage) and not message.synthetic
        ):
            break
        if isinstance(message, ToolMessage):
            results.append(message.text)
    return results


def _deltas(reply: Reply) -> list[Delta]:
    pieces = reply.text if isinstance(reply.text, list) else _words(reply.text)
    deltas = [Delta(reasoning=piece) for piece in _words(reply.reasoning)]
    deltas += [Delta(text=piece) for piece in pieces]
    for index, call in enumerate(reply.calls):
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        deltas.append(Delta(calls=[CallDelta(index=index, name=call.tool, arguments=arguments)]))
    if not reply.error:
        deltas.append(Delta(finish=reply.finish or "stop"))
    return deltas


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*", text) or ([text] if text else [])


def _usage(reply: Reply, messages: Sequence[Message]) -> Usage:
    if reply.usage:
        told = reply.usage
        return Usage(
            input_tokens=told.input, output_tokens=told.output, cached_tokens=told.cached, cost_usd=told.cost
        )
    size = sum(len(message.text) for message in messages)
    said = "".join(reply.text) + reply.reasoning + "".join(str(call.arguments) for call in reply.calls)
    return Usage(input_tokens=size // 4, output_tokens=len(said) // 4 + 1, cost_usd=0, estimated=True)
