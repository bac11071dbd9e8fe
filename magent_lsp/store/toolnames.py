"""The names other programs use for our tools."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from magent_lsp.permissions.tools import OUTSIDE, TOOLS

CLAUDE = {
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "LS": "list_dir",
    "Glob": "glob",
    "Grep": "grep",
    "Bash": "bash",
    "Task": "delegate",
    "Agent": "delegate",
    "WebFetch": "fetch",
    "TodoWrite": "todo",
    "TodoRead": "todo",
    "Skill": "skill",
    "AskUserQuestion": "ask_user",
}

_OTHERS = {
    "list": "list_dir",
    "ls": "list_dir",
    "patch": "edit_file",
    "apply_patch": "edit_file",
    "question": "ask_user",
    "emacs_eval": "editor_eval",
    "skill_invoke": "skill",
}

_KNOWN = {name: name for name in TOOLS} | {name.lower(): ours for name, ours in CLAUDE.items()} | _OTHERS

_ENTRY = re.compile(r"([^\s,()]+)(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?")


class Entry(NamedTuple):
    """One item of a list of tools: `Bash(git add:*)` is `bash` with the pattern `git add *`."""

    name: str
    patterns: tuple[str, ...]
    """Empty: all of the tool."""
    known: bool


def tool_name(name: str) -> str | None:
    """Our name of a tool; globs and MCP tools as they are; None if there is no such tool."""
    outside = name.startswith(OUTSIDE)
    if outside and "__" not in name.removeprefix(OUTSIDE) and "*" not in name:
        return f"{name}__*"
    if outside or "*" in name:
        return name
    return _KNOWN.get(name.lower())


def permission_tools(name: str) -> tuple[str, ...]:
    """The tools that a key of `permission` covers; an unknown name stays as it is, for the report."""
    if name.lower() in ("edit", "multiedit"):
        return ("edit_file", "write_file")
    return (tool_name(name) or name,)


def entries(value: Any) -> tuple[Entry, ...] | None:
    """The items of a list or of a text that is divided by commas or blanks; None if it is neither."""
    if isinstance(value, str):
        return tuple(_entry(match[1], match[2]) for match in _ENTRY.finditer(value))
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(entry for item in value for entry in entries(item) or ())
    return None


def _entry(name: str, argument: str | None) -> Entry:
    ours = tool_name(name)
    patterns = (
        _patterns(ours, argument.strip()) if ours and argument and argument.strip() not in ("", "*") else ()
    )
    return Entry(ours or name, patterns, ours is not None)


def _patterns(tool: str, argument: str) -> tuple[str, ...]:
    """Claude's way of writing a pattern, in ours."""
    if tool == "bash":
        return (f"{argument[:-2]} *" if argument.endswith(":*") else argument,)
    if tool == "fetch" and argument.startswith("domain:"):
        domain = argument.removeprefix("domain:").strip()
        return (f"https://{domain}/*", f"http://{domain}/*")
    if argument.startswith("//"):
        return (argument[1:],)
    if argument.startswith("/"):
        return (f".{argument}",)
    return (argument,)


def restriction(items: Iterable[Entry], otherwise: str = "allow") -> dict[str, Any]:
    """A `permission` that denies all but these, to be taken with the stricter of the usual one."""
    result: dict[str, Any] = {"*": "deny"}
    for name, patterns, known in items:
        if not known:
            continue
        if not patterns:
            result[name] = otherwise
        elif not isinstance(result.get(name), str):
            result[name] = {"*": "deny", **result.get(name, {}), **dict.fromkeys(patterns, otherwise)}
    return result
