"""Our own messages: `magent/event` and the requests that a shim may serve."""

from collections.abc import Callable
from typing import Any

from magent_lsp.core.events import Envelope, RunStarted, TargetUpdated, to_json
from magent_lsp.lsp.convert import range_of

EVENT = "magent/event"
ASK = "magent/ask"
WAIT = "magent/wait"


def event_params(envelope: Envelope, text_of: Callable[[str], str | None]) -> dict[str, Any]:
    """The parameters of `magent/event`; ranges are in UTF-16 units where `text_of` knows the document."""
    params: dict[str, Any] = to_json(envelope)
    event = envelope.event
    if isinstance(event, RunStarted | TargetUpdated) and event.range is not None:
        text = text_of(event.uri) if event.uri is not None else None
        if text is not None:
            where = range_of(text, event.range)
            params["event"]["range"] = {
                "start": {"line": where.start.line, "character": where.start.character},
                "end": {"line": where.end.line, "character": where.end.character},
            }
    return params
