"""Follows a run: a line of the log for each thing that happens in it, and spans for those who want them.

The lines belong to the logger `magent_lsp.run`: what happened, then `name=value` pairs, values with blanks in
quotes; secrets are taken out. `run started … turn done … verdict … tool completed … run end_turn`.
"""

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from magent_lsp.core.errors import ModelError
from magent_lsp.core.events import (
    EditApplied,
    Envelope,
    Notice,
    PermissionRequested,
    PermissionResolved,
    RunEvent,
    RunFinished,
    RunQueued,
    RunStarted,
    ToolCallEvent,
)
from magent_lsp.core.messages import AssistantMessage, Usage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.engine.telemetry import Span, Spans, usage_attributes
from magent_lsp.permissions.decision import Decision

logger = logging.getLogger("magent_lsp.run")

_PLAIN: Final = re.compile(r"[\w./:@%+,$~*-]+")
_LONGEST: Final = 300
"""Characters of one value; the log is no second copy of the conversation."""


class Turn:
    """One request to the model; set `reply` when it is there."""

    reply: AssistantMessage | None = None


class Trace:
    """The log and the spans of one run; also an event sink."""

    def __init__(self, run_id: str, redact: Callable[[str], str], parent: "Trace | None" = None) -> None:
        self.spans: Spans | None = None
        """Set when the run begins and its settings want them."""
        self._run_id = run_id
        self._redact = redact
        self._parent = parent
        self._began = time.monotonic()
        self._turns = 0
        self._agent: Span | None = None
        self._tools: dict[str, tuple[float, Span | None]] = {}
        """Calls that are at work: when they began, and their spans."""
        self._asked: dict[str, float] = {}

    def emit(self, event: Envelope) -> None:
        """Take note of an event of the run."""
        happened = event.event
        match happened:
            case RunQueued(position=position):
                self._line(logging.INFO, "run queued", position=position, session=event.session_id)
            case RunStarted():
                self._started(happened, event.session_id)
            case RunFinished():
                self._finished(happened)
            case ToolCallEvent(phase="started"):
                self._tool_began(happened)
            case ToolCallEvent(phase="finished"):
                self._tool_ended(happened)
            case _:
                self._noted(happened)

    @contextlib.contextmanager
    def turn(self, settings: ModelSettings) -> Iterator[Turn]:
        """One request to the model, with its tries."""
        self._turns += 1
        began = time.monotonic()
        turn = Turn()
        span = self.spans.chat(settings, self._agent) if self.spans else None
        failure = "cancelled"
        try:
            yield turn
            failure = "" if turn.reply is not None else "endless"
        except ModelError as error:
            failure = error.kind
            raise
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            about: dict[str, Any] = {"n": self._turns, "model": settings.model, "ms": _ms(began)}
            if turn.reply is not None:
                calls = len(turn.reply.tool_calls)
                about |= {"finish": turn.reply.finish, "calls": calls, **_usage(turn.reply.usage)}
                self._line(logging.DEBUG, "turn done", **about)
            else:
                self._line(logging.DEBUG, "turn failed", error=failure, **about)
            self._end_chat(span, turn.reply, failure)

    def verdict(self, call_id: str, tool: str, decision: Decision) -> None:
        """What the rules say of a call, and which of them, written where."""
        rule = decision.rule
        source = f"{rule.source.name}:{rule.source.line}" if rule and rule.source.line else None
        self._line(
            logging.DEBUG,
            f"verdict {decision.verdict}",
            tool=tool,
            call=call_id,
            rule=f"{rule.tool} {rule.pattern} {rule.verdict}" if rule else None,
            source=source or (rule.source.name if rule else None),
            reason=None if rule and rule.verdict == decision.verdict else decision.reason,
        )

    def _started(self, event: RunStarted, session_id: str) -> None:
        self._began = time.monotonic()
        about = {"agent": event.agent, "model": event.model, "parent": event.parent_run_id}
        self._line(logging.INFO, "run started", session=session_id, **about)
        if self.spans is not None:
            above = self._parent._agent if self._parent else None
            self._agent = self.spans.agent(event.agent, event.model, session_id, above)

    def _finished(self, event: RunFinished) -> None:
        about = {"turns": self._turns, "ms": _ms(self._began), **_usage(event.usage)}
        edits = sum(edit.outcome == "applied" for edit in event.edits)
        self._line(
            logging.INFO, f"run {event.stop_reason}", **about, edits=edits or None, error=event.error or None
        )
        for call_id in list(self._tools):
            self._close_tool(call_id, "cancelled")
        if self._agent is not None and self.spans is not None:
            self._agent.set_attributes(
                {"magent.stop_reason": event.stop_reason, **usage_attributes(event.usage)}
            )
            if event.stop_reason == "error":
                self.spans.failed(self._agent, "error")
            self._agent.end()
            self._agent = None

    def _tool_began(self, event: ToolCallEvent) -> None:
        span = self.spans.tool(event.name, event.tool_call_id, self._agent) if self.spans else None
        self._tools[event.tool_call_id] = (time.monotonic(), span)

    def _tool_ended(self, event: ToolCallEvent) -> None:
        began = self._close_tool(event.tool_call_id, event.status)
        self._line(
            logging.DEBUG,
            f"tool {event.status}",
            tool=event.name,
            call=event.tool_call_id,
            ms=_ms(began),
            title=event.title,
            chars=len(event.output or ""),
        )

    def _close_tool(self, call_id: str, status: str) -> float:
        began, span = self._tools.pop(call_id, (time.monotonic(), None))
        if span is not None and self.spans is not None:
            if status != "completed":
                self.spans.failed(span, status)
            span.end()
        return began

    def _noted(self, event: RunEvent) -> None:
        match event:
            case PermissionRequested(request=request):
                self._asked[request.request_id] = time.monotonic()
                about = {"request": request.request_id, "tool": request.tool, "title": request.title}
                self._line(logging.DEBUG, "permission asked", **about, reason=request.reason)
            case PermissionResolved(request_id=request_id, reply=reply):
                began = self._asked.pop(request_id, time.monotonic())
                self._line(logging.DEBUG, f"permission {reply}", request=request_id, ms=_ms(began))
            case EditApplied(uri=uri, outcome=outcome, tool_call_id=call_id):
                self._line(logging.DEBUG, f"edit {outcome}", uri=uri, call=call_id)
            case Notice(level=level, message=message):
                self._line(logging.DEBUG, f"notice {level}", message=message)

    def _end_chat(self, span: Span | None, reply: AssistantMessage | None, failure: str) -> None:
        if span is None or self.spans is None:
            return
        if reply is not None:
            span.set_attributes(
                {"gen_ai.response.finish_reasons": (reply.finish,), **usage_attributes(reply.usage)}
            )
        if failure:
            self.spans.failed(span, failure)
        span.end()

    def _line(self, level: int, what: str, **about: Any) -> None:
        if logger.isEnabledFor(level):
            pairs = {"run": self._run_id, **about}
            told = " ".join(f"{name}={_value(value)}" for name, value in pairs.items() if value is not None)
            logger.log(level, "%s", self._redact(f"{what} {told}"))


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "cached": usage.cached_tokens or None,
        "cost": None if usage.cost_usd is None else f"{usage.cost_usd:.6f}",
        "estimated": True if usage.estimated else None,
    }


def _value(value: Any) -> str:
    text = str(value)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
