"""Completion must offer what can be said, and nothing that would break what is typed."""

from pathlib import Path

import pytest

from magent_lsp.headless.complete import complete, named_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src/app.py", "src/api.py", "setup.cfg", ".hidden", "node_modules/x.js"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def offered(before: str, folder: Path) -> list[str]:
    commands = {"help": "what there is", "history": "the past"}
    return [before[: len(before) - taken] + text for text, taken, _ in complete(before, commands, folder)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/h", ["/help", "/history"]),
        ("/hel", ["/help"]),
        ("/help me", []),
        ("say /h", []),
        ("look at @s", ["look at @setup.cfg", "look at @src/"]),
        ("@src/a", ["@src/api.py", "@src/app.py"]),
        ("@nowhere/", []),
        ("mail me@s", []),
        ("@.h", ["@.hidden"]),
        ("@node", []),
    ],
)
def test_offers(before: str, after: list[str], folder: Path) -> None:
    assert offered(before, folder) == after


def test_only_files_that_exist_are_named_and_each_once(folder: Path) -> None:
    said = "compare @src/app.py, @src/api.py and @src/app.py; ask @mira about user@setup.cfg"
    assert named_files(said, folder) == ["src/app.py", "src/api.py"]
