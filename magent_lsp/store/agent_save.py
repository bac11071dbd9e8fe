"""Saving an agent to its file, which keeps what the person wrote there."""

import re
from pathlib import Path
from typing import Any

import yaml

from magent_lsp.core.agent import Agent
from magent_lsp.core.errors import ConfigError
from magent_lsp.store.agent_file import KEYS, SPELLINGS, agent_of, read_agent
from magent_lsp.store.fields import canonical
from magent_lsp.store.files import read_bytes, write_atomic
from magent_lsp.store.frontmatter import Front, parse_front

_TOGETHER = ("tools", "disallowedtools", "permission")
"""These say one thing in three ways: when one changes, all are written anew."""


def save_agent(agent: Agent, path: Path) -> None:
    """Write an agent; in an existing file only what differs is touched, comments and order stay.

    ConfigError if the existing file is no agent: it is not overwritten.
    """
    try:
        raw = read_bytes(path).decode("utf-8", "surrogateescape")
        read_agent(path, trusted=agent.trusted, native=agent.native)
    except FileNotFoundError:
        write_atomic(path, f"---\n{_dump(_fields(agent, path))}---\n{agent.prompt.strip()}\n")
        return
    text = saved_text(raw, agent, path)
    if text != raw:
        write_atomic(path, text)


def saved_text(raw: str, agent: Agent, path: Path) -> str:
    """The text of an agent's file that says what the agent is; ConfigError if the old one is no agent."""
    front = parse_front(raw, path)
    old = agent_of(front, trusted=agent.trusted, native=agent.native).agent
    before, after = _fields(old, path), _fields(agent, path)
    if before == after and old.prompt == agent.prompt:
        return raw
    head = _edited(front, before, after)
    if not _says(head, agent, path, after):
        head = _dump(after).rstrip("\n")
    return _joined(raw, front, head, agent.prompt)


def _fields(agent: Agent, path: Path) -> dict[str, Any]:
    """What the front matter has to say, by canonical key; defaults are left out."""
    named = agent.name if agent.name != path.stem else None
    fields = {
        "name": named,
        "description": agent.description,
        "mode": agent.mode if agent.mode != "all" else None,
        "hidden": agent.hidden or None,
        "model": agent.model,
        "temperature": agent.temperature,
        "topp": agent.top_p,
        "maxturns": agent.max_turns,
        "color": agent.color,
        "tools": sorted(agent.tools) if agent.tools is not None else None,
        "disallowedtools": sorted(agent.denied_tools) or None,
        "permission": {tool: _plain(rules) for tool, rules in agent.permission.items()} or None,
        "options": dict(agent.options) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _plain(rules: Any) -> Any:
    return dict(rules) if isinstance(rules, dict) else rules


def _dump(fields: dict[str, Any]) -> str:
    values = {KEYS[key]: value for key, value in fields.items()}
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=10_000)


def _edited(front: Front, before: dict[str, Any], after: dict[str, Any]) -> str:
    """The head with the changed keys replaced where they stand, new ones added, dropped ones removed."""
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    if changed & {*_TOGETHER}:
        changed |= {key for key in _TOGETHER if key in before or key in after}
    lines = front.head.split("\n") if front.head else []
    spans = _spans(front, lines)
    written = {canonical(key, SPELLINGS): key for key in reversed(list(front.values))}
    for key in sorted(changed & {*written}, key=lambda key: spans[written[key]][0], reverse=True):
        start, end = spans[written[key]]
        new = (
            yaml.safe_dump({written[key]: after[key]}, allow_unicode=True, width=10_000)
            if key in after
            else ""
        )
        lines[start:end] = new.splitlines()
    added = {key: after[key] for key in after if key in changed and key not in written}
    return "\n".join([*lines, *_dump(added).splitlines()]) if added else "\n".join(lines)


def _spans(front: Front, lines: list[str]) -> dict[str, tuple[int, int]]:
    """The lines that each key takes, without comments and blank lines that lead to the next one."""
    offset = front.data.line() or 1
    keys = sorted((front.data.lines[(key,)] - offset, key) for key in front.values)
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    starts = [(start + first, key) for start, key in keys]
    result: dict[str, tuple[int, int]] = {}
    for index, (start, key) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(lines)
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
            end -= 1
        result[key] = (start, end)
    return result


def _says(head: str, agent: Agent, path: Path, wanted: dict[str, Any]) -> bool:
    """Whether an edited head means what it should: flow style and anchors can defeat the edit."""
    try:
        read = agent_of(parse_front(f"---\n{head}\n---\n{agent.prompt}", path), trusted=agent.trusted)
    except ConfigError:
        return False
    return _fields(read.agent, path) == wanted


def _joined(raw: str, front: Front, head: str, prompt: str) -> str:
    """The file's text with a new head, and a new body if the prompt changed; line ends stay."""
    end = "\r\n" if "\r\n" in raw else "\n"
    bom = "\ufeff" if raw.startswith("\ufeff") else ""
    text = re.sub(r"\r\n|\r", "\n", raw.removeprefix("\ufeff"))
    if front.body and front.body == prompt:
        at = text.rindex(front.body)
        tail = text[at + len(front.body) :]
        gap = re.search(r"\n*\Z", text[:at])
        body = (gap[0][1:] if gap else "") + front.body + tail
    else:
        body = prompt.strip("\n") + "\n"
    return bom + f"---\n{head}\n---\n{body}".replace("\n", end)
