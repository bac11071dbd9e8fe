"""What ends a run that would go on for ever: budgets, and models that go round in circles."""

import contextlib
import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Literal

from magent_lsp.core.messages import Usage
from magent_lsp.core.request import StopReason

NUDGE: Final = 3
"""Repetitions at which the model is told."""
STOP: Final = 5
"""Repetitions at which the run ends."""
LONGEST_CYCLE: Final = 5
Watch = Literal["go", "nudge", "stop"]

_TAIL: Final = 3_000
"""Characters at the end of a growing text that are looked at for an endless repetition."""
_LONGEST_PERIOD: Final = 300


class Budget:
    """Requests, money and time of a run; a child's money and time are its parent's too.

    Requests are counted for each agent on its own: a subagent has its own limit, and its parent pays for it
    with the one request that delegated.
    """

    def __init__(
        self,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        parent: "Budget | None" = None,
    ) -> None:
        """Time begins to run now; None: no limit."""
        self.max_turns = max_turns
        self.max_cost_usd = max_cost_usd
        self.max_minutes = max_minutes
        self.turns = 0
        self._parent = parent
        self._clock = clock
        self._began = clock()
        self._spent = 0.0
        self._last = 0.0
        """What the last request cost."""
        self._waiting = 0
        self._waited = 0.0
        self._wait_began = 0.0

    def child(self, max_turns: int | None) -> "Budget":
        """The budget of a subagent: its own requests, the same money and time."""
        return Budget(max_turns=max_turns, clock=self._clock, parent=self)

    def count_turn(self, usage: Usage | None = None) -> None:
        """Count one request to the model, and what it cost."""
        self.turns += 1
        if usage is not None:
            self.pay(usage)

    def pay(self, usage: Usage) -> None:
        """Count what a request beside the turns cost, such as a summary."""
        if usage.cost_usd is not None:
            self._pay(usage.cost_usd)

    def exceeded(self, usage: Usage | None = None) -> StopReason | None:
        """Why no further request may be made; None if one may.

        `usage` is that of the run so far, if requests were counted without theirs. A run stops before it
        costs more than it may: the next request is taken to cost what the last one did.
        """
        if self._turns_up:
            return "max_turns"
        return "budget" if self._over(usage) else None

    def why(self) -> str:
        """A sentence about the limit that was reached, with the setting that raises it."""
        if self._turns_up:
            return f"Stopped after {self.turns} requests to the model; `maxTurns` allows no more."
        if self._time_up:
            return f"Stopped after {self.max_minutes:g} minutes; `maxMinutes` allows no more."
        if self._parent is not None:
            return self._parent.why()
        return f"Stopped at ${self._spent:.4f}: the next request could cost more than `maxCostUsd` allows."

    @property
    def seconds(self) -> float:
        """Time that has passed, without what was spent waiting for a person."""
        now = self._clock()
        waiting = now - self._wait_began if self._waiting else 0.0
        return now - self._began - self._waited - waiting

    @property
    def seconds_left(self) -> float | None:
        """Time that remains, as a bound for a request; None: no limit."""
        own = None if self.max_minutes is None else max(self.max_minutes * 60 - self.seconds, 0.0)
        above = self._parent.seconds_left if self._parent is not None else None
        return min((left for left in (own, above) if left is not None), default=None)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """While a person is asked, time does not count."""
        with self._parent.waiting() if self._parent is not None else contextlib.nullcontext():
            if not self._waiting:
                self._wait_began = self._clock()
            self._waiting += 1
            try:
                yield
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._waited += self._clock() - self._wait_began

    def _pay(self, cost: float) -> None:
        self._spent += cost
        self._last = cost
        if self._parent is not None:
            self._parent._pay(cost)

    @property
    def _turns_up(self) -> bool:
        return self.max_turns is not None and self.turns >= self.max_turns

    @property
    def _time_up(self) -> bool:
        return self.max_minutes is not None and self.seconds >= self.max_minutes * 60

    def _over(self, usage: Usage | None) -> bool:
        """Whether money or time of this budget, or of one above it, is used up."""
        if self._time_up:
            return True
        if self.max_cost_usd is not None:
            spent = max(self._spent, (usage.cost_usd or 0.0) if usage is not None else 0.0)
            if spent >= self.max_cost_usd or spent + self._last > self.max_cost_usd:
                return True
        return self._parent is not None and self._parent._over(None)


