"""The one argument of a command: an object, checked, or a sentence that names the field."""

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from magent_lsp.core.errors import CallerError
from magent_lsp.core.halves import has_half, nameable

T = TypeVar("T", bound=BaseModel)

Scoped = Literal["line", "region", "buffer", "directory", "project"]


class Arguments(BaseModel):
    """Arguments in camelCase; unknown fields are refused by name, null means absent."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=False, extra="forbid", frozen=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value


class Place(Arguments):
    """An LSP position: UTF-16 units."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Stretch(Arguments):
    """An LSP range."""

    start: Place
    end: Place


class Nothing(Arguments):
    """No fields."""


class PromptArguments(Arguments):
    """`magent.prompt`."""

    prompt: str = Field(min_length=1)
    agent: str | None = None
    session_id: str | None = None
    uri: str | None = None
    range: Stretch | None = None
    diagnostics: list[dict[str, Any]] | None = None
    scope: Scoped | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> "PromptArguments":
        if not self.prompt.strip():
            raise ValueError("'prompt' is blank")
        if self.scope in ("line", "region") and self.range is None:
            raise ValueError(f"'range' is missing: the scope {self.scope!r} means its whole lines")
        if (self.scope not in (None, "project") or self.range is not None) and self.uri is None:
            raise ValueError("'uri' is missing: 'range' and 'scope' need the file they belong to")
        return self


class AskArguments(Arguments):
    """`magent.ask` and the request `magent/ask`."""

    uri: str = Field(min_length=1)
    position: Place | None = None
    range: Stretch | None = None
    question: str | None = None
    session_id: str | None = None
    diagnostics: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _complete(self) -> "AskArguments":
        if self.position is None and self.range is None:
            raise ValueError("'position' is missing: give 'position' or 'range'")
        return self

    @property
    def stretch(self) -> Stretch:
        """The range, or an empty one at the position."""
        if self.range is not None:
            return self.range
        assert self.position is not None
        return Stretch(start=self.position, end=self.position)


class RunArguments(Arguments):
    """A run."""

    run_id: str = Field(min_length=1)


class MaybeRunArguments(Arguments):
    """A run, or all of them."""

    run_id: str | None = None


class SteerArguments(Arguments):
    """`magent.steer`."""

    run_id: str
    message: str = Field(min_length=1)


class RespondArguments(Arguments):
    """`magent.respond`."""

    request_id: str
    reply: Literal["allow_once", "allow_session", "allow_always", "reject"]
    feedback: str | None = None


class AnswerArguments(Arguments):
    """`magent.answer`."""

    question_id: str
    answer: str


class ToolsArguments(Arguments):
    """`magent.tools`."""

    agent: str | None = None


class SessionArguments(Arguments):
    """A session."""

    session_id: str


class SessionsArguments(Arguments):
    """`magent.sessions`."""

    folder: str | None = None


class SearchArguments(Arguments):
    """`magent.searchSessions`."""

    text: str = Field(min_length=1)


class NewSessionArguments(Arguments):
    """`magent.newSession`."""

    agent: str | None = None
    model: str | None = None
    uri: str | None = None


class ForkArguments(Arguments):
    """`magent.forkSession`."""

    session_id: str
    message_id: str | None = None


class RenameArguments(Arguments):
    """`magent.renameSession`."""

    session_id: str
    title: str = Field(min_length=1)


class ExportArguments(Arguments):
    """`magent.exportSession`."""

    session_id: str
    format: Literal["markdown", "json", "text"] = "markdown"


class SaveAgentArguments(Arguments):
    """`magent.saveAgent`: what is given replaces what the agent has."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    path: str | None = None
    description: str | None = None
    prompt: str | None = None
    mode: Literal["primary", "subagent", "all"] | None = None
    model: str | None = None
    temperature: float | None = None
    max_turns: int | None = Field(None, ge=1)
    permission: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _whole(self) -> "SaveAgentArguments":
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            if not nameable(text) if name == "path" else has_half(text):
                raise ValueError(f"{field.alias!r} holds a character that no file can hold")
        return self


class ExplainArguments(Arguments):
    """`magent.explainPermission`."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    agent: str | None = None


class GrantArguments(Arguments):
    """`magent.revokeGrant`."""

    grant_id: str | int


class TrustArguments(Arguments):
    """`magent.trust`."""

    folder: str | None = None
    digest: str | None = None


class OpenChatArguments(Arguments):
    """`magent.openChat`."""

    session_id: str | None = None
    agent: str | None = None
    uri: str | None = None


class SendArguments(Arguments):
    """`magent.send`."""

    uri: str = Field(min_length=1)


class WaitArguments(RunArguments):
    """The request `magent/wait`."""


def one_object(command: str, arguments: Sequence[Any] | None) -> dict[str, Any]:
    """The object among the arguments of `workspace/executeCommand`; none at all is an empty one."""
    given = [item for item in arguments or () if item is not None]
    if not given:
        return {}
    if len(given) > 1:
        raise CallerError(f"{command}: expected one object as the only argument, got {len(given)} arguments.")
    value = given[0]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise CallerError(
                f"{command}: expected an object as the argument, got the string {shorten(value)!r}."
            ) from None
        if value is None:
            return {}
    if isinstance(value, list) and not value:  # how some languages write an empty object
        return {}
    if not isinstance(value, dict):
        raise CallerError(f"{command}: expected an object as the argument, got {type(value).__name__}.")
    return value


def check(command: str, shape: type[T], value: Any) -> T:
    """The checked arguments; CallerError with one sentence for each wrong field."""
    if not isinstance(value, dict):
        raise CallerError(f"{command}: expected an object as the argument, got {type(value).__name__}.")
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        wrong = [_sentence(dict(item), shape) for item in error.errors(include_url=False)[:4]]
        raise CallerError(f"{command}: {'; '.join(wrong)}.") from None


def _sentence(error: dict[str, Any], shape: type[BaseModel]) -> str:
    field = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "missing":
            return f"{field!r} is missing"
        case "extra_forbidden":
            known = ", ".join(repr(part.alias or name) for name, part in shape.model_fields.items())
            return f"unknown field {field!r}" + (f" (known: {known})" if known else " (it takes none)")
        case "value_error":
            return str(error["ctx"]["error"])
        case "string_too_short":
            return f"{field!r} is empty"
    message = str(error["msg"])
    return f"{field!r}: {message[0].lower()}{message[1:]}, got {shorten(repr(error.get('input')))}"


def shorten(text: str, limit: int = 60) -> str:
    """At most `limit` characters, with an ellipsis if cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
