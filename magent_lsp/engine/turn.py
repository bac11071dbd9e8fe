"""One request to the model, tried again where that can help."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing

from magent_lsp.core.config import Retry
from magent_lsp.core.errors import ModelError
from magent_lsp.core.events import Notice, ReasoningDeltaEvent, RunEvent, TextDeltaEvent
from magent_lsp.core.messages import AssistantMessage, Message, ReasoningDelta, TextDelta
from magent_lsp.core.ports import Model, ModelSettings
from magent_lsp.core.tool import Tool
from magent_lsp.engine.guards import endless

LOOK_EVERY = 500
"""Characters after which a growing reply is looked at for an endless repetition."""


class Endless(Exception):
    """A reply repeated itself and would have gone on for ever."""

    def __init__(self, text: str) -> None:
        super().__init__("the reply repeats itself")
        self.text = text
        """What had arrived."""


class Interrupted(ModelError):
    """A reply broke off after some of it had been shown, and asking again broke off too."""

    def __init__(self, error: ModelError, text: str) -> None:
        super().__init__(str(error), kind=error.kind, status=error.status)
        self.text = text
        """What had arrived."""


async def ask_model(
    model: Model,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    settings: ModelSettings,
    retry: Retry,
    emit: Callable[[RunEvent], None],
) -> AssistantMessage:
    """The model's whole reply; deltas and retries are emitted on the way.

    Waits double from `retry.base_seconds` to `retry.max_seconds` with jitter; a Retry-After is a minimum.
    A reply that broke off after it had begun is asked for once more, never silently replayed.
    Raises ModelError, Interrupted with the text that had arrived, or Endless.
    """
    broken = 0
    for attempt in range(1, retry.tries + 1):
        shown: list[str] = []
        try:
            return await _stream_once(model, messages, tools, settings, emit, shown)
        except ModelError as error:
            if shown:
                broken += 1
            if broken > 1 or (shown and attempt == retry.tries):
                raise Interrupted(error, "".join(shown)) from error
            if not error.retriable or attempt == retry.tries:
                raise
            wait = _pause(attempt, retry, error)
            what = "The answer broke off" if shown else _sentence(error)
            emit(
                Notice(
                    level="warning",
                    message=f"{what}; asking again in {wait:.0f} s (try {attempt + 1} of {retry.tries}).",
                )
            )
            await asyncio.sleep(wait)
    raise AssertionError("unreachable: the last try returns or raises")


async def _stream_once(
    model: Model,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    settings: ModelSettings,
    emit: Callable[[RunEvent], None],
    shown: list[str],
) -> AssistantMessage:
    reply: AssistantMessage | None = None
    said, thought = _Growing(), _Growing()
    async with aclosing(model.stream(messages, tools, settings)) as items:
        async for item in items:
            match item:
                case TextDelta():
                    shown.append(item.text)
                    emit(TextDeltaEvent(text=item.text))
                    if said.repeats(item.text):
                        raise Endless("".join(shown))
                case ReasoningDelta():
                    emit(ReasoningDeltaEvent(text=item.text))
                    if thought.repeats(item.text):
                        raise Endless("".join(shown))
                case AssistantMessage():
                    reply = item
    if reply is None or reply.finish == "cut":
        raise ModelError("The model's answer ended before it was complete.", kind="cut")
    return reply


class _Growing:
    """The end of a text that grows, looked at now and then."""

    def __init__(self) -> None:
        self._tail = ""
        self._new = 0

    def repeats(self, piece: str) -> bool:
        self._tail = (self._tail + piece)[-3_000:]
        self._new += len(piece)
        if self._new < LOOK_EVERY:
            return False
        self._new = 0
        return endless(self._tail)


def _pause(attempt: int, retry: Retry, error: ModelError) -> float:
    backoff = min(retry.base_seconds * 2.0 ** (attempt - 1), retry.max_seconds)
    wait = backoff * random.uniform(0.75, 1.0)
    if error.retry_after is None:
        return wait
    if error.retry_after > retry.max_seconds:
        raise ModelError(
            f"{_sentence(error)}; the provider asks to wait {error.retry_after:.0f} s, longer than "
            f"retry.maxSeconds ({retry.max_seconds:g}). Try again later or raise that setting.",
            kind=error.kind,
            status=error.status,
            retry_after=error.retry_after,
        ) from error
    return max(wait, error.retry_after)


def _sentence(error: ModelError) -> str:
    return str(error).rstrip(". ")
