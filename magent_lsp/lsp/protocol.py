"""Our own messages: `magent/event` and the requests that a shim may serve."""

from collections.abc import Callable
from typing import Any

from magent_lsp.core.events import Envelope, RunFinished, RunStarted, TargetUpdated, to_json
from magent_lsp.core.request import PermissionRequest
from magent_lsp.lsp.convert import range_of

EVENT = "magent/event"
ASK = "magent/ask"
WAIT = "magent/wait"


def event_params(
    envelope: Envelope, spell: Callable[[str], str], text_of: Callable[[str], str | None]
) -> dict[str, Any]:
    """The parameters of `magent/event`; URIs and ranges are those of the client for open documents."""
    params: dict[str, Any] = to_json(envelope)
    event = envelope.event
    _spell(params["event"], spell)
    if isinstance(event, RunStarted | TargetUpdated) and event.range is not None:
        text = text_of(event.uri) if event.uri is not None else None
        if text is not None:
            where = range_of(text, event.range)
            params["event"]["range"] = {
                "start": {"line": where.start.line, "character": where.start.character},
                "end": {"line": where.end.line, "character": where.end.character},
            }
    return params


def finished_event(event: RunFinished, spell: Callable[[str], str]) -> dict[str, Any]:
    """A `run_finished` event as a result."""
    found: dict[str, Any] = to_json(event)
    _spell(found, spell)
    return found


def request_params(request: PermissionRequest, spell: Callable[[str], str]) -> dict[str, Any]:
    """A permission request as a result; its URIs are those of the client for open documents."""
    found: dict[str, Any] = to_json(request)
    _spell(found, spell)
    return found


def _spell(event: dict[str, Any], spell: Callable[[str], str]) -> None:
    for item in (event, *event.get("edits", ())):
        if "uri" in item:
            item["uri"] = spell(item["uri"])
    if "uris" in event:
        event["uris"] = [spell(uri) for uri in event["uris"]]
