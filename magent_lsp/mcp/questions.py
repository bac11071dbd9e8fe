"""Questions of servers to the person (elicitation): a few simple fields, asked one after the other."""

from collections.abc import Mapping
from typing import Any, Final

from magent_lsp.core.diff import reveal
from magent_lsp.core.request import Answer, Question
from magent_lsp.core.tool import Ask

Reply = dict[str, Any]

MOST_FIELDS: Final = 4
DECLINE: Final[Mapping[str, Any]] = {"action": "decline"}
CANCEL: Final[Mapping[str, Any]] = {"action": "cancel"}
_LONGEST: Final = 2_000
_YES, _NO = "Yes", "No"


async def elicit(server: str, params: Mapping[str, Any], ask: Ask | None) -> Mapping[str, Any]:
    """The answer to `elicitation/create`; what is not simple, and what nobody can be asked, is declined."""
    schema = params.get("requestedSchema")
    if ask is None or params.get("mode", "form") != "form" or not isinstance(schema, Mapping):
        return DECLINE
    fields = schema.get("properties")
    fields = fields if isinstance(fields, Mapping) else {}
    if len(fields) > MOST_FIELDS or not all(_simple(field) for field in fields.values()):
        return DECLINE
    title = f"The MCP server {server!r} asks"
    message = reveal(str(params.get("message", "")))[:_LONGEST]
    if not fields:
        answer = await ask(Question(title=title, message=message, options=(_YES, _NO)))
        return _confirmed(answer)
    content: Reply = {}
    for name, field in fields.items():
        label = str(field.get("title") or name)
        about = "\n".join(
            part for part in (message, reveal(f"{label}: {field.get('description', '')}").strip(": ")) if part
        )
        answer = await ask(Question(title=title, message=about[:_LONGEST], options=_options(field)))
        if answer is None or not answer.values:
            return CANCEL
        try:
            content[str(name)] = _value(field, answer.values[0])
        except ValueError:
            return DECLINE
    return {"action": "accept", "content": content}


def _confirmed(answer: Answer | None) -> Mapping[str, Any]:
    if answer is None:
        return CANCEL
    return {"action": "accept", "content": {}} if answer.values[:1] == (_YES,) else DECLINE


def _simple(field: Any) -> bool:
    return isinstance(field, Mapping) and field.get("type") in ("string", "number", "integer", "boolean")


def _options(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field["type"] == "boolean":
        return (_YES, _NO)
    choices = field.get("enum")
    if not isinstance(choices, list):
        titled = field.get("oneOf")
        choices = [each.get("const") for each in titled if isinstance(each, Mapping)] if titled else []
    return tuple(str(choice) for choice in choices[:20])


def _value(field: Mapping[str, Any], text: str) -> Any:
    match field["type"]:
        case "boolean":
            return text == _YES
        case "integer":
            return int(text)
        case "number":
            return float(text)
    return text
