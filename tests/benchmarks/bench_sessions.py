"""What sessions cost: `python tests/benchmarks/bench_sessions.py [--json]`.

Exits with 1 if a number is over its bound, so that CI can hold it.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.events import Envelope
from magent_lsp.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.engine.compaction import plan_compaction
from magent_lsp.engine.history import normalise
from magent_lsp.engine.merge import merge
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.sessions import SessionStore

MESSAGES = 10_000
TURNS = 10_000
SESSIONS = 300
PROMPTS = 5
BOUNDS = {
    "append, median (ms)": 1.0,
    "append of the last thousand against the first (times)": 3.0,
    "load of 10,000 messages (s)": 1.0,
    "normalise of 10,000 messages (s)": 0.5,
    "compaction plan of 10,000 messages (s)": 1.0,
    "list of 300 sessions (s)": 0.5,
    "search in 300 sessions and 10,000 messages (s)": 1.0,
    "merge of a 1 MB file (s)": 1.0,
    "first prompt to 10,000 turns: longest hold of the event loop, median (ms)": 50.0,
    "further prompt to 10,000 turns: the same (ms)": 50.0,
    "prompt that sums 10,000 turns up: the same (ms)": 50.0,
}


def messages(turns: int = MESSAGES // 4) -> list[Message]:
    """A conversation with calls and outputs of usual size."""
    made: list[Message] = []
    for n in range(turns):
        call = ToolCall(id=f"c{n}", name="bash", arguments='{"command": "make test"}')
        made.append(UserMessage(id=f"u{n}", text="please look into this " * 5))
        made.append(AssistantMessage(id=f"a{n}", text="Looking.", tool_calls=(call,)))
        made.append(ToolMessage(id=f"t{n}", call_id=call.id, name="bash", text="some output\n" * 80))
        made.append(AssistantMessage(id=f"e{n}", text="This is what I found. " * 10))
    return made


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Nobody:
    """Nobody watches."""

    def emit(self, event: Envelope) -> None:
        """Let it pass."""


async def longest_hold(magent: Magent, session_id: str) -> float:
    """Milliseconds of the loop's thread, at most, between two turns of others, while a prompt was answered.

    Processor time, since how long they wait beside other programs says nothing of ours.
    """
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    beating = asyncio.create_task(beat())
    run = magent.start(RunRequest(prompt="and now?", session_id=session_id))
    outcome = await magent.wait(run.run_id)
    beating.cancel()
    if outcome.stop_reason != "end_turn":
        raise RuntimeError(f"the run ended with {outcome.stop_reason}: {outcome.error}")
    return longest * 1_000


async def holds(home: Path) -> dict[str, float]:
    """How long prompts to a very long conversation hold up everything else."""
    workspace, script = home / "ws", home / "script.json"
    workspace.mkdir()
    script.write_text(json.dumps([{"text": "Done.", "repeat": True}]))
    settings = {"model": f"scripted:{script}", "titles": False, "contextLimit": 10_000_000}
    magent = Magent(
        folders=[workspace],
        editor=DiskEditor(),
        sink=Nobody(),
        dirs=Dirs.under(home / "home"),
        environ={"SOME_API_KEY": "sk-no-real-key-0123456789"},
        overrides=settings,
    )
    await magent.load()
    await longest_hold(magent, magent.new_session().id)  # what is loaded with the first run of all
    said, sessions = messages(TURNS), [magent.new_session() for _ in range(PROMPTS)]
    for session in sessions:
        session.messages[:] = said
    taken = [[await longest_hold(magent, session.id) for session in sessions] for _ in range(2)]
    settings["contextLimit"] = 100_000
    magent.reload()
    taken.append([await longest_hold(magent, session.id) for session in sessions])
    await magent.close()
    return dict(zip(list(BOUNDS)[-3:], map(statistics.median, taken), strict=True))


def measure(state: Path) -> dict[str, float]:
    """All numbers, under the names of their bounds."""
    store = SessionStore(state, normalise=normalise)
    said = messages()
    session = store.create(state, "build")
    costs = [seconds(lambda message=message: session.append(message)) for message in said]  # type: ignore[misc]
    store.close(session)
    numbers = {
        "append, median (ms)": statistics.median(costs) * 1_000,
        "append of the last thousand against the first (times)": statistics.median(costs[-1_000:])
        / statistics.median(costs[:1_000]),
        "load of 10,000 messages (s)": seconds(lambda: store.open(session.id)),
        "normalise of 10,000 messages (s)": seconds(lambda: normalise(said)),
        "compaction plan of 10,000 messages (s)": seconds(lambda: plan_compaction(said, limit=100_000)),
    }
    store.close_all()
    for n in range(SESSIONS - 1):
        other = store.create(state, "build")
        for message in said[n * 4 : n * 4 + 8]:
            other.append(message)
        store.close(other)
    numbers["list of 300 sessions (s)"] = seconds(store.list)
    search = seconds(lambda: store.search("no such words anywhere"))
    numbers["search in 300 sessions and 10,000 messages (s)"] = search
    lines = [f"line {n % 700} of the file\n" for n in range(45_000)]
    base = "".join(lines)
    ours, theirs = base.replace("line 5 ", "LINE 5 ", 20), base + "more\n"
    numbers["merge of a 1 MB file (s)"] = seconds(lambda: merge(base, ours, theirs))
    return numbers | asyncio.run(holds(state))


def main() -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = measure(Path(folder))
    over = {name for name, value in numbers.items() if value > BOUNDS[name]}
    if arguments.json:
        print(json.dumps(numbers, indent=2))
    else:
        for name, value in numbers.items():
            print(f"{value:10.4f}  (bound {BOUNDS[name]:g}){'  OVER' if name in over else ''}  {name}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
