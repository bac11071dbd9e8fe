"""Numbers, stamps, redacts and coalesces the events of one run."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from magent_lsp.core.events import (
    Envelope,
    ReasoningDeltaEvent,
    RunEvent,
    RunFinished,
    TextDeltaEvent,
    ToolCallEvent,
)
from magent_lsp.core.ports import EventSink

logger = logging.getLogger(__name__)

DELTA_SECONDS = 0.05
"""Deltas are gathered for this long: at most 20 a second reach a client."""


class Emitter:
    """The way out for a run's events; `seq` begins at 1 and grows by one."""

    def __init__(
        self,
        run_id: str,
        session_id: str,
        sink: EventSink,
        redact: Callable[[str], str],
        unfinished: Callable[[str], int] = lambda text: 0,
    ) -> None:
        self._run_id = run_id
        self._session_id = session_id
        self._sink = sink
        self._redact = redact
        self._unfinished = unfinished
        self._seq = 0
        self._gathered: list[str] = []
        self._gathered_kind: type[TextDeltaEvent] | type[ReasoningDeltaEvent] = TextDeltaEvent
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, event: RunEvent) -> None:
        """Send an event; deltas wait a little for more of their kind, all else keeps its order."""
        if isinstance(event, TextDeltaEvent | ReasoningDeltaEvent):
            self._gather(event)
            return
        self.flush(whole=isinstance(event, ToolCallEvent | RunFinished))
        self._send(event)

    def flush(self, *, whole: bool = True) -> None:
        """Send the gathered deltas now; if not `whole`, without an end that may begin a secret."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered:
            text = "".join(self._gathered)
            end = len(text) - (0 if whole else self._unfinished(text))
            self._gathered = [text[end:]] if text[end:] else []
            if end:
                self._send(self._gathered_kind(text=text[:end]))

    def _gather(self, event: TextDeltaEvent | ReasoningDeltaEvent) -> None:
        if self._gathered and type(event) is not self._gathered_kind:
            self.flush()
        self._gathered_kind = type(event)
        self._gathered.append(event.text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELTA_SECONDS, self._on_time)

    def _on_time(self) -> None:
        self.flush(whole=False)

    def _send(self, event: RunEvent) -> None:
        self._seq += 1
        envelope = Envelope(
            run_id=self._run_id,
            session_id=self._session_id,
            seq=self._seq,
            time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            event=redacted(event, self._redact),
        )
        try:
            self._sink.emit(envelope)
        except Exception:  # a broken watcher must not take the run with it
            logger.exception("a sink failed on %s", type(event).__name__)


class Sinks:
    """Several sinks as one."""

    def __init__(self, *sinks: EventSink) -> None:
        self._sinks = sinks

    def emit(self, event: Envelope) -> None:
        """Hand the event to each."""
        for sink in self._sinks:
            sink.emit(event)


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """The same value with every string in it redacted; dataclasses, mappings and sequences are copied."""
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {key: redacted(item, redact) for key, item in value.items()}
        case list():
            return [redacted(item, redact) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(redacted(item, redact) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        new = {name: redacted(item, redact) for name, item in old.items()}
        changed = {name: item for name, item in new.items() if item is not old[name] and item != old[name]}
        return dataclasses.replace(value, **changed) if changed else value
    return value
