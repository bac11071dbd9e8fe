"""Any interleaving of a person's keys and the agent's edits, against a plain count of what was typed."""

import asyncio
import itertools
import re
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.edit_desk import Desk, call, change, desk
from tests.support.lsp_buffer import Buffer
from tests.support.lsp_profiles import NEOVIM, VSCODE

LINES = 8

Moment = Literal["before", "asked", "arrives", "bundled", "after"]
MOMENTS: tuple[Moment, ...] = ("before", "asked", "arrives", "bundled", "after")


@dataclass(frozen=True)
class Key:
    """Something a person does."""

    moment: Moment
    kind: Literal["line", "inside", "split", "delete"]
    at: int


@dataclass(frozen=True)
class Round:
    """One run of the agent, and what the person does meanwhile."""

    line: int
    keys: tuple[Key, ...]


KEYS = st.builds(
    Key,
    st.sampled_from(MOMENTS),
    st.sampled_from(["line", "inside", "split", "delete"]),
    st.integers(0, 30),
)
ROUNDS = st.lists(
    st.builds(Round, st.integers(0, LINES - 1), st.lists(KEYS, max_size=4).map(tuple)), max_size=4
)


class Person:
    """Types words that occur nowhere else, and remembers them."""

    def __init__(self, at: Desk, buffer: Buffer) -> None:
        self.at, self.buffer = at, buffer
        self.typed: list[str] = []
        self.deleted: list[str] = []
        self._words = itertools.count(1)

    def does(self, keys: tuple[Key, ...], moment: Moment, *, tells: bool = True) -> None:
        """Press the keys of a moment; the editor tells of them now or later."""
        for key in keys:
            if key.moment == moment:
                self._press(key)
                if tells:
                    self.at.client._tell(self.buffer)

    def _press(self, key: Key) -> None:
        buffer = self.buffer
        ends = [match.end() for match in re.finditer("\n", buffer.text)] or [0]
        place = ends[key.at % len(ends)]
        if key.kind == "delete":  # a line in which nothing was typed
            start = buffer.text.rfind("\n", 0, max(place - 1, 0)) + 1
            if "«" in buffer.text[start:place]:
                return
            self.deleted.append(buffer.text[start:place])
            span = {"start": buffer.position(start), "end": buffer.position(place)}
            buffer.apply([{"range": span, "newText": ""}])
            return
        word = f"«{next(self._words)}🦄»"
        self.typed.append(word)
        text = {"line": f"{word}\n", "inside": word, "split": f"{word}\n"}[key.kind]
        if key.kind != "line" and place > 1:  # in the last word of the line above, or behind what was typed
            place -= 1 if buffer.text[place - 2] == "»" else 2
        position = buffer.position(place)
        buffer.apply([{"range": {"start": position, "end": position}, "newText": text}])


async def _play(at: Desk, name: str, rounds: list[Round], drops: bool) -> None:
    text = "".join(f"    original {number} 𝒳\n" for number in range(LINES))
    buffer = at.open(name, text)
    person = Person(at, buffer)
    client = at.client
    runs = []
    for number, turn in enumerate(rounds):
        mine = f"agent {name} {number} "

        def asked(params: Any, turn: Round = turn) -> dict[str, str]:
            person.does(turn.keys, "asked")
            return {"title": "Allow once"}

        async def apply(params: Any, turn: Round = turn) -> Any:
            person.does(turn.keys, "arrives", tells=False)
            version = params["edit"]["documentChanges"][0]["textDocument"]["version"]
            if version != buffer.version:
                asyncio.get_running_loop().call_later(0.01, client._tell, buffer)
                return {"applied": True} if drops else {"applied": False}
            result, _ = await client._apply_edit(params)
            person.does(turn.keys, "bundled", tells=False)
            asyncio.get_running_loop().call_later(0.01, client._tell, buffer)
            return result

        client.always = asked
        client.on["workspace/applyEdit"] = apply
        person.does(turn.keys, "before")
        told = await at.agent([change(name, f"original {turn.line} ", mine)])
        runs.append(told)
        person.does(turn.keys, "after")
        if not any(mine in line for line in person.deleted):
            assert (mine in buffer.text) == ("applied" in told.outcomes), (told.outputs, buffer.text)
        if told.outcomes and told.outcomes[-1] != "applied":
            assert told.statuses == ["failed"]
        _all_there(person)
    await _same_mirror(at, name, buffer)
    client.on.pop("workspace/applyEdit", None)
    conflicts = []
    for told in reversed(runs):
        conflicts += (await at.undo(told))["conflicts"]
        _all_there(person)
    if not conflicts:
        assert "agent" not in buffer.text
    await _same_mirror(at, name, buffer)


def _all_there(person: Person) -> None:
    lost = [word for word in person.typed if word not in person.buffer.text]
    assert not lost, f"lost {lost} in {person.buffer.text!r}"


async def _same_mirror(at: Desk, name: str, buffer: Buffer) -> None:
    """What the server reads is what the editor shows."""
    at.client._tell(buffer)
    told = await at.agent([call("read_file", path=name)])
    shown = [line.partition("\t")[2] for line in told.outputs[0].partition("\n\n[")[0].split("\n")]
    assert shown == buffer.text.removesuffix("\n").split("\n") or "is empty" in told.outputs[0]


class World:
    """One server for all examples, in a loop of its own."""

    def __init__(self, home: Path, drops: bool) -> None:
        self.runner = asyncio.Runner()
        self.drops = drops
        self.names = (f"{number}.txt" for number in itertools.count(1))
        self.stack = AsyncExitStack()
        opening = desk(home, profile=NEOVIM if drops else VSCODE, permission={"edit_file": "ask"})
        self.at = self.runner.run(self.stack.enter_async_context(opening))

    def play(self, rounds: list[Round]) -> None:
        self.runner.run(_play(self.at, next(self.names), rounds, self.drops))

    def close(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()


@pytest.fixture(scope="module", params=[False, True], ids=["refuses", "drops and says yes"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), request.param)
        yield world
        world.close()


SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=6, suppress_health_check=SHARED, derandomize=True)
@given(rounds=ROUNDS)
def test_no_typed_character_is_ever_lost(world: World, rounds: list[Round]) -> None:
    world.play(rounds)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=60, suppress_health_check=SHARED)
@given(rounds=ROUNDS)
def test_no_typed_character_is_ever_lost_at_length(world: World, rounds: list[Round]) -> None:
    world.play(rounds)
