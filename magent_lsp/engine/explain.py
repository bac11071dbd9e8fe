"""Why a call would be allowed, asked for or denied, without making it."""

import difflib
import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from magent_lsp.core.agent import Agent
from magent_lsp.core.errors import CallerError
from magent_lsp.core.tool import Subject
from magent_lsp.engine.call import faults, one_spelling
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.permissions.decision import Decision
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import STRICTNESS
from magent_lsp.permissions.tools import OUTSIDE
from magent_lsp.store.toolnames import tool_name

_QUOTED = " \t\n'\"\\#"
"""Signs in a word that must have been quoted by the person who typed it."""


def explain(
    tool: str, arguments: Mapping[str, Any], agent: Agent, snapshot: Snapshot, place: Place
) -> Decision:
    """The verdict on a call; CallerError for an unknown tool or arguments that do not fit it."""
    found = next((each for each in snapshot.tools if each.name == tool), None)
    if found is None and tool.startswith(OUTSIDE):  # its server does not run; the rules are known even so
        return judge((Subject(tool=tool, kind="definition"),), snapshot.policy(agent), place)
    if found is None:
        raise _unknown(tool, snapshot)
    try:
        value = found.input.model_validate(one_spelling(arguments))
    except ValidationError as error:
        raise CallerError(f"arguments: {faults(error)}") from None
    subjects = found.subjects(value) or (Subject(tool=found.name, kind="none"),)
    policy = snapshot.policy(agent)
    verdicts = [judge(subjects, policy, place)]
    if reads := found.reads(subjects):
        verdicts.append(judge(reads, policy, place))
    return max(verdicts, key=lambda decision: STRICTNESS[decision.verdict])  # of equals the first


def _unknown(tool: str, snapshot: Snapshot) -> CallerError:
    names = [each.name for each in snapshot.tools]
    near = tool_name(tool) or next(iter(difflib.get_close_matches(tool.lower(), names, n=1)), None)
    hint = f"Did you mean {near!r}?" if near in names else f"Available: {', '.join(names)}."
    return CallerError(f"tool: there is no tool {tool!r}. {hint}")


def arguments_of(tool: str, words: list[str], snapshot: Snapshot) -> dict[str, Any]:
    """A tool's arguments from words on a command line: each fills the next required field.

    The last field takes the rest, so that a command line need not be quoted. CallerError for an unknown
    tool or too few words.
    """
    if tool.startswith(OUTSIDE):
        return {}
    found = next((each for each in snapshot.tools if each.name == tool), None)
    if found is None:
        raise _unknown(tool, snapshot)
    required = [name for name, field in found.input.model_fields.items() if field.is_required()]
    names = required or list(found.input.model_fields)[:1]
    if tool in ("edit_file", "write_file"):
        # The verdict depends on the path alone.
        fill: dict[str, Any] = (
            {"content": ""} if tool == "write_file" else {"old_string": "a", "new_string": "b"}
        )
        return {"path": " ".join(words), **fill}
    if len(words) < len(required):
        raise CallerError(f"{tool!r} needs {', '.join(required)}.")
    heads, rest = words[: len(names) - 1], words[len(names) - 1 :]
    if tool == "bash" and len(rest) > 1:  # the shell took the quotes away; operators were quoted to get here
        rest = [
            shlex.quote(word) if any(sign in word for sign in _QUOTED) or not word else word for word in rest
        ]
    return {**dict(zip(names, heads, strict=False)), **({names[-1]: " ".join(rest)} if rest else {})}
