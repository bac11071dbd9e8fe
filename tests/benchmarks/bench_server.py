"""What the server costs: time to the first answer, acknowledgements beside a stream, code actions, memory.

    python -m tests.benchmarks.bench_server [--json]

Start and memory are measured against a bare pygls server in the same run;
exits with 1 if one is over its limit.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.lsp_client import LspClient, StreamLink, server_environment, settings_of, start_server
from tests.support.lsp_profiles import VSCODE

BARE = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"


@dataclass(frozen=True)
class Measure:
    """One number and what it may be at most."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def good(self) -> bool:
        """Whether it is within its limit."""
        return self.limit is None or self.value <= self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"  (limit {self.limit:g} {self.unit})"
        return f"{'ok  ' if self.good else 'OVER'} {self.name}: {self.value:.2f} {self.unit}{limit}"


async def connect(home: Path, *, code: str | None = None) -> LspClient:
    """A client of a new server process."""
    process = await start_server(env=server_environment(home), cwd=home, code=code)
    assert process.stdout is not None
    assert process.stdin is not None
    client = LspClient(StreamLink(process.stdout, process.stdin), VSCODE, home / "ws")
    client.process = process
    return client


async def end(client: LspClient) -> None:
    """Kill the server."""
    assert client.process is not None
    client.process.kill()
    await client.close()
    await client.process.communicate()


async def start_seconds(home: Path, code: str | None) -> float:
    """From the start of the process to the answer of `initialize`."""
    begun = time.perf_counter()
    client = await connect(home, code=code)
    parameters = {"processId": None, "rootUri": None, "capabilities": VSCODE.capabilities}
    await client.request("initialize", parameters, seconds=60)
    taken = time.perf_counter() - begun
    await end(client)
    return taken


async def start_ratio(home: Path, rounds: int) -> list[Measure]:
    """Start time against a bare server, measured in turn."""
    ours, bare = [], []
    for _ in range(rounds):
        bare.append(await start_seconds(home, BARE))
        ours.append(await start_seconds(home, None))
    best = min(ours) / min(bare)
    return [
        Measure("start, bare pygls", min(bare) * 1000, "ms"),
        Measure("start, magent-lsp", min(ours) * 1000, "ms"),
        Measure("start, ratio", best, "times", 1.5),
    ]


def resident(client: LspClient) -> float:
    """Resident memory of the server in MB, where the system tells."""
    assert client.process is not None
    status = Path(f"/proc/{client.process.pid}/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def memory(home: Path) -> list[Measure]:
    """Memory of a server that has been asked for its status, without a model client."""
    bare = await connect(home, code=BARE)
    await bare.initialize()
    plain = resident(bare)
    await end(bare)
    client = await connect(home)
    await client.initialize(magent={"warmUp": False})
    await client.command("magent.status")
    ours = resident(client)
    await end(client)
    return [
        Measure("memory, bare pygls", plain, "MB"),
        Measure("memory, magent-lsp without warm-up", ours, "MB"),
        Measure("memory, ratio", ours / plain if plain else 0.0, "times", 1.5),
    ]


async def streaming(home: Path) -> LspClient:
    """A client beside a run that streams without a pause, and for longer than is measured."""
    text = [f"word{number} " for number in range(20_000)]
    script = [{"text": text, "delay": 0.001, "repeat": True}]
    client = await connect(home)
    settings = settings_of(home, script, warmUp=False)
    await client.initialize(magent={**settings, "client": {"events": True}})
    await client.command("magent.prompt", prompt="talk")
    await client.until(lambda: any(event["event"]["type"] == "text_delta" for event in client.events))
    return client


async def still_streams(client: LspClient) -> None:
    """What was measured was measured beside the run."""
    if not (await client.command("magent.status"))["runs"]:
        raise RuntimeError("the run ended before the measurement did")


async def acknowledgements(home: Path, count: int) -> list[Measure]:
    """Commands beside a run that streams."""
    client = await streaming(home)
    taken = []
    for number in range(count):
        begun = time.perf_counter()
        if number % 2:
            await client.command("magent.status")
            taken.append(time.perf_counter() - begun)
        else:
            run = await client.command("magent.prompt", prompt=f"number {number}")
            taken.append(time.perf_counter() - begun)
            await client.command("magent.cancel", runId=run["runId"])
    await still_streams(client)
    await end(client)
    return [
        Measure("acknowledgement beside a stream, median", statistics.median(taken) * 1000, "ms"),
        Measure("acknowledgement beside a stream, p95", percentile(taken, 0.95) * 1000, "ms", 50),
    ]


async def code_actions(home: Path, count: int) -> list[Measure]:
    """Code actions all over a file of 10,000 lines, with typing in between, beside a run that streams."""
    text = "".join(f"def function_{number}(x):  # a comment\n" for number in range(10_000))
    client = await streaming(home)
    buffer = client.open("big.py", text)
    await client.actions(buffer.uri, buffer.range("function_0"))
    taken = []
    for number in range(count):
        line = number * 37 % 10_000
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 9}}
        change = {"range": {"start": place["start"], "end": place["start"]}, "text": "x"}
        buffer.version += 1
        identifier = {"uri": buffer.uri, "version": buffer.version}
        client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
        begun = time.perf_counter()
        await client.actions(buffer.uri, place)
        taken.append(time.perf_counter() - begun)
    await still_streams(client)
    await end(client)
    return [
        Measure("code action beside a stream, median", statistics.median(taken) * 1000, "ms"),
        Measure("code action beside a stream, p99", percentile(taken, 0.99) * 1000, "ms", 20),
    ]


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which that part of all values lies."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


async def measure(home: Path, rounds: int) -> list[Measure]:
    """All measures."""
    (home / "ws").mkdir()
    (home / "config").mkdir()
    return [
        *await start_ratio(home, rounds),
        *await memory(home),
        *await acknowledgements(home, 100),
        *await code_actions(home, 500),
    ]


def main() -> int:
    """Print all measures; 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description="Measures the server.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), options.rounds))
    if options.json:
        print(
            json.dumps([{"name": m.name, "value": m.value, "unit": m.unit, "limit": m.limit} for m in found])
        )
    else:
        print("\n".join(str(item) for item in found))
    return 0 if all(item.good for item in found) else 1


if __name__ == "__main__":
    sys.exit(main())
