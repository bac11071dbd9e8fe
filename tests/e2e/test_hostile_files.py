"""A project full of files that nobody would write for us: good ones work, the rest is told in short."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from magent_lsp.store.problems import LONGEST, MOST
from tests.support.lsp_client import LspClient, editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "---\ndescription: x\n"
TAIL = "---\nx\n"
TEXTS = {
    "keys": HEAD + "".join(f"k{n}: {n}\n" for n in range(100_000)) + TAIL,
    "fewer-keys": HEAD + "".join(f"k{n}: {n}\n" for n in range(8_000)) + TAIL,
    "rules": HEAD + "permission:\n  bash:\n" + "".join(f"    'c{n} *': allow\n" for n in range(4_000)) + TAIL,
    "itself": HEAD + "options: &a {b: *a}\n" + TAIL,
    "merged-itself": HEAD + "options: &a {<<: *a}\n" + TAIL,
    "bomb": HEAD
    + "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9))
    + TAIL,
    "deep": HEAD + "options: " + "[" * 300_000 + "\n" + TAIL,
    "code": HEAD + "options: !!python/object/apply:os.system ['touch owned']\n" + TAIL,
    "number": HEAD + "maxTurns: 0x" + "f" * 500_000 + "\n" + TAIL,
    "one-line": HEAD + "color: " + ": " * 400_000 + "\n" + TAIL,
    "unclosed": HEAD + "x" * 900_000,
    "huge": HEAD + TAIL + "x" * 2_000_000,
    "nothing": "",
}
GOOD = "\ufeff\r\n---\r\ndescription: Windows wrote this\r\nmode: all\r\n---\r\nYou are GOOD.\r\n"


def build(folder: Path) -> None:
    """The project."""
    for family, kind in ((".claude", "agents"), (".opencode", "command"), (".magent", "skills")):
        place = folder / family / kind
        for name, text in TEXTS.items():
            path = place / name / "SKILL.md" if kind == "skills" else place / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (place / "binary.md").write_bytes(bytes(range(256)) * 1000)
        (place / "folder.md").mkdir()
        (place / "round.md").symlink_to("round.md")
        (place / "loop").symlink_to(place)
        (place / "leaves.md").symlink_to("/etc/passwd")
        (place / "endless.md").symlink_to("/dev/zero")
        os.mkfifo(place / "pipe.md")
    (folder / ".claude" / "agents" / "windows.md").write_bytes(GOOD.encode())
    (folder / ".magent" / "config.yaml").write_text("a: &a [*a]\nmaxTurns: 0x" + "f" * 9_000 + "\n")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LspClient]:
    home = tmp_path_factory.mktemp("hostile")
    build(home / "ws")
    async with editor(home, script=[{"text": "good"}]) as client:
        yield client


async def run(client: LspClient, prompt: str, **more: str) -> str:
    started = await client.command("magent.prompt", prompt=prompt, **more)
    return str((await client.finished(started["runId"]))["text"])


async def test_what_is_good_works(client: LspClient) -> None:
    agents = {agent["name"]: agent for agent in await client.command("magent.agents")}
    assert {"windows", "build", "plan"} <= set(agents)
    assert agents["windows"]["description"] == "Windows wrote this"
    assert await run(client, "say it", agent="windows") == "good"


async def test_the_rest_is_told_in_few_words(client: LspClient) -> None:
    problems = (await client.command("magent.status"))["problems"]
    told = {Path(each["path"]).name if each["path"] else None for each in problems}
    assert {
        "keys.md",
        "merged-itself.md",
        "deep.md",
        "code.md",
        "binary.md",
        "round.md",
        "config.yaml",
    } <= told
    assert all(len(each["message"]) <= LONGEST + 10 for each in problems)
    of_one = [each for each in problems if each["path"] and each["path"].endswith("agents/rules.md")]
    assert 0 < len(of_one) <= MOST + 1
    assert client.folder is not None
    assert not list(client.folder.parent.rglob("owned"))
    assert len(await run(client, "/doctor")) < 100_000
