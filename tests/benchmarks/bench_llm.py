"""What the model client costs: `python -m tests.benchmarks.bench_llm` prints a table.

Measured against a loopback server: loading and what the event loop feels of it, the time to the first piece
of an answer, and the processor time of each piece of a long one.
"""

import asyncio
import statistics
import subprocess
import sys
import time

from magent_lsp.core.messages import SystemMessage, UserMessage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.llm.load import Models
from tests.support.model_server import ModelServer
from tests.support.model_wire import Wire
from tests.support.talk import TOOLS

_ROUNDS = 15
_PIECES = 2000
_WIRES: tuple[Wire, ...] = ("openai", "anthropic", "ollama")


class Watch:
    """How long the event loop stood still at most."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def run(self) -> None:
        """Look every 2 ms."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.002)
            self.worst = max(self.worst, time.perf_counter() - before - 0.002)


async def first_piece(models: Models, settings: ModelSettings) -> float:
    """Seconds from the request to the first piece."""
    begun = time.perf_counter()
    took = 0.0
    async for _ in models.stream([SystemMessage(text="s"), UserMessage(id="u", text="hi")], TOOLS, settings):
        took = took or time.perf_counter() - begun
    return took


def import_seconds(module: str) -> float:
    """Seconds to import a module in a fresh interpreter, less those of the interpreter."""

    def run(code: str) -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begun

    return run(f"import {module}") - run("pass")


async def main() -> None:
    """Measure and print."""
    print(f"import magent_lsp.llm.load        {import_seconds('magent_lsp.llm.load') * 1000:8.1f} ms")
    watch, models = Watch(), Models()
    watcher = asyncio.create_task(watch.run())
    wall, cpu = time.perf_counter(), time.process_time()
    await models.warm_up()
    print(f"load the client                   {time.perf_counter() - wall:8.2f} s")
    print(f"  processor                       {time.process_time() - cpu:8.2f} s")
    print(f"  event loop stood still          {watch.worst * 1000:8.1f} ms at most")
    async with ModelServer() as server:
        for wire in _WIRES:
            settings = ModelSettings(model=server.model(wire), api_base=server.base(wire), api_key="x")
            server.reply("Hello there.")
            watch.worst = 0.0
            first = await first_piece(models, settings)
            stood = watch.worst
            times = []
            for _ in range(_ROUNDS):
                server.reply("Hello there.")
                times.append(await first_piece(models, settings))
            server.reply([f"word{number} " for number in range(_PIECES)])
            cpu = time.thread_time()  # of this thread only: the server has its own
            await first_piece(models, settings)
            spent = (time.thread_time() - cpu) / _PIECES
            print(wire)
            print(f"  first request, first piece      {first * 1000:8.1f} ms")
            print(f"    event loop stood still        {stood * 1000:8.1f} ms at most")
            print(f"  later requests, first piece     {statistics.median(times) * 1000:8.1f} ms, median")
            print(f"  processor a piece               {spent * 1000:8.3f} ms")
    watcher.cancel()
    await models.close()


if __name__ == "__main__":
    asyncio.run(main())
