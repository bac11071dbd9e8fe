"""What goes wrong in one play, and when: all of it follows from the seed."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.reliability.rules import violations
from tests.support.model_request import Request
from tests.support.model_wire import Call, Reply, Tokens, Wire, call

SCHEDULES: Final = 500
LINES: Final = 12
"""Lines of the file that is edited; each is `line N: old` or `line N: new`, and never anything else."""

Kind = Literal["inside", "leave", "kill"]
"""In this process, or a real server that its client leaves, or that dies by `kill -9`."""
Act = Literal["cancel", "steer", "queue", "die", "disk full", "disk free"]

_STATUS: Final = (400, 401, 403, 404, 408, 409, 413, 422, 429, 429, 429, 500, 500, 502, 503, 503, 529)
_FAULTS: Final = (
    *("status", "status", "status", "status", "overflow", "policy", "close", "empty", "cut", "cut", "end"),
    *("stall", "keepalive", "garbage", "error", "no tools", "no stream", "plain"),
)


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """Something that happens beside the model's answers, once so many events have come."""

    at: int
    act: Act


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One play."""

    seed: int
    kind: Kind
    wire: Wire
    prompts: int
    faulty: float
    """Share of the model's answers that fail."""
    stop_at: int
    """For a real server: the event at which its client leaves, or it is killed."""
    scripted: bool
    """For a real server: a recorded model in place of one over HTTP."""
    interventions: tuple[Intervention, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def kind_of(seed: int) -> Kind:
    """40 of 500 die by `kill -9`, and 20 are left."""
    place = seed % 25
    return "kill" if place in (7, 19) else "leave" if place == 13 else "inside"


def schedule(seed: int) -> Schedule:
    """The play of a seed, always the same."""
    chance = random.Random(f"schedule {seed}")
    acts: list[Intervention] = []
    for act in ("cancel", "steer", "queue", "die"):
        if chance.random() < 0.25:
            acts.append(Intervention(at=chance.randrange(2, 25), act=act))  # type: ignore[arg-type]
    if chance.random() < 0.2:
        full = chance.randrange(2, 20)
        acts.append(Intervention(at=full, act="disk full"))
        if chance.random() < 0.6:
            acts.append(Intervention(at=full + chance.randrange(3, 25), act="disk free"))
    settings: dict[str, Any] = {
        "retry": {"tries": chance.choice([1, 2, 3]), "baseSeconds": 0.005, "maxSeconds": 0.02},
        "timeouts": {"connect": 1, "firstChunk": 0.25, "chunk": 0.2},
        "maxTurns": chance.choice([3, 8, 15]),
        "maxToolOutputChars": chance.choice([1_000, 30_000]),
        "titles": chance.random() < 0.3,
        "saveReasoning": chance.random() < 0.3,
        "telemetry": "otel" if chance.random() < 0.1 else "off",
    }
    if chance.random() < 0.3:
        settings["contextLimit"] = chance.choice([4_000, 8_000, 20_000])
    if chance.random() < 0.1:
        settings["maxCostUsd"] = 0.01
    if chance.random() < 0.1:
        settings["maxMinutes"] = 0.005
    return Schedule(
        seed=seed,
        kind=kind_of(seed),
        wire=chance.choice(["openai", "openai", "anthropic", "anthropic", "ollama"]),
        prompts=chance.choice([1, 2, 2, 3]),
        faulty=chance.choice([0.1, 0.25, 0.4, 0.6]),
        stop_at=chance.randrange(1, 30),
        scripted=seed % 2 == 1,
        interventions=tuple(sorted(acts, key=lambda each: each.at)),
        settings=settings,
    )


class Model:
    """What the model server answers; it remembers requests that a provider would refuse."""

    def __init__(self, seed: int, faulty: float) -> None:
        self._chance = random.Random(f"model {seed}")
        self._faulty = faulty
        self.faults: Counter[str] = Counter()
        self.violations: list[str] = []
        self.requests = 0

    def __call__(self, request: Request) -> Reply:
        """The next answer."""
        self.requests += 1
        self.violations += [f"request {self.requests}: {each}" for each in violations(request)]
        if self._chance.random() < self._faulty:
            return self._fault(request)
        return self._answer(request)

    def healthy(self, request: Request) -> Reply:
        """An answer of a model on a good day."""
        self.requests += 1
        self.violations += [f"request {self.requests}: {each}" for each in violations(request)]
        return Reply(text="I am here.")

    def _fault(self, request: Request) -> Reply:
        chance = self._chance
        kind = chance.choice(_FAULTS)
        said: dict[str, Any] = {"text": "I was about to say something.", "after": chance.randrange(0, 5)}
        if chance.random() < 0.4:
            said["calls"] = [self._call()]
        if kind == "status":
            status = chance.choice(_STATUS)
            self.faults[f"status {status}"] += 1
            after = chance.choice([None, None, 0, 0.01, 3600]) if status in (429, 503) else None
            return Reply(fault="status", status=status, retry_after=after)
        self.faults[kind] += 1
        match kind:
            case "no tools" if request.json.get("tools"):
                return Reply(fault="status", status=400, message="this model does not support tools")
            case "no stream" if request.json.get("stream", request.wire == "ollama"):
                return Reply(fault="status", status=400, message="Streaming is not supported here.")
            case "no tools" | "no stream" | "plain":
                return Reply(text="All at once.", plain=request.wire != "ollama")
        return Reply(fault=kind, **said)

    def _answer(self, request: Request) -> Reply:
        chance = self._chance
        dice = chance.random()
        usage = Tokens(chance.randrange(200, 4000), chance.randrange(1, 200), 100)
        if not request.json.get("tools") and dice < 0.9:
            return Reply(text="In short: lines of a file were changed.", usage=usage)
        if dice < 0.30:
            return Reply(text="That is all.", usage=usage, reasoning=chance.choice(["", "Let me think."]))
        if dice < 0.36:
            self.faults["odd answer"] += 1
            return chance.choice(
                [
                    Reply(text=""),
                    Reply(text="It ends in the mid", finish="length"),
                    Reply(text="No.", finish="content_filter"),
                    Reply(text="on and " * 800, piece=70),
                    Reply(calls=[Call(name="edit_file", arguments='{"path": "a.t')], finish="length"),
                ]
            )
        calls = [self._call() for _ in range(chance.choice([1, 1, 2, 4]))]
        if request.wire == "ollama":  # it has no way to send broken arguments
            calls = [each for each in calls if not isinstance(each.arguments, str)]
        return Reply(text=chance.choice(["", "Now this."]), calls=calls, usage=usage, reasoning="Hm.")

    def _call(self) -> Call:
        chance = self._chance
        line = chance.randrange(LINES)
        edit = {"old_string": f"line {line}: old\n", "new_string": f"line {line}: new\n"}
        return chance.choice(
            [
                call("read_file", path="a.txt"),
                call("read_file", path="long.txt"),
                call("grep", pattern="line"),
                call("edit_file", path="a.txt", edits=[edit]),
                call("edit_file", path="a.txt", edits=[edit]),
                call("edit_file", path="a.txt", edits=[edit]),
                call("write_file", path=f"new-{line}.txt", content="new\n"),
                call("bash", command=f"echo {line}"),
                call("bash", command="sleep 0.3"),
                call("todo", items=[{"content": "x", "status": "in_progress"}]),
                call("delegate", agent="explore", prompt="look around"),
                call("delegate", agent="general", prompt="do something", background=chance.random() < 0.5),
                call("no_such_tool", x=1),
                Call(name="read_file", arguments='{"path": '),
                Call(name="read_file", arguments="[1]"),
                Call(name="grep", arguments={"pattern": "x"}, id=None),
            ]
        )


def script(seed: int) -> list[dict[str, Any]]:
    """A recorded model that edits line after line, slowly enough to be killed at any point."""
    chance = random.Random(f"script {seed}")
    replies: list[dict[str, Any]] = []
    for line in range(LINES):
        edits = [{"old_string": f"line {line}: old\n", "new_string": f"line {line}: new\n"}]
        calls = [{"tool": "edit_file", "arguments": {"path": "a.txt", "edits": edits}}]
        if chance.random() < 0.3:
            calls.append({"tool": "bash", "arguments": {"command": "sleep 0.05"}})
        replies.append({"text": f"Line {line}.", "calls": calls, "delay": chance.choice([0, 0, 0.01])})
    replies.append({"text": "Done."})
    return [{"when": {"tools": True}, **reply} for reply in json.loads(json.dumps(replies))]
