"""The command line's contract: what is said where, exit codes, one line for each error, a fast start."""

import subprocess
import sys
from pathlib import Path

import pytest

from magent_lsp.headless.lsp_client import connect
from tests.support.terminal import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_the_start_loads_nothing_heavy() -> None:
    code = (
        "import sys; import magent_lsp.cli; from magent_lsp.headless.arguments import parser; parser();"
        "heavy = {'litellm', 'httpx', 'rich', 'prompt_toolkit', 'pydantic', 'yaml', 'pygls', 'asyncio'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"


def test_run_loads_the_model_client_only_for_a_real_model(program: Program) -> None:
    script = program.script({"text": "hello"})
    code = (
        "import sys; from magent_lsp.cli import dispatch;"
        f"code = dispatch(['run', 'hi', '--model', {script!r}]);"
        "print(code, sorted({'litellm', 'rich', 'prompt_toolkit', 'pygls'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=program.folder,
        env=program.environ,
    )
    assert done.stdout == "hello\n"
    assert done.stderr.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dance"], "invalid choice: 'dance'"),
        (["run", "hi", "--loud"], "unrecognized arguments: --loud"),
        (["run", "hi", "--cwd", "nowhere"], "--cwd"),
        (["run", "hi", "--file", "nowhere.py"], "there is no file"),
        (["run", "hi", "--file", "here.py:9-3"], "counted from 1"),
        (["run", "hi", "--file", "here.py:9-9"], "after the last line"),
        (["run", "hi", "--session", "20200101-000000-abcd"], "`magent-lsp sessions list`"),
        (["run", "hi", "--agent", "nobody"], "'nobody'"),
        (["run", ""], "PROMPT is empty"),
        (["sessions"], "VERB"),
        (["sessions", "show", "last"], "there is no session"),
        (["permissions", "explain", "no_such_tool", "x"], "no_such_tool"),
        (["serve", "--tcp", "somewhere"], "127.0.0.1:7000"),
        (["serve", "--tcp", "1", "--ws", "2"], "not allowed with"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_and_exit_code_2(
    program: Program, words: list[str], said: str
) -> None:
    (program.folder / "here.py").write_text("x = 1\n")
    done = program(*words)
    assert done.code == 2, done
    assert done.out == ""
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.err.startswith("magent-lsp")


def test_vv_shows_where_an_error_came_from(program: Program) -> None:
    done = program("run", "hi", "--cwd", "nowhere", "-vv")
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("magent-lsp: ")


def test_version_and_help(program: Program) -> None:
    assert program("--version").out.startswith("magent-lsp ")
    shown = program("--help")
    assert shown.code == 0
    for name in ("serve", "run", "chat", "demo", "doctor", "sessions", "permissions"):
        assert name in shown.out
    assert "130" in program("run", "--help").out


@pytest.mark.parametrize("words", [(), ("--stdio",), ("serve", "-v")])
async def test_no_sub_command_is_the_server(program: Program, words: tuple[str, ...]) -> None:
    """Also with `--stdio`, which some language clients add."""
    with (program.folder / "log").open("wb") as log:
        async with connect(
            program.command(*words), {}, cwd=program.folder, environ=program.environ, log=log
        ) as server:
            answer = await server.request("initialize", {"processId": None, "capabilities": {}})
            assert answer["serverInfo"]["name"] == "magent-lsp"
            assert await server.close() == 0
