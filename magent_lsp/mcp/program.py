"""`magent-lsp mcp`: gives another program's agent the editor of a running server."""

import asyncio
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from magent_lsp.core.errors import UserError
from magent_lsp.event_loop import finish
from magent_lsp.mcp.link import AGENT, Link
from magent_lsp.mcp.load import INSTALL, installed
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.agents import load_agents
from magent_lsp.store.dirs import Dirs

_ELSEWHERE: Final = ("editor_eval", "done")
"""Tools that only some editors have, or only some runs."""


def serve(folder: Path | None) -> int:
    """Serve an MCP client on stdin and stdout until it leaves; UserError without the library."""
    if not installed():
        raise UserError(f"`magent-lsp mcp` needs one more library: {INSTALL}")
    if folder is not None and not folder.is_dir():
        raise UserError(f"--folder {str(folder)!r} is no folder.")
    finish(_serve(folder or Path.cwd()))
    return 0


async def _serve(place: Path) -> None:
    dirs = Dirs.from_environment(os.environ)
    registry = await asyncio.to_thread(load_agents, None, dirs, True)
    agent, rules = registry.agents.get(AGENT), registry.layers.get(AGENT)
    policy = Policy(layers=(default_layer(), *([rules] if rules is not None else [])))
    link = Link(dirs.guests, [place], _say)
    outlet = _library().Outlet(link, _usual_tools(policy), agent.prompt.strip() if agent is not None else "")
    try:
        await outlet.serve()
    finally:
        await link.close()


def _usual_tools(policy: Policy) -> Sequence[Mapping[str, Any]]:
    """What editors offer, by the user's rules for guests, as long as none is there to say so itself."""
    from magent_lsp.tools.registry import TOOLS

    return [
        {"name": t.name, "description": t.description, "schema": t.parameters, "kind": t.kind}
        for t in TOOLS
        if t.name not in _ELSEWHERE and offered(t.name, policy)
    ]


def _library() -> Any:
    gc.disable()  # the import makes much that stays, over which collections would go again and again
    try:
        return importlib.import_module("magent_lsp.mcp.outlet")
    finally:
        gc.enable()


def _say(text: str) -> None:
    print(f"magent-lsp mcp: {text}", file=sys.stderr, flush=True)
