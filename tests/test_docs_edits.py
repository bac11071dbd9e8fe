"""The examples of the guide to edits are what really happens."""

import re
from pathlib import Path

from tests.support.edit_desk import change, desk

GUIDE = Path(__file__).parents[1] / "docs/guide/edits.md"


def _example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w*\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None, f"the guide has no example {name!r}"
    return found[1]


async def test_the_answers_in_the_guide_are_the_real_ones(tmp_path: Path) -> None:
    blocks = _example("edits").strip().split("\n\n")
    edits = [re.fullmatch(r"'(.*)' -> '(.*)'", block.partition("\n")[0]) for block in blocks]
    async with desk(tmp_path, files={"shapes.py": _example("file")}) as at:
        told = await at.agent([change("shapes.py", edit[1], edit[2]) for edit in edits if edit])
        assert told.outputs == [block.partition("\n")[2] for block in blocks]
