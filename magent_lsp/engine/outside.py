"""Tools that come from outside, of MCP servers: which servers a run needs, how much is offered."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from magent_lsp.core.events import Notice
from magent_lsp.core.ports import Wish
from magent_lsp.core.tool import Tool
from magent_lsp.engine.run import Run
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import Policy, Rule
from magent_lsp.permissions.tools import OUTSIDE

MOST: Final = 100
"""Tools from outside in one request: some providers refuse more than 128 in all."""
MOST_CHARACTERS: Final = 200_000
"""Of their definitions together: every request carries them."""


async def connect(run: Run) -> None:
    """Bring the tools of the MCP servers into a run whose agent may use some of them."""
    source = run.host.outside
    if source is None or not run.settings.mcp_servers:
        return
    run.doing = "waiting for MCP servers"
    policy = run.policy
    wish = Wish(
        folder=run.session.folder,
        servers=run.settings.mcp_servers,
        needed=lambda prefix: may_use(prefix, run, policy),
        environment=run.host.environment(run.settings),
        tell=lambda text: run.emit(Notice(level="warning", message=text)),
    )
    tools = await source.gather(wish)
    run.snapshot = replace(run.snapshot, extra_tools=tools)
    permitted = [tool for tool in tools if offered(tool.name, run.policy)]
    if (shown := len(list(fitting(permitted)))) < len(permitted) and run.parent is None:
        last = permitted[shown].name
        text = f"{len(permitted)} MCP tools are more than a request takes: `{last}` and those after it are "
        run.emit(Notice(level="warning", message=f"{text}left out. Deny some, such as `mcp__server__a*`."))


def may_use(prefix: str, run: Run, policy: Policy) -> bool:
    """Whether a run's agent could use a tool whose name begins with this."""
    names = run.agent.tools
    if names is not None and not any(_meets(name, prefix) for name in names):
        return False
    own = run.snapshot.registry.layers.get(run.agent.name)
    if own is not None and any(_names_some(rule, prefix) for rule in own.rules):
        # Such as `@read-only`, which stands for names that are not known before the server is there.
        return all(_open(prefix, each) for each in policy.chain() if each is not policy)
    return all(_open(prefix, each) for each in policy.chain())


def fitting(tools: Sequence[Tool]) -> Iterator[Tool]:
    """As many tools, in their order, as a request takes."""
    room = MOST_CHARACTERS
    for tool in tools[:MOST]:
        room -= len(tool.description) + len(json.dumps(tool.parameters))
        if room < 0:
            return
        yield tool


def _open(prefix: str, policy: Policy) -> bool:
    """Whether the rules leave anything open: for all tools of the server, or for some that they name."""
    rules = (rule for layer in policy.layers for rule in layer.rules)
    return offered(f"{prefix}any", policy) or any(_names_some(rule, prefix) for rule in rules)


def _names_some(rule: Rule, prefix: str) -> bool:
    if rule.verdict == "deny" or not rule.tool.startswith(OUTSIDE):
        return False
    return rule.source.name != "built-in defaults" and _meets(rule.tool, prefix)


def _meets(glob: str, prefix: str) -> bool:
    """Whether a name that fits the glob may begin with the prefix."""
    head = glob.partition("*")[0]
    return head.startswith(prefix) or ("*" in glob and prefix.startswith(head))
