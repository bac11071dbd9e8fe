"""What it costs to add something, as the architecture promises: one of each is added to a copy, and works.

A tool is a file and a line, an agent, a skill and a slash command are a Markdown file, a setting is a field,
an editor command is a function and a line.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TOOL = '''
"""`shout`: says it louder."""

from pydantic import BaseModel

from magent_lsp.core.tool import Tool, ToolContext, ToolResult


class Input(BaseModel):
    text: str


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return ToolResult(text=input.text.upper())


TOOL = Tool(name="shout", description="Says it louder.", input=Input, kind="think", run=_run)
'''

CHECK = """
import asyncio
import sys
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.request import RunRequest
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs

home = Path(sys.argv[1])


class Sink:
    def emit(self, event): pass


async def main():
    magent = Magent(
        folders=[home], editor=DiskEditor(), sink=Sink(), dirs=Dirs.under(home / "h"),
        environ={"MAGENT_LOUD": "true"},
        overrides={"model": f"scripted:{home / 'script.yaml'}", "titles": False},
    )
    print("problems", len(magent.problems))
    print("agent", magent.agents()["singer"].native)
    print("skill", "singing" in magent.skills())
    print("command", "sing" in magent.commands())
    print("setting", magent.settings.loud)
    print("tool", [tool.name for tool in magent.tools("singer")])
    started = magent.start(RunRequest(prompt="/sing la"))
    print("run", (await magent.wait(started.run_id)).text)
    await magent.close()


asyncio.run(main())
from magent_lsp.lsp import ours
print("explained", [key.meaning for key in ours.keys_at("config", ()) if key.name == "loud"])
from magent_lsp.lsp.commands.registry import COMMANDS
print("editor command", COMMANDS["magent.sing"].name)
"""

SCRIPT = """
- when: {user: "Sing: la", turn: 1}
  text: ""
  calls: [{tool: shout, arguments: {text: la}}]
- when: {tool: LA}
  text: I sang.
"""


def add(path: Path, before: str, line: str) -> None:
    """Put one line before another one."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, (path.name, before)
    path.write_text(text.replace(before, f"{line}{before}"), encoding="utf-8")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a copy of the package says in which one of each was added."""
    home = tmp_path_factory.mktemp("adding")
    package = home / "magent_lsp"
    shutil.copytree(ROOT / "magent_lsp", package, ignore=shutil.ignore_patterns("__pycache__"))
    builtin = package / "store" / "builtin"
    # A tool: a file, and a line with what holds where no rule speaks of it.
    (package / "tools" / "shout.py").write_text(TOOL.lstrip(), encoding="utf-8")
    add(package / "permissions" / "tools.py", '    "ask_user": ', '    "shout": Standing("allow"),\n')
    # An agent, a skill and a command: a Markdown file each.
    (builtin / "agents" / "singer.md").write_text(
        "---\ndescription: Sings.\npermission:\n  '*': deny\n  shout: allow\n---\nYou sing.\n"
    )
    (builtin / "skills" / "singing").mkdir()
    (builtin / "skills" / "singing" / "SKILL.md").write_text("---\ndescription: How to sing.\n---\nLoudly.\n")
    (builtin / "commands" / "sing.md").write_text("---\ndescription: Sings.\nagent: singer\n---\nSing: $1\n")
    # A setting: a field.
    add(
        package / "core" / "config.py",
        "    warm_up: bool = Field(",
        '    loud: bool = Field(False, description="Whether to sing loudly.")\n',
    )
    # An editor command: a function, and a line with its name, which is advertised before anything is loaded.
    commands = package / "lsp" / "commands"
    with (commands / "lists.py").open("a") as stream:
        stream.write("\n\nasync def sing(edge: 'Edge', arguments: Nothing) -> str:\n    return 'la'\n")
    add(commands / "names.py", '    "magent.doctor": ', '    "magent.sing": "lists.sing",\n')
    (home / "script.yaml").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-c", CHECK, str(home)],
        cwd=home,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(home), "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return dict(
        line.split(" ", 1) if not line.startswith("editor") else ("editor", line)
        for line in ran.stdout.splitlines()
    )


def test_each_is_there_and_works(said: dict[str, str]) -> None:
    assert said["problems"] == "0"
    assert said["agent"] == "True"
    assert said["skill"] == said["command"] == said["setting"] == "True"
    assert said["tool"] == "['shout']"
    assert said["run"] == "I sang."
    assert said["explained"] == "['Whether to sing loudly.']"
    assert said["editor"].endswith("magent.sing")


def test_the_architecture_page_says_the_same() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.search(r"\| a tool \| a file in `tools/`, a line in `permissions/tools.py` \|", page)
    assert re.search(r"\| an agent, a command, a skill \| a Markdown file", page)
    assert re.search(r"\| a setting \| a field", page)
    assert re.search(r"\| an editor command \| a function .*, a line in `lsp/commands/names.py` \|", page)
