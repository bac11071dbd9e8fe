"""MCP servers for the app: how it is with each, for the doctor and the status."""

from collections.abc import Mapping
from pathlib import Path

from magent_lsp.core.ports import Wish
from magent_lsp.engine.report import Line
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.mcp.servers import Servers, Standing
from magent_lsp.store.problems import Problem


async def examine(
    servers: Servers, snapshot: Snapshot, folder: Path, environment: Mapping[str, str]
) -> tuple[Line, ...]:
    """A line for each server that is configured and in force; those that do not run are started."""
    entries = snapshot.settings.mcp_servers
    wish = Wish(
        folder=folder,
        servers=entries,
        needed=lambda prefix: True,
        environment=environment,
        tell=lambda text: None,
    )
    if entries:
        await servers.gather(wish)
    return tuple(map(_line, servers.standings(folder)))


def problems(servers: Servers, folder: Path | None) -> tuple[Problem, ...]:
    """What is wrong with the servers that runs wanted so far."""
    return tuple(
        Problem(message=f"MCP server {each.name!r}: {words}", path=None, line=None)
        for each in servers.standings(folder)
        for words in ((each.words,) if not each.ok else each.left_out)
    )


def _line(standing: Standing) -> Line:
    if standing.ok and not standing.left_out:
        return Line(name=standing.name, state="ok", detail=standing.words)
    if standing.ok:
        left_out = "; ".join(standing.left_out[:5])
        detail = f"{standing.words}; some cannot be offered: {left_out}"
        return Line(name=standing.name, state="warn", detail=detail, mend="Tell whoever makes the server.")
    mend = "Mend its entry under `mcpServers`, or run its command by hand to see what it says."
    return Line(name=standing.name, state="fail", detail=standing.words, mend=mend)