class LoopGuard:
    """Notices that the same calls keep giving the same results, or the same words come again and again.

    Only for what happens one after the other: what runs side by side would hide each other's circles.
    """

    def __init__(self) -> None:
        self._calls: deque[bytes] = deque(maxlen=LONGEST_CYCLE * STOP)
        self._texts: deque[bytes] = deque(maxlen=STOP)

    def observe(self, name: str, arguments: str, result: str) -> Watch:
        """Take note of a call and its result: a cycle of up to five calls counts from its third round."""
        self._calls.append(_digest(name, _canonical(arguments), result))
        return _verdict(max(_rounds(self._calls, length) for length in range(1, LONGEST_CYCLE + 1)))

    def observe_text(self, text: str) -> Watch:
        """Take note of a reply without calls; the same one for the third time counts."""
        self._texts.append(_digest(" ".join(text.split())))
        return _verdict(_rounds(self._texts, 1))

    def begin(self) -> None:
        """Another run goes on: what it says is compared to its own words only."""
        self._texts.clear()

    def forget(self) -> None:
        """Begin anew, when a person has said something."""
        self._calls.clear()
        self._texts.clear()


class TreeGuard:
    """Notices circles that no single run of a tree of agents shows.

    Subagents of one kind that work one after the other use the same guard, so that calls which come again in
    each of them are seen; their answers belong to the circle. Those that work side by side use one each.
    """

    def __init__(self) -> None:
        self._idle: dict[str, LoopGuard] = {}
        self._lent: set[str] = set()

    def lend(self, agent: str) -> LoopGuard:
        """The guard of a run that begins."""
        if agent in self._lent:
            return LoopGuard()
        self._lent.add(agent)
        guard = self._idle.setdefault(agent, LoopGuard())
        guard.begin()
        return guard

    def give_back(self, agent: str, guard: LoopGuard, answer: str) -> Watch:
        """A run has ended with an answer: whether the same whole runs keep coming."""
        if self._idle.get(agent) is not guard:
            return "go"
        self._lent.discard(agent)
        return guard.observe(f"answer of {agent}", "", answer)


def endless(text: str) -> bool:
    """Whether a growing text repeats itself for ever: at least ten times over its last 3,000 characters."""
    if len(text) < _TAIL:
        return False
    tail = text[-_TAIL:]
    period = _period(tail)
    return period <= _LONGEST_PERIOD and not tail.isspace()


def _period(text: str) -> int:
    """The smallest p with which text[i] == text[i + p] everywhere (Knuth, Morris and Pratt)."""
    borders = [0] * len(text)
    border = 0
    for at in range(1, len(text)):
        while border and text[at] != text[border]:
            border = borders[border - 1]
        border += text[at] == text[border]
        borders[at] = border
    return len(text) - border


def _rounds(seen: deque[bytes], length: int) -> int:
    """How often the last `length` entries stand at the end, one after the other."""
    entries = list(seen)
    last = entries[-length:]
    if len(last) < length:
        return 0
    rounds = 0
    while entries[len(entries) - length :] == last and len(entries) >= length:
        rounds += 1
        del entries[len(entries) - length :]
    return rounds


def _verdict(rounds: int) -> Watch:
    if rounds >= STOP:
        return "stop"
    return "nudge" if rounds == NUDGE else "go"


def _canonical(arguments: str) -> str:
    """Arguments that mean the same are the same."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _digest(*parts: str) -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.digest()
