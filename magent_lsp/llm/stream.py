"""Assembles the pieces of a streamed answer; pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from magent_lsp.core.halves import Joiner, whole
from magent_lsp.core.messages import (
    AssistantMessage,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from magent_lsp.core.tool import Tool
from magent_lsp.llm.textcall import TextCalls


@dataclass(frozen=True, kw_only=True)
class CallDelta:
    """A piece of a tool call, as providers send it: any part may be missing."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


@dataclass(frozen=True, kw_only=True)
class Delta:
    """One chunk of an answer."""

    text: str | None = None
    reasoning: str | None = None
    blocks: Sequence[Mapping[str, Any]] = ()
    """Pieces of thinking blocks; those of one block have the same `index`."""
    calls: Sequence[CallDelta] = ()
    finish: FinishReason | None = None


class Assembly:
    """One answer on its way; feed it all deltas in order, then finish it."""

    def __init__(self, id: str, tools: Sequence[Tool] = (), model: str = "") -> None:
        self._id = id
        self._model = model
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._blocks = Blocks()
        self._calls = Calls(id, {tool.name for tool in tools})
        self._held = TextCalls(tools)
        self._said, self._thought = Joiner(), Joiner()
        self.finish_reason: FinishReason | None = None

    @property
    def begun(self) -> bool:
        """Whether anything of an answer has come."""
        return bool(self._text or self._reasoning or self._calls or self._blocks or self._held)

    @property
    def size(self) -> int:
        """Characters of the answer so far, for an estimate where the provider counts nothing."""
        calls = sum(len(call.name) + len(call.arguments) for call in self._calls.whole())
        return calls + sum(map(len, self._text)) + sum(map(len, self._reasoning))

    def feed(self, delta: Delta) -> list[TextDelta | ReasoningDelta]:
        """Take a chunk; returns what can be shown of it."""
        shown: list[TextDelta | ReasoningDelta] = []
        if thought := self._thought.feed(delta.reasoning or ""):
            self._reasoning.append(thought)
            shown.append(ReasoningDelta(text=thought))
        for block in delta.blocks:
            self._blocks.feed(block)
        if delta.calls:
            shown += self._show(self._held.release())
        if said := self._said.feed(delta.text or ""):
            shown += self._show(self._held.feed(said, hold=not self._calls))
        for piece in delta.calls:
            self._calls.feed(piece)
        self.finish_reason = delta.finish or self.finish_reason
        return shown

    def finish(self, usage: Usage) -> list[TextDelta | AssistantMessage]:
        """The rest of the text, if some was held back, and the whole message."""
        reason = self.finish_reason or "cut"
        begun = self._show(self._held.feed(left, hold=not self._calls)) if (left := self._said.end()) else []
        call = self._held.call() if reason in ("stop", "tool_calls") else None
        if call:
            self._calls.feed(CallDelta(name=call.name, arguments=call.arguments))
        rest = [] if call else self._show(self._held.release())
        calls = self._calls.whole()
        if reason == "stop" and calls:
            reason = "tool_calls"
        elif reason == "tool_calls" and not calls:
            reason = "stop"
        message = AssistantMessage(
            id=self._id,
            text="".join(self._text),
            reasoning="".join(self._reasoning) + self._thought.end(),
            reasoning_blocks=self._blocks.whole(),
            tool_calls=calls,
            finish=reason,
            usage=usage,
            model=self._model,
        )
        return [*begun, *rest, message]

    def _show(self, text: str) -> list[TextDelta]:
        if not text:
            return []
        self._text.append(text)
        return [TextDelta(text=text)]


@dataclass(kw_only=True)
class _Open:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


_LONGEST_NAME = 1_000
"""Characters kept of a name; no tool has one as long."""


class Calls:
    """Tool calls in pieces, from servers that number them well, badly, or not at all."""

    def __init__(self, message_id: str, names: Collection[str] = ()) -> None:
        self._message_id = message_id
        self._names = names
        self._calls: list[_Open] = []
        self._at: dict[int, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(self, piece: CallDelta) -> None:
        """Take a piece."""
        call = self._find(piece)
        if call is None or self._begins(piece, call):
            call = _Open()
            self._calls.append(call)
        if piece.index is not None:
            self._at[piece.index] = call
        call.id = call.id or piece.id or ""
        if piece.name and piece.name != call.name:
            call.name = (call.name + piece.name)[:_LONGEST_NAME]
        if piece.arguments:
            call.arguments.append(piece.arguments)

    def whole(self) -> tuple[ToolCall, ...]:
        """The calls; an id that is missing or taken is made up, the same each time."""
        taken: set[str] = set()
        calls = []
        for place, call in enumerate(self._calls):
            if not call.name and not call.arguments:
                continue
            id = call.id if call.id and call.id not in taken else f"call_{self._message_id}_{place}"
            taken.add(id)
            arguments = whole("".join(call.arguments))
            calls.append(ToolCall(id=whole(id), name=whole(call.name), arguments=arguments))
        return tuple(calls)

    def _find(self, piece: CallDelta) -> _Open | None:
        if piece.index is not None:
            return self._at.get(piece.index)
        same = [call for call in self._calls if piece.id and call.id == piece.id]
        return same[0] if same else self._calls[-1] if self._calls else None

    def _begins(self, piece: CallDelta, call: _Open) -> bool:
        """Whether the piece belongs to a new call although its index is that of an older one."""
        if piece.id and call.id:
            return piece.id != call.id
        if not piece.name or not call.name:
            return bool(piece.id and call.arguments)
        # no two ids to compare: a name after arguments, or after a name that is a tool's already
        return bool(call.arguments) or call.name in self._names


class Blocks:
    """Thinking blocks in pieces."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._index: int | None = None

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def feed(self, piece: Mapping[str, Any]) -> None:
        """Take a piece; one that continues the last block has its type and index."""
        index = piece.get("index")
        last = self._blocks[-1] if self._blocks else None
        if (
            last is None
            or last.get("type") != piece.get("type")
            or index != self._index
            or _sealed(last, piece)
        ):
            last = {}
            self._blocks.append(last)
        self._index = index
        for key, value in piece.items():
            if key == "index" or value is None:
                continue
            grows = key == "thinking" and isinstance(value, str)
            last[key] = last.get(key, "") + value if grows else value or last.get(key, value)

    def whole(self) -> tuple[Mapping[str, Any], ...]:
        """The blocks that a provider would take back: signed, or encrypted."""
        return tuple(block for block in self._blocks if block.get("signature") or block.get("data"))


def _sealed(block: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether nothing can follow: the signature comes last."""
    return bool(block.get("signature") and piece.get("thinking")) or "data" in block
