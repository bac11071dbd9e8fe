"""Who acts: an agent's prompt, model and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

AgentMode = Literal["primary", "subagent", "all"]


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A named way of working; loaded from Markdown with front matter."""

    name: str
    description: str
    prompt: str
    """The system prompt, the body of the file."""
    mode: AgentMode = "all"
    hidden: bool = False
    """Hidden agents are used by the program itself and never listed for people or models."""
    native: bool = False
    """Shipped with the package."""
    model: str | None = None
    """None or `inherit`: the session's model."""
    temperature: float | None = None
    top_p: float | None = None
    max_turns: int | None = None
    color: str | None = None
    tools: frozenset[str] | None = None
    """Tools it may use by name or glob; None: all that its permissions allow."""
    denied_tools: frozenset[str] = frozenset()
    permission: Mapping[str, Any] = field(default_factory=dict)
    """As in the settings: tool -> verdict or {pattern: verdict}."""
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    trusted: bool = True
    """False for a project's agent before the project is trusted: it only tightens."""
