"""A tool call that has been looked up and validated."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from magent_lsp.core.errors import ToolError
from magent_lsp.core.halves import spelt
from magent_lsp.core.messages import ToolCall
from magent_lsp.core.tool import Subject, Tool
from magent_lsp.engine.hooks import ToolUse

DEEPEST: Final = 100
"""Levels of arguments; many more than any schema has, and what goes through them counts on it."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A call that names an offered tool and fits its schema."""

    call: ToolCall
    tool: Tool
    input: BaseModel
    title: str
    subjects: tuple[Subject, ...]
    raised: str = ""
    """Why a hook wants a person to decide."""
    told: str = ""
    """What hooks said to the model before the call."""

    @property
    def use(self) -> ToolUse:
        """The call as hooks see it."""
        arguments = self.input.model_dump(mode="json", exclude_none=True)
        return ToolUse(name=self.tool.name, arguments=arguments, call_id=self.call.id)


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """The call's arguments as an object; ToolError if they are not one."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"The arguments of {call.name!r} are not valid JSON ({error}). Nothing was done; "
            "send the whole call again."
        ) from None
    if not isinstance(arguments, dict):
        raise ToolError(f"The arguments of {call.name!r} must be a JSON object.")
    if _is_deep(arguments):
        raise ToolError(f"The arguments of {call.name!r} are nested deeper than {DEEPEST} levels.")
    return one_spelling(arguments)


def one_spelling(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with one spelling for each text: what is judged, shown and done must be the same."""
    return {spelt(name): _spelt(value) for name, value in arguments.items()}


def _spelt(value: Any) -> Any:
    if isinstance(value, str):
        return spelt(value)
    if isinstance(value, list):
        return [_spelt(each) for each in value]
    if isinstance(value, dict):
        return one_spelling(value)
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return bool(level)


def shown_arguments(call: ToolCall) -> dict[str, Any] | None:
    """The call's arguments for those who watch; None if they are not an object."""
    try:
        return parse_arguments(call)
    except ToolError:
        return None


def faults(error: ValidationError) -> str:
    """What does not fit the schema, in words."""
    lines = []
    for fault in error.errors(include_url=False)[:5]:
        where = ".".join(str(part) for part in fault["loc"])
        lines.append(f"{where}: {fault['msg']}" if where else fault["msg"])
    return "; ".join(lines) + "."


def paths_of(subjects: Sequence[Subject]) -> tuple[str, ...]:
    """The paths among what a call touches, each once."""
    return tuple(dict.fromkeys(subject.value for subject in subjects if subject.kind == "path"))
