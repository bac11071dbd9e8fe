"""When a history is too long, what of it stays, and what a summary must hold; no model is asked here.

First old outputs of tools give way to a line each, which costs nothing. If that is not enough, everything but
the newest messages is summarised by the compaction agent, and what must not be lost is attached again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from magent_lsp.core.session import Session, Todo
from magent_lsp.core.tool import Tool
from magent_lsp.engine.flatten import clipped, flatten
from magent_lsp.engine.size import CHARS_PER_TOKEN, estimate

_SMALL: Final = 600
"""Outputs up to this many characters are never pruned."""
_ENOUGH: Final = 0.7
"""Share of the room that may be taken after pruning; above it the next turns would prune again."""
_KEEP: Final = 0.25
"""Share of the room that the newest messages may take beside a summary."""

INTRODUCTION: Final = (
    "This conversation goes on from an earlier part that was too long to keep. What happened in it:"
)
CONCLUSION: Final = "Go on from here. Read files again before you edit them."


def room_for(limit: int, fixed: int, reserve: int | None = None) -> int:
    """Tokens that the conversation may take of a window beside what is fixed in each request.

    `reserve` is left for the answer.
    """
    reserve = min(limit // 5, 20_000) if reserve is None else reserve
    return max(limit - reserve - fixed, limit // 10)


@dataclass(frozen=True, kw_only=True)
class CompactionPlan:
    """What to do about the length of a history."""

    kind: Literal["none", "prune", "summarise"]
    tokens: int
    """What the whole request takes now."""
    messages: tuple[Message, ...]
    """The history with old outputs pruned; for `prune`, this is the result."""
    pruned: Mapping[str, str] = field(default_factory=dict)
    """Id of a message -> the text that it holds from now on."""
    split: int = 0
    """Messages before this index are summarised, those from it on are kept."""
    prompt: str = ""
    """For `summarise`: the conversation as a text, for the compaction agent."""

    @property
    def kept(self) -> tuple[Message, ...]:
        """The newest messages, which stay as they are."""
        return self.messages[self.split :]

    @property
    def kept_from(self) -> str | None:
        """Id of the first message that is kept; None: none is."""
        return message_id(self.kept[0]) if self.kept else None


def plan_compaction(
    messages: Sequence[Message],
    *,
    limit: int,
    reserve: int | None = None,
    tools: Sequence[Tool] = (),
    system: str = "",
    chars_per_token: float = CHARS_PER_TOKEN,
    keep_results: int = 8,
    force: bool = False,
) -> CompactionPlan:
    """What to do so that the next request fits into `limit` tokens with `reserve` left for its answer.

    `messages` is a normalised history without the system prompt. `force` summarises whatever the length: a
    person asked for it, or the provider said that it does not fit.
    """
    history = tuple(messages)
    fixed = estimate([SystemMessage(text=system)], tools, chars_per_token)
    tokens = fixed + estimate(history, (), chars_per_token)
    room = room_for(limit, fixed, reserve)
    if not force and tokens - fixed <= room:
        return CompactionPlan(kind="none", tokens=tokens, messages=history)
    pruned = _stubs(history, keep_results)
    shorter = _with_texts(history, pruned)
    if not force and pruned and estimate(shorter, (), chars_per_token) <= room * _ENOUGH:
        return CompactionPlan(kind="prune", tokens=tokens, messages=shorter, pruned=pruned)
    most = int(room * _KEEP)
    split, cut = _split(shorter, min(most, (tokens - fixed) // 4) if force else most, most, chars_per_token)
    if split == 0:
        return CompactionPlan(kind="none", tokens=tokens, messages=history)
    kept = {message_id(message) for message in history[split:]}
    return CompactionPlan(
        kind="summarise",
        tokens=tokens,
        messages=_with_texts(shorter, cut),
        pruned={key: text for key, text in (pruned | cut).items() if key in kept},
        split=split,
        prompt=_prompt(history[:split], int(room * 0.8 * chars_per_token)),
    )


def _stubs(messages: Sequence[Message], keep: int) -> dict[str, str]:
    """A line for each long output but the newest ones."""
    results = [m for m in messages if isinstance(m, ToolMessage)]
    return {
        m.id: f"[Output of {m.name} left out: {len(m.text):,} characters. Call it again if you need it.]"
        for m in results[: max(len(results) - keep, 0)]
        if len(m.text) > _SMALL or m.images
    }


def _with_texts(messages: Sequence[Message], texts: Mapping[str, str]) -> tuple[Message, ...]:
    return tuple(_with_text(m, texts[message_id(m)]) if message_id(m) in texts else m for m in messages)


def _with_text(message: Message, text: str) -> Message:
    if isinstance(message, ToolMessage | UserMessage):
        return replace(message, text=text, images=())
    return replace(message, text=text)


def _split(messages: Sequence[Message], wish: int, most: int, ratio: float) -> tuple[int, dict[str, str]]:
    """Where the kept messages begin, and texts that must be cut for them to fit.

    Never between a call and its result. As much is kept as fits into the tokens wished for; the last step may
    take more, and its outputs are cut to the most; where that does not help, nothing is kept. 0: there is
    nothing to summarise.
    """
    start, tokens = len(messages), 0
    for at in range(len(messages) - 1, 0, -1):
        tokens += estimate([messages[at]], (), ratio)
        if isinstance(messages[at], ToolMessage):
            continue
        if tokens > wish and start < len(messages):
            break
        if tokens > most:
            cut = truncated(messages[at:], most, ratio)
            return (at, cut) if cut is not None else (len(messages), {})
        start = at
    return (start, {}) if start < len(messages) else (0, {})


def truncated(
    messages: Sequence[Message], budget: int, chars_per_token: float = CHARS_PER_TOKEN
) -> dict[str, str] | None:
    """Shorter texts by message id with which messages fit into so many tokens; None if none are enough."""
    limit = max((len(m.text) for m in messages), default=0)
    while True:
        texts = {message_id(m): clipped(m.text, limit) for m in messages if len(m.text) > limit}
        if estimate(_with_texts(messages, texts), (), chars_per_token) <= budget:
            return texts
        if limit <= 200:
            return None
        limit //= 2


def _prompt(messages: Sequence[Message], max_chars: int) -> str:
    text = flatten(messages, max_chars).replace("</conversation", "<\\/conversation")
    return f"<conversation>\n{text}\n</conversation>"


def attachment(
    *,
    request: str = "",
    todos: Sequence[Todo] = (),
    plan: str = "",
    files: Sequence[str] = (),
    skills: Mapping[str, str] | None = None,
    max_chars: int = 20_000,
) -> str:
    """What is put beside a summary, so that no summary can lose it; the most important first.

    A skill that does not fit is named, so that the model can load it again.
    """
    marks = {"completed": "x", "in_progress": "~", "pending": " "}
    listed = "\n".join(f"- [{marks[todo.status]}] {todo.content}" for todo in todos)
    sections = [
        ("The user's last request", clipped(request, max_chars // 2)),
        ("Todos", listed),
        ("Plan", clipped(plan, max_chars // 2)),
        ("Files changed so far", "\n".join(f"- {path}" for path in files[:50])),
    ]
    parts: list[str] = []
    room = max_chars
    for title, body in sections:
        part = f"## {title}\n{body.strip()}"
        if body.strip() and room > len(title) + 50:
            parts.append(clipped(part, room))
            room -= len(parts[-1]) + 2
    dropped: list[str] = []
    for name, body in reversed([*(skills or {}).items()]):
        part = f'<skill-loaded name="{name}">\n{body.strip()}\n</skill-loaded>'
        if len(part) + 2 <= room:
            parts.append(part)
            room -= len(part) + 2
        else:
            dropped.append(name)
    if dropped:
        parts.append(f"Skills to load again if needed: {', '.join(sorted(dropped))}.")
    return "\n\n".join(parts)


def last_request(messages: Sequence[Message]) -> str:
    """What the person asked for last, in their own words."""
    asked = (m.text for m in reversed(messages) if isinstance(m, UserMessage) and not m.synthetic)
    return next((text for text in asked if text.strip()), "")


def files_changed(messages: Sequence[Message]) -> list[str]:
    """Paths of edits that were made, as the model named them, each once, the last first."""
    made = {m.call_id for m in messages if isinstance(m, ToolMessage) and m.status == "completed"}
    paths: dict[str, None] = {}
    for message in reversed(messages):
        for call in reversed(message.tool_calls) if isinstance(message, AssistantMessage) else ():
            if call.name in ("edit_file", "write_file") and call.id in made:
                path = _argument(call.arguments, "path")
                if path:
                    paths.setdefault(path)
    return list(paths)


def _argument(arguments: str, name: str) -> str:
    try:
        value: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def compact(
    session: Session, plan: CompactionPlan, *, new_id: str, summary: str = "", attached: str = ""
) -> None:
    """Give a session the shorter history, and journal it; what was said meanwhile stays at the end.

    `summary` is the compaction agent's text, and `attached` what `attachment` made; both only for
    `summarise`. Does nothing for `none`.
    """
    if plan.kind == "none":
        return
    known = {message_id(message) for message in plan.messages}
    later = [message for message in session.messages if message_id(message) not in known]
    record: dict[str, Any] = {"id": new_id, "pruned": dict(plan.pruned)}
    if plan.kind == "summarise":
        text = "\n\n".join(part for part in (INTRODUCTION, summary.strip(), attached, CONCLUSION) if part)
        record |= {"summary": text, "kept_from": plan.kept_from}
        session.messages[:] = [UserMessage(id=new_id, text=text, synthetic=True), *plan.kept, *later]
    else:
        session.messages[:] = [*plan.messages, *later]
    session.journal("compaction", record)


def message_id(message: Message) -> str:
    """The id of a message; a system prompt has none."""
    return "" if isinstance(message, SystemMessage) else message.id
