"""Whatever goes wrong, every run has exactly one outcome, and every session goes on afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.play import play
from tests.reliability.schedule import SCHEDULES, kind_of, schedule

ROOT = Path(__file__).parents[2]
EVERYDAY = range(20)
"""A slice with one server that is left and two that are killed."""


@pytest.mark.parametrize("seed", EVERYDAY)
async def test_a_few_schedules(seed: int, tmp_path: Path) -> None:
    await play(seed, tmp_path / "play")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_others() -> None:
    """In processes of their own, since all tests of a file run in one."""
    words = [sys.executable, "-m", "tests.reliability", f"{len(EVERYDAY)}-{SCHEDULES - 1}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-20_000:]


def test_the_schedules_are_those_that_are_promised() -> None:
    kinds = [kind_of(seed) for seed in range(SCHEDULES)]
    assert (kinds.count("kill"), kinds.count("leave")) == (40, 20)
    assert {kind_of(seed) for seed in EVERYDAY} == {"inside", "kill", "leave"}
    acts = {each.act for seed in range(SCHEDULES) for each in schedule(seed).interventions}
    assert acts == {"cancel", "steer", "queue", "die", "disk full", "disk free"}
    assert schedule(7) == schedule(7)
