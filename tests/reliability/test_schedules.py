"""Whatever goes wrong, every run has exactly one outcome, and every session goes on afterwards."""

from pathlib import Path

import pytest

from tests.reliability.play import play
from tests.reliability.schedule import SCHEDULES, kind_of, schedule

# The client library leaves one behind when it is cancelled while it still makes its request.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

BLOCK = 10
EVERYDAY = range(20)
"""A slice with one server that is left and two that are killed."""


@pytest.mark.parametrize("seed", EVERYDAY)
async def test_a_few_schedules(seed: int, tmp_path: Path) -> None:
    await play(seed, tmp_path / "play")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(len(EVERYDAY), SCHEDULES, BLOCK))
async def test_all_others(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + BLOCK):
        await play(seed, tmp_path / str(seed))


def test_the_schedules_are_those_that_are_promised() -> None:
    kinds = [kind_of(seed) for seed in range(SCHEDULES)]
    assert (kinds.count("kill"), kinds.count("leave")) == (40, 20)
    assert {kind_of(seed) for seed in EVERYDAY} == {"inside", "kill", "leave"}
    acts = {each.act for seed in range(SCHEDULES) for each in schedule(seed).interventions}
    assert acts == {"cancel", "steer", "queue", "die", "disk full", "disk free"}
    assert schedule(7) == schedule(7)
