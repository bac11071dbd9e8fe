"""Plays the schedule of a seed."""

import asyncio
import tempfile
import traceback
from pathlib import Path

from tests.reliability.inside import play_inside
from tests.reliability.outside import play_outside
from tests.reliability.schedule import schedule
from tests.reliability.world import Played


async def play(seed: int, folder: Path) -> Played:
    """Play it in an empty folder; an AssertionError names the seed."""
    chosen = schedule(seed)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if chosen.kind == "inside":
            return await play_inside(chosen, folder)
        return await play_outside(chosen, folder)
    except BaseException as error:
        error.add_note(f"seed {seed}: {chosen}; again: python -m tests.reliability {seed}")
        raise


def attempt(seed: int) -> Played | str:
    """A play in a folder of its own; a text says what did not hold."""
    with tempfile.TemporaryDirectory(prefix="magent-play-", ignore_cleanup_errors=True) as folder:
        try:
            return asyncio.run(play(seed, Path(folder) / "home"))
        except BaseException:
            return traceback.format_exc()
