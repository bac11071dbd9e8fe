"""Slash commands: Markdown files whose body is a prompt with places for arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magent_lsp.core.errors import ConfigError
from magent_lsp.store import toolnames
from magent_lsp.store.agent_file import SESSION_MODELS
from magent_lsp.store.collect import Definition, collect, native_first
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.expansion import Expansion, FileRef, Part, Shell, Text, expand_template
from magent_lsp.store.fields import Fields
from magent_lsp.store.files import NO_TEXTS, Texts, is_markdown
from magent_lsp.store.keys import COMMAND, canonical_names
from magent_lsp.store.places import Family, Place, places
from magent_lsp.store.problems import UNTRUSTED, Problem

__all__ = ["Command", "Commands", "Expansion", "FileRef", "Part", "Shell", "Text", "expand", "load_commands"]

DEFAULT_KIND = "refactor.rewrite"
_KINDS = ("quickfix", "refactor", "source")
_KEYS = tuple(canonical_names(COMMAND))

PROGRAM = frozenset(
    {
        "help",
        "done",
        "compact",
        "todos",
        "export",
        "agents",
        "model",
        "sessions",
        "undo",
        "redo",
        "cost",
        "context",
        "summary",
        "doctor",
        "permissions",
        "clear",
    }
)
"""Commands that are code of the program, which an untrusted project cannot replace either."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A prompt that people call by `/name`."""

    name: str
    description: str
    template: str
    agent: str | None = None
    """The agent it runs with; None: the session's."""
    model: str | None = None
    allowed_tools: frozenset[str] | None = None
    """Tools it is limited to; None: those of the agent. Never widens."""
    restriction: Mapping[str, Any] | None = None
    """The same with its patterns, as a `permission` of which the stricter counts."""
    argument_hint: str = ""
    code_action: bool = False
    kind: str = DEFAULT_KIND
    """Kind of the code action."""
    subtask: bool = False
    """Runs as a subagent, which keeps its work out of the conversation."""
    source: Path
    family: Family = "magent"
    builtin: bool = False
    trusted: bool = True


@dataclass(frozen=True, kw_only=True)
class Commands:
    """All commands of a project, and what was wrong."""

    commands: Mapping[str, Command]
    problems: tuple[Problem, ...] = ()


def load_commands(
    folder: Path | None,
    dirs: Dirs,
    trusted: bool,
    *,
    root: Path | None = None,
    texts: Texts = NO_TEXTS,
) -> Commands:
    """All commands a project sees; the first place that defines a name wins."""
    collected = collect(
        "command",
        tuple(places("commands", folder, dirs, trusted, root, texts)),
        is_markdown,
        _read,
        reserved=PROGRAM,
    )
    return Commands(
        commands=native_first(collected.chosen, lambda command: command.builtin),
        problems=tuple(collected.problems),
    )


def expand(command: Command, arguments: str) -> Expansion:
    """The command with its arguments in place; Claude counts them from 0, all others from 1."""
    return expand_template(command.template, arguments, first=0 if command.family == "claude" else 1)


def _read(path: Path, place: Place) -> Definition[Command]:
    """Read one file; ConfigError if it defines no command."""
    fields = Fields(place.read(path), _KEYS)
    name = _name(path, place)
    if not fields.front.body.strip():
        raise ConfigError("a command needs a prompt below its front matter", path=path, line=1)
    allowed, restriction = _tools(fields)
    model, agent = fields.text("model"), fields.text("agent")
    if not place.trusted and (model not in ("", *SESSION_MODELS) or agent):
        fields.report(f"`model` and `agent` are ignored {UNTRUSTED}")
    command = Command(
        name=name,
        description=" ".join(fields.text("description").split()) or _first_line(fields.front.body),
        template=fields.front.body,
        agent=agent or None if place.trusted else None,
        model=None if model in SESSION_MODELS or not place.trusted else model or None,
        allowed_tools=allowed,
        restriction=restriction,
        argument_hint=_hint(fields),
        code_action=fields.flag("codeaction"),
        kind=_kind(fields),
        subtask=fields.flag("subtask"),
        source=path,
        family=place.family,
        builtin=place.native,
        trusted=place.trusted,
    )
    return Definition(name=name, path=path, item=command, problems=tuple(fields.problems))


def _name(path: Path, place: Place) -> str:
    """The file's name, with the folders around it: `folder:name`."""
    name = ":".join(path.relative_to(place.folder).with_suffix("").parts)
    if any(sign.isspace() or not sign.isprintable() for sign in name) or len(name) > 100:
        raise ConfigError("a command's file name may not hold blanks; rename it", path=path)
    return name


def _tools(fields: Fields) -> tuple[frozenset[str] | None, Mapping[str, Any] | None]:
    value = fields.get("allowedtools")
    if value is None:
        return None, None
    entries = toolnames.entries(value)
    if entries is None:
        fields.report(
            "'allowed-tools' must be a list or a text; no tool is allowed", fields.key("allowedtools")
        )
        entries = ()
    names = frozenset(entry.name for entry in entries if entry.known)
    if "*" in names:
        return None, None
    return names, toolnames.restriction(entries)


def _hint(fields: Fields) -> str:
    """As it is written: `[name]` is no list here."""
    value = fields.get("argumenthint")
    return value.strip() if isinstance(value, str) else fields.front.raw(fields.key("argumenthint"))


def _kind(fields: Fields) -> str:
    kind = fields.text("kind")
    if kind and kind.split(".")[0] not in _KINDS:
        fields.bad("kind", f"a kind of code action, below {', '.join(_KINDS)}")
        return DEFAULT_KIND
    return kind or DEFAULT_KIND


def _first_line(body: str) -> str:
    line = next((line.strip("#* \t") for line in body.split("\n") if line.strip("#* \t")), "")
    return line if len(line) <= 100 else f"{line[:99]}…"
