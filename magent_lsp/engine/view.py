"""A session as the model may see it: valid for every provider, and without secrets."""

import asyncio
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from magent_lsp.core.messages import AssistantMessage, Message, ToolCall
from magent_lsp.core.redact import Redactor
from magent_lsp.engine.history import History
from magent_lsp.engine.size import Size, size_of

SLICE: Final = 200
"""Messages that are taken in before the event loop gets its turn."""


class View:
    """Follows the messages of one session: what it has seen of them costs nothing again.

    What the model itself said is taken in here as well: it may have read a secret where we did not look.
    """

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._start()

    def _start(self) -> None:
        self._seen: list[Message] = []
        self._history = History()
        self.size = Size()
        """Of what `follow` gave."""

    async def follow(self, messages: Sequence[Message], redactor: Redactor) -> list[Message]:
        """The messages as they are to be sent now; a long history lets others have the loop meanwhile.

        All is looked at anew where the session was compacted, or where a further secret is known.
        """
        while True:
            if redactor is not self._redactor or not self._begins(messages):
                self._redactor = redactor
                self._start()
            at = len(self._seen)
            for message in messages[at : at + SLICE]:
                self._take(message)
            if len(self._seen) >= len(messages):
                return self._history.messages()
            await asyncio.sleep(0)

    def _begins(self, messages: Sequence[Message]) -> bool:
        """Whether all that was seen is still there, and nothing was put in between."""
        return len(self._seen) <= len(messages) and all(map(operator.is_, self._seen, messages))

    def _take(self, message: Message) -> None:
        self._seen.append(message)
        new = self._history.take(without_secrets(message, self._redactor))
        if new is not None:
            self.size += size_of([new])


def without_secrets(message: Message, redactor: Redactor) -> Message:
    """The message without secrets; its ids stay, so that calls and results stay together.

    Thinking that its provider has signed cannot be changed: where a secret is in it, it is left out.
    """
    if not redactor.count:
        return message
    redact = redactor.text
    text = redact(message.text)
    if not isinstance(message, AssistantMessage):
        return message if text == message.text else replace(message, text=text)
    reasoning = redact(message.reasoning)
    calls = tuple(_call_without(call, redactor) for call in message.tool_calls)
    blocks = message.reasoning_blocks
    if any(isinstance(value, str) and redact(value) != value for block in blocks for value in block.values()):
        blocks = ()
    if (text, reasoning, calls, blocks) == (
        message.text,
        message.reasoning,
        message.tool_calls,
        message.reasoning_blocks,
    ):
        return message
    return replace(message, text=text, reasoning=reasoning, tool_calls=calls, reasoning_blocks=blocks)


def _call_without(call: ToolCall, redactor: Redactor) -> ToolCall:
    arguments = redactor.text(call.arguments)
    return call if arguments == call.arguments else replace(call, arguments=arguments)
