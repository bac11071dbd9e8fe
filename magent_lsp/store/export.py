"""A session as a document for people and other programs."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from magent_lsp.core.errors import CallerError
from magent_lsp.core.events import to_json
from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    spoken,
)
from magent_lsp.store.transcript import Transcript

FORMATS: Final = ("markdown", "json", "text")


def export(
    written: Transcript, session_id: str, format: str, redact: Callable[[str], str] | None = None
) -> str:
    """The whole conversation, also what was compacted away; CallerError for an unknown format."""
    writers = {"markdown": _markdown, "md": _markdown, "json": _json, "text": _text, "txt": _text}
    if format not in writers:
        raise CallerError(f"format {format!r} is not one of {', '.join(FORMATS)}.")
    text = writers[format](written, session_id, redact or (lambda text: text))
    return text if text.endswith("\n") else text + "\n"


def _about(written: Transcript, session_id: str) -> list[tuple[str, str]]:
    usage, meta = written.usage, written.meta
    cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
    facts = [
        ("Session", session_id),
        ("Folder", meta.folder or ""),
        ("Agent", meta.agent or ""),
        ("Model", meta.model or ""),
        ("Created", meta.created or ""),
        ("Forked from" if meta.forked_at is not None else "Parent", meta.parent or ""),
        (
            "Tokens",
            f"{usage.input_tokens:,} in, {usage.output_tokens:,} out{cost}" if usage.input_tokens else "",
        ),
    ]
    return [(name, value) for name, value in facts if value]


def _markdown(written: Transcript, session_id: str, redact: Callable[[str], str]) -> str:
    parts = [f"# {written.title or 'Session ' + session_id}"]
    parts.append("\n".join(f"- {name}: {value}" for name, value in _about(written, session_id)))
    for message in written.messages:
        parts += _markdown_of(message)
    if written.todos:
        marks = {"completed": "x", "in_progress": "~", "pending": " "}
        parts.append("## Todos")
        parts.append("\n".join(f"- [{marks[todo.status]}] {todo.content}" for todo in written.todos))
    return redact("\n\n".join(parts))


def _markdown_of(message: Message) -> Iterator[str]:
    match message:
        case UserMessage():
            yield "## Note to the model" if message.synthetic else "## User"
            yield _with_images(message)
        case AssistantMessage():
            yield "## Assistant"
            if message.text.strip():
                yield message.text
            for call in message.tool_calls:
                yield f"**{call.name}**\n\n{fenced(pretty(call.arguments), 'json')}"
        case ToolMessage():
            yield f"**Result of {message.name}** ({message.status})\n\n{fenced(_with_images(message))}"


def _text(written: Transcript, session_id: str, redact: Callable[[str], str]) -> str:
    lines = [written.title] if written.title else []
    lines += [f"{name}: {value}" for name, value in _about(written, session_id)]
    for message in written.messages:
        match message:
            case UserMessage():
                lines += ["", f"{'Note' if message.synthetic else 'User'}: {_with_images(message)}"]
            case AssistantMessage():
                lines += ["", f"Assistant: {message.text}".rstrip()]
                lines += [f"  calls {call.name} {call.arguments}" for call in message.tool_calls]
            case ToolMessage():
                body = _with_images(message).replace("\n", "\n    ")
                lines.append(f"  {message.name} {message.status}:\n    {body}")
    return redact("\n".join(lines))


def _json(written: Transcript, session_id: str, redact: Callable[[str], str]) -> str:
    def clean(value: Any) -> Any:
        match value:
            case str():
                return redact(value)
            case dict():
                return {key: clean(item) for key, item in value.items()}
            case list():
                return [clean(item) for item in value]
        return value

    data = {
        "id": session_id,
        "title": written.title,
        "folder": written.meta.folder,
        "agent": written.meta.agent,
        "model": written.meta.model,
        "created": written.meta.created,
        "parent": written.meta.parent,
        "usage": to_json(written.usage),
        "todos": to_json(written.todos),
        "messages": [
            {"role": _ROLES[type(message)], **to_json(message)}
            for message in written.messages
            if not isinstance(message, SystemMessage)
        ],
    }
    return json.dumps(clean(data), ensure_ascii=False, indent=2)


_ROLES: Final[dict[type, str]] = {UserMessage: "user", AssistantMessage: "assistant", ToolMessage: "tool"}


def fenced(text: str, language: str = "") -> str:
    """A Markdown code block with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def pretty(arguments: str) -> str:
    """JSON arguments, indented; anything else as it is."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def _with_images(message: UserMessage | ToolMessage) -> str:
    count = len(message.images)
    text = spoken(message)
    return text + (f"\n[{count} image{'s' if count > 1 else ''}]" if count else "")
