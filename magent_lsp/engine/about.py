"""Slash commands about the conversation itself: `/compact`, `/summary` and `/context`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.core.events import UsageUpdated
from magent_lsp.core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.tool import Tool
from magent_lsp.engine.aside import ask_aside
from magent_lsp.engine.compaction import INTRODUCTION
from magent_lsp.engine.flatten import flatten
from magent_lsp.engine.run import Run
from magent_lsp.engine.size import CHARS_PER_TOKEN, calibrate, estimate, size_of
from magent_lsp.engine.slash import Builtin
from magent_lsp.engine.window import Window
from magent_lsp.store.instructions import Instruction

_SUMMARISED: Final = 100_000
"""Characters of a conversation that a summary is made of, where the window is not known to be smaller."""
_NOTHING: Final = "There is nothing to summarise yet."


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a run's requests are made of, as the driver makes it."""

    settings: Callable[[Run], Awaitable[ModelSettings]]
    instructions: Callable[[Run], Awaitable[Sequence[Instruction]]]
    system: Callable[[Run, Sequence[Instruction]], str]
    tools: Callable[[Run], Sequence[Tool]]


class About:
    """The commands, by name."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def commands(self) -> Mapping[str, Builtin]:
        """The commands by name."""
        return {"compact": self.compact, "summary": self.summary, "context": self.context}

    async def compact(self, run: Run, arguments: str) -> str:
        """Summarise the conversation to make room."""
        if not run.session.messages:
            return _NOTHING
        settings = await self._parts.settings(run)
        system = self._parts.system(run, await self._parts.instructions(run))
        limit = await run.host.context_limit(run.settings, settings.model)
        tokens = await Window(run, system=system, settings=settings, limit=limit).summarise(arguments)
        return f"The conversation had about {tokens:,} tokens and is summarised now."

    async def summary(self, run: Run, arguments: str) -> str:
        """What was done, for people: written by the small model, which sees no tools."""
        messages = await run.history()
        if not messages:
            return _NOTHING
        settings = await run.host.small_settings(run.settings, run.request.model or run.session.model)
        limit = await run.host.context_limit(run.settings, settings.model)
        room = min(_SUMMARISED, limit * 2) if limit else _SUMMARISED
        text = await asyncio.to_thread(flatten, messages, room)
        if arguments:
            text += f"\n\nThe user asks to pay attention to: {run.host.redact(arguments)}"
        run.doing = "summarising the conversation"
        reply = await ask_aside(run, "summary", text, settings, emit=run.emit)
        run.count(reply.usage)
        run.budget.pay(reply.usage)
        run.emit(UsageUpdated(usage=run.usage))
        return run.host.redact(reply.text).strip() or "The model gave no summary. Try again."

    async def context(self, run: Run, arguments: str) -> str:
        """What fills the model's window, by kind, as the next request would be made."""
        settings = await self._parts.settings(run)
        instructions = await self._parts.instructions(run)
        tools = self._parts.tools(run)
        limit = await run.host.context_limit(run.settings, settings.model)
        system = self._parts.system(run, instructions)
        sizes = await asyncio.to_thread(_sizes, run.agent.prompt, system, tools, await run.history())
        return _table(sizes, settings.model, limit)


def _sizes(agent: str, system: str, tools: Sequence[Tool], messages: Sequence[Message]) -> dict[str, int]:
    """Tokens by kind."""
    ratio = _measured(system, messages, tools)
    prompt = estimate([SystemMessage(text=agent)], (), ratio)
    return {
        "system prompt": prompt,
        "instructions": estimate([SystemMessage(text=system)], (), ratio) - prompt,
        f"tools ({len(tools)})": estimate((), tools, ratio),
        **_conversation(messages, ratio),
    }


def _measured(system: str, messages: Sequence[Message], tools: Sequence[Tool]) -> float:
    """Characters per token as the provider counted the last request of this conversation, else the usual."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AssistantMessage) and message.usage.input_tokens:
            asked = size_of([SystemMessage(text=system), *messages[:at]], tools)
            return calibrate(asked, message.usage) or CHARS_PER_TOKEN
    return CHARS_PER_TOKEN


def _conversation(messages: Sequence[Message], ratio: float) -> dict[str, int]:
    """The messages by what they are; outputs by the tool that gave them."""
    kinds: dict[str, list[Message]] = {}
    for message in messages:
        match message:
            case UserMessage(text=text) if text.startswith(INTRODUCTION):
                kinds.setdefault("summary of earlier turns", []).append(message)
            case UserMessage(synthetic=True):
                kinds.setdefault("notes of the program", []).append(message)
            case UserMessage():
                kinds.setdefault("your prompts, with what was attached", []).append(message)
            case AssistantMessage():
                kinds.setdefault("answers and calls", []).append(message)
            case ToolMessage(name=name):
                kinds.setdefault(f"output of {name}", []).append(message)
    sizes = {kind: estimate(each, (), ratio) for kind, each in kinds.items()}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _table(sizes: Mapping[str, int], model: str, limit: int | None) -> str:
    total = sum(sizes.values())
    window = f" of {limit:,} ({total * 100 // limit} %)" if limit else "; the size of its window is not known"
    lines = [f"The next request to `{model}` has about {total:,} tokens{window}:", ""]
    for kind, size in sizes.items():
        if size:
            lines.append(f"- {kind}: {size:,} ({size * 100 // max(total, 1)} %)")
    return "\n".join(lines)
