"""Random typing while an answer streams in: nothing is lost, and the answer is there, whole and once."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.chat import Talk
from tests.support.lsp_client import editor
from tests.support.lsp_profiles import EMACS, NEOVIM, VSCODE, Profile
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

PIECES = [
    "Löwe 🦁 ",
    "and\n",
    "\n## You\n",
    "```py\nx = 1\n",
    "```\n",
    "> - tool: no\n",
    "- item ",
    "\n\n",
    "end ",
]


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=[VSCODE, NEOVIM, EMACS], ids=lambda profile: profile.name
)
async def stage(request: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    profile: Profile = request.param
    home = tmp_path_factory.mktemp("stage")
    script = [reply(seed) for seed in range(40)]
    async with editor(home, profile=profile, script=script, client={"events": True}) as client:
        yield Stage(client, ModelServer(), home)


def words(seed: int) -> list[str]:
    """The pieces of an answer."""
    dice = random.Random(seed)
    return [f"[{seed}.{number}] {dice.choice(PIECES)}" for number in range(12)]


def reply(seed: int) -> dict[str, Any]:
    return {"when": {"user": rf"question {seed}\b"}, "text": words(seed), "delay": 0.06}


def is_wild(seed: int) -> bool:
    """Whether the person types into headings and front matter, too."""
    return seed % 3 == 1


class Person:
    """Somebody who types, here and there, and takes some of it back."""

    def __init__(self, talk: Talk, dice: random.Random, *, wild: bool) -> None:
        self.talk, self.dice = talk, dice
        self.kept: list[str] = []
        self.number = 0
        self.wild = wild
        self.eol = "\r\n" if "\r\n" in talk.text else "\n"

    async def type(self) -> None:
        """One change, told at once or a little later, as editors do."""
        talk, dice = self.talk, self.dice
        if self.kept and dice.random() < 0.25:
            mark = self.kept.pop(dice.randrange(len(self.kept)))
            self.change(talk.text.index(mark), "", len(mark))
        else:
            self.number += 1
            mark = dice.choice(["<{}>", "<{}>\n", "\n<{}>", "\n\n<{}>\n", "🦁<{}>"]).format(self.number)
            mark = mark.replace("\n", self.eol)
            self.kept.append(mark)
            self.change(self.place(), mark, 0)
        if dice.random() < 0.5:
            await asyncio.sleep(dice.random() * 0.1)
        talk.stage.client._tell(talk.buffer)
        await asyncio.sleep(dice.random() * 0.15)

    def place(self) -> int:
        text, dice = self.talk.text, self.dice
        at = dice.choice(
            [
                dice.randrange(len(text) + 1),
                len(text),
                text.rfind("]") + 1,
                text.rfind("## You"),
                len(text) // 2,
            ]
        )
        # Neither into a mark nor into a line end of two characters.
        while at < len(text) and (self.is_taboo(at) or text[at - 1 : at + 1] == "\r\n"):
            at += 1
        return at

    def is_taboo(self, at: int) -> bool:
        """A mark, and for tame persons what gives the document its form."""
        text = self.talk.text
        line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
        formal = at <= text.find("# Notes") or line.startswith("#") or (not line.strip() and at < len(text))
        return inside(text, at) or (not self.wild and formal)

    def change(self, at: int, text: str, instead: int) -> None:
        buffer = self.talk.buffer
        start, end = buffer.position(at), buffer.position(at + instead)
        buffer.apply([{"range": {"start": start, "end": end}, "newText": text}])


def inside(text: str, at: int) -> bool:
    """Whether a place is within something typed, with the blank lines that belong to it."""
    around = text[max(at - 8, 0) : at + 8]
    return any(mark in around for mark in ("<", ">"))


async def converse(stage: Stage, seed: int) -> None:
    dice = random.Random(seed)
    eol = dice.choice(["\n", "\r\n"])
    text = f"---\nagent: ask\n---\n# Notes\n\na note\n\n## You\n\nquestion {seed} 🦁\n".replace("\n", eol)
    talk = Talk(stage, f"random-{seed}", text=text)
    shown = len(stage.client.shown)
    run_id = await talk.start()
    person = Person(talk, dice, wild=is_wild(seed))
    over = asyncio.ensure_future(stage.client.finished(run_id, 60))
    while not over.done():
        await person.type()
    await talk.done(run_id)
    stage.client._tell(talk.buffer)
    left = talk.text
    for mark in person.kept:
        assert left.count(mark) == 1, (mark, left)
        left = left.replace(mark, "")
    check(left, text, seed, eol, stage, shown)


def check(left: str, text: str, seed: int, eol: str, stage: Stage, shown: int) -> None:
    """But for what the person typed, it is the document with one whole answer, or the answer is beside."""
    flat = "".join(left.replace("\\## You", "## You").replace("\\> -", "> -").split())
    answer = "".join("".join(words(seed)).split())
    document = "".join(text.split())
    places = [Path(item["uri"].removeprefix("file://")) for item in stage.client.shown[shown:]]
    if places:
        beside = "".join(places[0].read_text().replace("\\", "").split())
        assert answer in beside
    else:
        assert flat.count(answer) == 1, left
        head, _, tail = flat.partition(answer)
        session = left.partition("session: ")[2].split()[0]
        if is_wild(seed):  # a heading that is broken for a moment gets a new one beside it
            characters = iter(head)
            assert all(character in characters for character in document), left
        else:
            assert head == document.replace("agent:ask", f"agent:asksession:{session}") + "##Magent", left
            assert tail in ("##You", "```##You"), left
    assert left.count("\n") == left.count(eol)


@pytest.mark.parametrize("seed", range(2))
async def test_a_person_and_an_answer(stage: Stage, seed: int) -> None:
    await converse(stage, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 40))
async def test_many_persons_and_answers(stage: Stage, seed: int) -> None:
    await converse(stage, seed)
