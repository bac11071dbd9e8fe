"""Tool calls as Claude's hooks know them: names and arguments, there and back; pure.

A hook whose matcher names a tool only as Claude does (`Edit|Write`) was written for Claude's arguments, so it
gets those, and what it changes is understood in them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path"},
    "delegate": {"agent": "subagent_type", "background": "run_in_background"},
    "todo": {"items": "todos"},
    "grep": {"ignore_case": "-i", "context": "-C", "max_results": "head_limit"},
}


def to_claude(tool: str, names: Sequence[str], arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call of ours under one of Claude's names for the tool, with Claude's arguments."""
    name = names[0]
    renamed = _renamed(arguments, _NAMES.get(tool, {}))
    edits = renamed.get("edits")
    if tool == "edit_file" and isinstance(edits, list):
        if len(edits) == 1 and isinstance(edits[0], Mapping) and name == "Edit":
            del renamed["edits"]
            renamed |= edits[0]
        elif "MultiEdit" in names:
            name = "MultiEdit"
    if tool == "bash" and _is_number(renamed.get("timeout")):
        renamed["timeout"] = round(renamed["timeout"] * 1000)
    return name, renamed


def from_claude(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in Claude's form as ours."""
    back = {theirs: ours for ours, theirs in _NAMES.get(tool, {}).items()}
    renamed = _renamed(arguments, back)
    if tool == "bash" and _is_number(renamed.get("timeout")):
        renamed["timeout"] = renamed["timeout"] / 1000
    return renamed


def _renamed(arguments: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in arguments.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
