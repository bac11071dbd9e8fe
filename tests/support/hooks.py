"""Hooks as a person's own config has them, and what became of the calls that they saw."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from magent_lsp.core.messages import ToolMessage

if TYPE_CHECKING:
    from tests.engine.conftest import Desk

HookWriter = Callable[..., dict[str, Any]]


def use(desk: "Desk", **hooks: list[dict[str, Any]]) -> None:
    """Hooks as the person's own config has them."""
    file = desk.magent.dirs.config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump({"hooks": hooks}))
    desk.magent.reload()
    assert desk.magent.problems == ()


def told(log: Path) -> list[dict[str, Any]]:
    """What hooks that log have read, oldest first."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def results(desk: "Desk") -> list[ToolMessage]:
    """The results that the model was given."""
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    return [message for message in session.messages if isinstance(message, ToolMessage)]


def decide(verdict: str, reason: str = "", **more: Any) -> dict[str, Any]:
    """A verdict as a hook prints it."""
    return {"hookSpecificOutput": {"permissionDecision": verdict, "permissionDecisionReason": reason, **more}}
