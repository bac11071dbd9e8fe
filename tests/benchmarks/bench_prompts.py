"""How large the first request is, by agent: `python -m tests.benchmarks prompts`.

The system prompt and the schemas of the tools, as the bytes that are sent. The bounds hold for what we ship:
instructions of a project and MCP servers come on top. Exits with 1 if an agent is over its bound.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.events import Envelope
from magent_lsp.core.request import RunRequest
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
from tests.support.model_server import ModelServer

BOUNDS = {"build": 14_000, "ask": 6_000}
CHARS_PER_TOKEN = 4


class Nobody:
    """Nobody watches."""

    def emit(self, event: Envelope) -> None:
        """Let it pass."""


async def measure(home: Path) -> dict[str, tuple[int, int, int]]:
    """System prompt, tools in bytes and number of tools, of each agent that people can choose."""
    workspace = home / "ws"
    workspace.mkdir()
    sizes: dict[str, tuple[int, int, int]] = {}
    with ModelServer() as server:
        magent = Magent(
            folders=[workspace],
            editor=DiskEditor(),
            sink=Nobody(),
            dirs=Dirs.under(home / "home"),
            environ={"OPENAI_API_KEY": "none"},
            overrides={"model": server.model("openai"), "apiBase": server.base("openai"), "titles": False},
        )
        for name, agent in magent.agents().items():
            if agent.hidden:
                continue
            server.reply("ok")
            run = magent.start(RunRequest(prompt="hello", agent=name))
            await magent.wait(run.run_id)
            sent = server.requests[-1].json
            tools = sent.get("tools") or []
            system = len(sent["messages"][0]["content"].encode())
            sizes[name] = (system, len(json.dumps(tools, separators=(",", ":")).encode()), len(tools))
        await magent.close()
    return sizes


def main() -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = asyncio.run(measure(Path(folder)))
    over = [name for name, bound in BOUNDS.items() if sum(sizes[name][:2]) > bound]
    if arguments.json:
        print(json.dumps(sizes, indent=2))
        return 1 if over else 0
    print(f"{'agent':12} {'system':>8} {'tools':>14} {'together':>9} {'tokens, about':>14}   bound")
    for name, (system, tools, number) in sizes.items():
        both = system + tools
        bound = f"{BOUNDS[name]:,}{'  OVER' if name in over else ''}" if name in BOUNDS else "-"
        tokens = both // CHARS_PER_TOKEN
        print(f"{name:12} {system:>8,} {tools:>9,} ({number:>2}) {both:>9,} {tokens:>14,}   {bound}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
