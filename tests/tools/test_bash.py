"""If these fail, the agent misreads what a command did, or a person's files are not safe from it."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Proposal, Subject
from magent_lsp.tools.bash import TOOL
from magent_lsp.tools.transcript import Transcript
from tests.support.editor import MemoryEditor
from tests.support.tool_context import call, context_for, parse, write

BWRAP = shutil.which("bwrap")


async def test_nothing_runs_before_the_proposal_is_carried_out(tmp_path: Path) -> None:
    outcome = await TOOL.run(parse(TOOL, command="touch made"), context_for(tmp_path))
    assert isinstance(outcome, Proposal)
    assert outcome.command == "touch made"
    assert not (tmp_path / "made").exists()
    assert outcome.act is not None
    assert (await outcome.act()).text == "[No output, exit code 0]"
    assert (tmp_path / "made").exists()


def test_people_and_rules_see_the_command() -> None:
    input = parse(TOOL, command="pytest -q\necho done", description="anything")
    assert TOOL.title(input) == "Run pytest -q …"
    assert TOOL.subjects(input) == (Subject(tool="bash", kind="command", value="pytest -q\necho done"),)
    assert len(TOOL.title(parse(TOOL, command="x" * 500))) < 90


async def test_output_and_exit_code(tmp_path: Path) -> None:
    result = await call(TOOL, context_for(tmp_path), command="echo out; echo err >&2; exit 3")
    assert result.text == "out\nerr\n[Exit code 3]"
    assert result.failed
    assert not (await call(TOOL, context_for(tmp_path), command="true")).failed
    assert "[Ended by signal 9]" in (await call(TOOL, context_for(tmp_path), command="kill -9 $$")).text


async def test_every_call_starts_in_the_workspace_folder(tmp_path: Path) -> None:
    context = context_for(tmp_path)
    await call(TOOL, context, command="mkdir sub; cd sub; X=1")
    assert (await call(TOOL, context, command="pwd; echo x$X")).text == f"{tmp_path}\nx"


async def test_a_missing_workspace_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="gone"):
        await call(TOOL, context_for(tmp_path / "gone"), command="true")


async def test_another_shell_than_the_one_that_lines_are_judged_for_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To dash, `((touch made))` is two subshells; to bash, and to the rules, it is arithmetic."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "touch"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(ToolError, match="install bash"):
        await call(TOOL, context_for(tmp_path), command="touch made")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", ["  ", "echo a\0b"])
async def test_commands_that_no_shell_can_take(tmp_path: Path, command: str) -> None:
    with pytest.raises(ToolError):
        await call(TOOL, context_for(tmp_path), command=command)


async def test_the_time_limit_is_the_setting_unless_the_call_names_one(tmp_path: Path) -> None:
    context = context_for(tmp_path, settings={"bash": {"timeoutSeconds": 0.3}})
    result = await call(TOOL, context, command="echo begun; sleep 60")
    assert result.failed
    assert result.text == "begun\n[Timed out after 0.3 s and was ended, with all that it started]"
    assert (await call(TOOL, context, command="sleep 0.6; echo done", timeout=20)).text == "done"


async def test_only_the_environment_given_is_seen(tmp_path: Path) -> None:
    context = context_for(tmp_path, environment=lambda: {"PATH": os.environ["PATH"], "SHOWN": "yes"})
    assert (await call(TOOL, context, command="echo $SHOWN-$HOME")).text == "yes-"


async def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    context = context_for(tmp_path, scratch=scratch, settings={"maxToolOutputChars": 5_000})
    result = await call(TOOL, context, command="seq 1 200000; exit 1")
    assert len(result.text) < 5_000
    assert result.text.startswith("1\n2\n")
    assert "characters left out" in result.text
    [file] = scratch.iterdir()
    assert result.text.endswith(f"199999\n200000\n[Full output: {file}]\n[Exit code 1]")
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 200_001))
    assert file.stat().st_mode & 0o077 == 0


async def test_short_output_leaves_no_file(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    await call(TOOL, context_for(tmp_path, scratch=scratch), command="echo hi")
    assert not list(scratch.iterdir())


async def test_a_cancelled_command_leaves_no_file(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    context = context_for(tmp_path, scratch=scratch)
    task = asyncio.create_task(call(TOOL, context, command="seq 1 200000; touch begun; sleep 60"))
    async with asyncio.timeout(20):
        while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.005)
    assert [file.stat().st_size > 0 for file in scratch.iterdir()] == [True]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list(scratch.iterdir())


async def test_a_file_is_not_made_after_the_command_was_cancelled(tmp_path: Path) -> None:
    """The thread that reads the output may get its first turn when all is over."""
    transcript = Transcript(10, tmp_path / "scratch" / "late.txt")
    await asyncio.to_thread(transcript.discard)
    assert await asyncio.to_thread(transcript.open) is None
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("turns", [*range(12)])
async def test_a_command_cancelled_while_it_starts_leaves_no_file(tmp_path: Path, turns: int) -> None:
    scratch = tmp_path / "scratch"
    task = asyncio.create_task(
        call(TOOL, context_for(tmp_path, scratch=scratch), command="echo hi; sleep 60")
    )
    async with asyncio.timeout(20):
        for _ in range(turns):  # a turn of the loop, and what a thread does meanwhile
            await asyncio.to_thread(lambda: None)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not [*scratch.glob("*")]


async def test_long_lines_are_cut_and_stay_whole_in_the_file(tmp_path: Path) -> None:
    context = context_for(tmp_path, scratch=tmp_path / "scratch")
    result = await call(TOOL, context, command="printf 'é%.0s' {1..3000}; echo; echo end")
    assert max(map(len, result.text.split("\n"))) <= 2_000
    assert "more characters]\nend\n[Full output: " in result.text


async def test_colours_and_progress_bars_are_as_a_terminal_would_leave_them(tmp_path: Path) -> None:
    command = r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\nwin\r\n\033]0;title\007x\000y'"
    assert (await call(TOOL, context_for(tmp_path), command=command)).text == "red\n100%\nwin\nx\ufffdy"


async def test_background_processes_are_named_with_the_way_to_end_them(tmp_path: Path) -> None:
    result = await call(TOOL, context_for(tmp_path, scratch=tmp_path), command="sleep 60 & echo begun")
    assert result.text.startswith("begun\n[Full output: ")
    end = result.text.rpartition("end it with: ")[2].removesuffix("]")
    assert (await call(TOOL, context_for(tmp_path), command=end)).failed is False


async def test_progress_is_reported_clean(tmp_path: Path) -> None:
    seen: list[str] = []
    context = context_for(tmp_path, report=seen.append)
    await call(TOOL, context, command=r"printf '\033[1mworking\033[0m\n'; sleep 0.5")
    assert seen == ["working\n"]


async def test_unsaved_buffers_are_named_since_the_command_saw_the_disk(tmp_path: Path) -> None:
    editor = MemoryEditor()
    (tmp_path / "a.py").write_text("old\n")
    (tmp_path / "saved.py").write_text("same\n")
    editor.open(tmp_path / "a.py", "new\n")
    editor.open(tmp_path / "saved.py")
    editor.open(Path("/elsewhere/b.py"), "x")
    result = await call(TOOL, context_for(tmp_path, editor=editor), command="cat a.py")
    assert result.text == "old\n[Unsaved in the editor, so the command saw an older version on disk: a.py]"


async def test_the_loop_is_not_blocked(tmp_path: Path) -> None:
    with blockbuster_ctx():
        result = await call(TOOL, context_for(tmp_path, scratch=tmp_path / "s"), command="seq 100000")
    assert "characters left out" in result.text


async def test_files_that_look_like_a_repository_make_git_run_nothing(tmp_path: Path) -> None:
    """They can be written one by one as ordinary files, and `git status` needs no question."""
    config = '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ran; false"\n'
    write(tmp_path, {"HEAD": "ref: refs/heads/main\n", "config": config, "objects/x": "", "refs/x": ""})
    result = await call(TOOL, context_for(tmp_path), command="git status; git rev-parse --git-dir; ls")
    assert not (tmp_path / "ran").exists()
    assert "safe.bareRepository" in result.text


async def test_settings_for_git_in_the_environment_stay(tmp_path: Path) -> None:
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "mine"}
    context = context_for(tmp_path, environment=lambda: {**os.environ, **own})
    result = await call(TOOL, context, command="git config --get a.b; git config --get safe.bareRepository")
    assert result.text.splitlines() == ["mine", "explicit"]


SANDBOX = {"bash": {"sandbox": "bwrap"}}


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def works() -> bool:
    return BWRAP is not None and os.system(f"{BWRAP} --unshare-all --ro-bind / / true 2>/dev/null") == 0


@pytest.mark.skipif(not works(), reason="bubblewrap cannot run here")
class TestSandbox:
    """What a person is promised of `bash.sandbox: bwrap`."""

    async def test_the_workspace_is_writable_and_nothing_else(
        self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        second = tmp_path_factory.mktemp("second")
        home = Path.home() / ".magent-sandbox-test"
        context = context_for(tmp_path, second, settings=SANDBOX)
        command = f"echo a > in; echo b > {second}/in; echo c > {outside}/x; echo d > {home}; pwd"
        result = await call(TOOL, context, command=command)
        assert (tmp_path / "in").read_text() == "a\n"
        assert (second / "in").read_text() == "b\n"
        assert not (outside / "x").exists()
        assert not home.exists()
        assert "Read-only file system" in result.text
        assert result.text.endswith(str(tmp_path))

    async def test_tmp_is_private(self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        outside = tmp_path_factory.mktemp("outside")
        (outside / "secret").write_text("x")
        context = context_for(tmp_path, settings=SANDBOX)
        mine = f"magent-test-{os.getpid()}"
        result = await call(TOOL, context, command=f"ls {outside}; echo y > /tmp/{mine} && ls /tmp")
        if outside.is_relative_to("/tmp"):
            assert "secret" not in result.text
        assert mine in result.text
        assert not Path("/tmp", mine).exists()

    async def test_there_is_no_network_unless_the_setting_allows_it(self, tmp_path: Path) -> None:
        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello\n")
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        command = f"read x < /dev/tcp/127.0.0.1/{port}; echo got=$x"
        async with server:
            closed = await call(TOOL, context_for(tmp_path, settings=SANDBOX), command=command)
            settings = {"bash": {"sandbox": "bwrap", "network": True}}
            opened = await call(TOOL, context_for(tmp_path, settings=settings), command=command)
        assert "got=hello" not in closed.text
        assert "got=hello" in opened.text

    async def test_what_runs_outside_later_cannot_be_changed(self, tmp_path: Path) -> None:
        (tmp_path / ".git" / "hooks").mkdir(parents=True)
        await call(TOOL, context_for(tmp_path, settings=SANDBOX), command="echo evil > .git/hooks/pre-commit")
        assert not list((tmp_path / ".git" / "hooks").iterdir())

    async def test_time_out_reaches_into_the_sandbox(self, tmp_path: Path) -> None:
        result = await call(
            TOOL,
            context_for(tmp_path, settings=SANDBOX),
            command="trap '' TERM; sleep 61.5; sleep 62",
            timeout=0.5,
        )
        assert "Timed out" in result.text
        assert b"sleep\x0061.5\0" not in {read(entry / "cmdline") for entry in Path("/proc").glob("[0-9]*")}


async def test_without_bwrap_the_command_does_not_run(tmp_path: Path) -> None:
    context = context_for(tmp_path, settings=SANDBOX, environment=lambda: {"PATH": "/nowhere"})
    with pytest.raises(ToolError, match="not on PATH"):
        await call(TOOL, context, command="touch made")
    assert not (tmp_path / "made").exists()


async def test_a_bwrap_that_cannot_start_is_no_reason_to_go_without(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    fake.chmod(0o755)
    path = f"{fake.parent}:{os.environ['PATH']}"
    context = context_for(tmp_path, settings=SANDBOX, environment=lambda: {"PATH": path})
    with pytest.raises(ToolError, match=r"was not run.*uid map.*off"):
        await call(TOOL, context, command="touch made")
    assert not (tmp_path / "made").exists()
