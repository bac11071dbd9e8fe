"""Hooks: commands that people want run at certain events; here they are only parsed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast, get_args

from magent_lsp.store.data import Data, Keys
from magent_lsp.store.keys import HOOK
from magent_lsp.store.problems import Problem
from magent_lsp.store.toolnames import CLAUDE

HookEvent = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "SessionEnd",
    "Notification",
]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)

DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 600.0
_MAX_PATTERN = 300
_KEYS = frozenset(key.name for key in HOOK)


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One command for one event."""

    event: HookEvent
    command: str
    matcher: str = ""
    """A regular expression on the whole name of the tool; empty: every tool."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds."""
    fail_closed: bool = False
    """A crash, a time-out or bad output denies instead of asking."""
    path: Path | None = None
    line: int | None = None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.matcher)

    def matches(self, name: str) -> bool:
        """Whether it is meant for this tool (or other subject), by our name or one that Claude uses."""
        return bool(self.names_for(name))

    def names_for(self, name: str) -> tuple[str, ...]:
        """The names of a tool (or another subject) that the matcher means; Claude's only if not ours."""
        if not self.matcher or self._pattern.fullmatch(name[:200]):
            return (name,)
        theirs = (theirs for theirs, ours in CLAUDE.items() if ours == name)
        return tuple(each for each in theirs if self._pattern.fullmatch(each[:200]))


def parse_hooks(
    value: Any, source: Path | None = None, data: Data | None = None
) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    """The hooks of one source: our flat form and Claude's nested one; a bad one is left out and reported.

    `data` is the file they stand in, under the key `hooks`; it knows the lines.
    """
    reader = _Reader(source, data or Data())
    return tuple(reader.read(value)), tuple(reader.problems)


class _Reader:
    def __init__(self, path: Path | None, data: Data) -> None:
        self.path = path
        self.data = data
        self.problems: list[Problem] = []

    def report(self, message: str, keys: Keys) -> None:
        line = self.data.line("hooks", *keys)
        self.problems.append(Problem(message=message, path=self.path, line=line, severity="error"))

    def read(self, value: Any) -> Iterator[Hook]:
        if not isinstance(value, Mapping):
            self.report("'hooks' must be a mapping of event to a list of hooks; none is run", ())
            return
        for event, items in value.items():
            if event not in EVENTS:
                near = get_close_matches(str(event), EVENTS, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"the events are {', '.join(EVENTS)}"
                self.report(f"there is no event {event!r}; {hint}", (event,))
            elif not isinstance(items, list):
                self.report(f"the hooks of {event!r} must be a list", (event,))
            else:
                for index, item in enumerate(items):
                    yield from self.item(cast(HookEvent, event), item, (event, index), "")

    def item(self, event: HookEvent, item: Any, keys: Keys, outer: str) -> Iterator[Hook]:
        if not isinstance(item, Mapping):
            self.report(f"a hook of {event!r} must be a mapping with a `command`", keys)
            return
        for key in item:
            if key not in _KEYS:
                self.report(f"a hook has no {key!r}; it is ignored", (*keys, key))
        matcher = self.matcher(item.get("matcher", outer), keys)
        if matcher is None:
            return
        nested = item.get("hooks")
        if nested is not None:
            if not isinstance(nested, list) or outer:
                self.report("'hooks' in a hook must be a list of commands", (*keys, "hooks"))
                return
            for index, inner in enumerate(nested):
                yield from self.item(event, inner, (*keys, "hooks", index), matcher)
            return
        hook = self.command(event, item, matcher, keys)
        if hook is not None:
            yield hook

    def matcher(self, value: Any, keys: Keys) -> str | None:
        """The regular expression; None if it is none, which leaves the hook out."""
        if value is None or value in ("", "*"):
            return ""
        try:
            if not isinstance(value, str) or len(value) > _MAX_PATTERN:
                raise re.error(f"it must be text of at most {_MAX_PATTERN} characters")
            re.compile(value)
        except (re.error, RecursionError, OverflowError) as error:
            self.report(
                f"the matcher {value!r} is no regular expression ({error}); this hook is not run",
                (*keys, "matcher"),
            )
            return None
        return value

    def command(self, event: HookEvent, item: Mapping[str, Any], matcher: str, keys: Keys) -> Hook | None:
        kind, command = item.get("type", "command"), item.get("command")
        if kind != "command":
            self.report(f"hooks of the type {kind!r} are not supported; only 'command' is", (*keys, "type"))
            return None
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            self.report("a hook needs a `command`, the shell command to run", (*keys, "command"))
            return None
        timeout = item.get("timeout")
        if timeout is not None and (
            isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0
        ):
            self.report(
                f"'timeout' must be seconds above 0, not {timeout!r}; {DEFAULT_TIMEOUT:g} is used",
                (*keys, "timeout"),
            )
            timeout = None
        closed = item.get("failClosed", False)
        if not isinstance(closed, bool):
            self.report(
                f"'failClosed' must be true or false, not {closed!r}; true is used", (*keys, "failClosed")
            )
            closed = True
        return Hook(
            event=event,
            command=command,
            matcher=matcher,
            timeout=min(float(timeout or DEFAULT_TIMEOUT), MAX_TIMEOUT),
            fail_closed=closed,
            path=self.path,
            line=self.data.line("hooks", *keys),
        )
