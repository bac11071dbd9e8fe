"""If these fail, a person gets hung calls, lost output, or processes that nobody can stop."""

import asyncio
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from magent_lsp.core.errors import ToolError
from magent_lsp.tools import process
from magent_lsp.tools.process import Finished

ENV = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


async def run(
    command: str, folder: Path, *, timeout: float = 30, keep: int = 20_000, **more: object
) -> Finished:
    return await process.run(["bash", "-c", command], cwd=folder, env=ENV, timeout=timeout, keep=keep, **more)  # type: ignore[arg-type]


async def eventually(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()] if (folder / "pids").exists() else []


async def test_both_outputs_come_in_the_order_they_were_printed(tmp_path: Path) -> None:
    done = await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 3", tmp_path)
    assert done.text == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"
    assert (done.code, done.timed_out, done.group) == (3, False, None)


async def test_a_command_that_reads_stdin_gets_its_end_at_once(tmp_path: Path) -> None:
    assert (await run("cat; read x; echo got=$x", tmp_path, timeout=5)).text == "got=\n"


async def test_no_command_can_ask_on_a_terminal(tmp_path: Path) -> None:
    done = await run("echo $GIT_TERMINAL_PROMPT; (echo x > /dev/tty) 2>/dev/null || echo no tty", tmp_path)
    assert done.text == "0\nno tty\n"


async def test_the_signal_that_ended_a_command_is_told(tmp_path: Path) -> None:
    assert (await run("kill -SEGV $$", tmp_path)).code == -11


async def test_a_background_child_does_not_hold_the_call_and_its_output_goes_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    file = tmp_path / "out.txt"
    async with asyncio.timeout(30):
        done = await run(
            "(read x < go; echo late; exec sleep 60) & echo $! > pids; echo started", tmp_path, file=file
        )
    assert done.text == "started\n"
    assert done.held
    assert done.group is not None
    await asyncio.to_thread((tmp_path / "go").write_text, "now\n")
    await eventually(lambda: "late" in file.read_text())
    os.killpg(done.group, 9)
    await eventually(lambda: not alive(pids(tmp_path)[0]))


async def test_a_background_child_with_its_own_output_is_named(tmp_path: Path) -> None:
    done = await run("sleep 60 > log 2>&1 & echo started", tmp_path)
    assert done.text == "started\n"
    assert not done.held
    assert done.group is not None
    os.killpg(done.group, 9)


async def test_time_out_ends_the_whole_tree_and_keeps_what_was_printed(tmp_path: Path) -> None:
    command = (
        "echo before; trap '' TERM; "
        "sleep 60 & echo $! >> pids; (setsid sleep 60 & echo $! >> pids; wait) & (trap '' TERM; sleep 60) & "
        "echo $! >> pids; wait; sleep 60"
    )
    async with asyncio.timeout(30):
        done = await run(command, tmp_path, timeout=1)
    assert done.timed_out
    assert done.text == "before\n"
    assert len(pids(tmp_path)) == 3
    await eventually(lambda: not any(map(alive, pids(tmp_path))))


async def test_cancel_ends_the_whole_tree(tmp_path: Path) -> None:
    command = (
        "trap '' TERM HUP INT; sleep 60 & echo $! >> pids; setsid sleep 60 & echo $! >> pids; wait; sleep 60"
    )
    task = asyncio.create_task(run(command, tmp_path))
    await eventually(lambda: len(pids(tmp_path)) == 2)
    task.cancel()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await task
    await eventually(lambda: not any(map(alive, pids(tmp_path))))


async def test_a_child_that_leaves_when_it_is_asked_to_end_is_ended_all_the_same(tmp_path: Path) -> None:
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, lambda *_: os.setsid()); "
        "open('pids', 'a').write(f'{os.getpid()}\\n'); time.sleep(60); time.sleep(60)"
    )
    task = asyncio.create_task(run(f'{sys.executable} -c "{code}" & wait', tmp_path))
    await eventually(lambda: len(pids(tmp_path)) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: not alive(pids(tmp_path)[0]))


async def test_a_second_cancel_cannot_save_the_tree(tmp_path: Path) -> None:
    task = asyncio.create_task(run("trap '' TERM; echo $$ > pids; sleep 60; sleep 60", tmp_path))
    await eventually(lambda: len(pids(tmp_path)) == 1)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: not alive(pids(tmp_path)[0]))


async def test_many_children_of_children_end_together(tmp_path: Path) -> None:
    command = (
        "spawn() { local i; for i in 1 2 3 4; do if [ $1 -gt 0 ]; then spawn $(($1-1)) & "
        "else sleep 60 & echo $! >> pids; fi; done; wait; }; spawn 2"
    )
    task = asyncio.create_task(run(command, tmp_path))
    await eventually(lambda: len(pids(tmp_path)) == 64, seconds=20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: not any(map(alive, pids(tmp_path))))


async def test_a_flood_is_kept_on_disk_and_not_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await run("echo first; yes 0123456789abcde | head -c 100000000; echo last", tmp_path, file=file)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert file.stat().st_size == 100_000_000 + len("first\nlast\n")
    assert done.text.startswith("first\n")
    assert done.text.endswith("last\n")
    assert done.missing == file.stat().st_size - len(done.text)
    assert grown < 50_000  # kilobytes


async def test_a_flood_does_not_stop_the_loop(tmp_path: Path) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    counting = asyncio.create_task(count())
    done = await run("yes", tmp_path, timeout=0.5, file=tmp_path / "out.txt")
    counting.cancel()
    assert done.timed_out
    assert turns > 20


async def test_cuts_never_fall_inside_a_character(tmp_path: Path) -> None:
    for keep in (100, 101, 102, 103):
        done = await run("printf 'ä€😀%.0s' {1..200}", tmp_path, keep=keep)
        assert done.missing
        assert "\N{REPLACEMENT CHARACTER}" not in done.text
        assert set(done.text) == set("ä€😀")


async def test_binary_output_is_text_without_surrogates(tmp_path: Path) -> None:
    done = await run("head -c 5000 /dev/urandom; printf '\\0\\377\\n'", tmp_path)
    assert done.text.encode("utf-8")
    assert done.code == 0


async def test_a_huge_line_is_bounded_too(tmp_path: Path) -> None:
    done = await run("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end", tmp_path, keep=1_000)
    assert len(done.text) == 2_000
    assert done.text.endswith("x\nend\n")


async def test_progress_is_shown_but_at_most_four_times_a_second(tmp_path: Path) -> None:
    reports: list[tuple[float, str]] = []
    start = time.monotonic()
    await run(
        "for i in $(seq 60); do echo line$i; sleep 0.02; done",
        tmp_path,
        report=lambda text: reports.append((time.monotonic(), text)),
    )
    took = time.monotonic() - start
    assert reports
    assert "line1\n" in reports[0][1]
    assert len(reports) <= took * 4 + 1


async def test_the_event_loop_is_never_blocked(tmp_path: Path) -> None:
    with blockbuster_ctx():
        done = await run("echo hi; seq 100000", tmp_path, file=tmp_path / "out.txt")
        late = await run("sleep 60", tmp_path, timeout=0.1)
        captured = await process.capture(["cat"], cwd=tmp_path, env=ENV, timeout=5, stdin=b"x" * 500_000)
    assert done.code == 0
    assert late.timed_out
    assert len(captured.out) == 500_000


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["echo", "a\0b"], ["echo", "x" * 5_000_000]])
async def test_what_cannot_start_says_so(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(ToolError, match="cannot be started"):
        await process.run(argv, cwd=tmp_path, env=ENV, timeout=5, keep=100)


async def test_a_full_or_missing_scratch_folder_costs_only_the_file(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("")
    done = await run("echo fine", tmp_path, file=tmp_path / "blocked" / "out.txt")
    assert (done.text, done.file) == ("fine\n", None)


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await run("echo warm", tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        await run("echo x; sleep 60", tmp_path, timeout=0.05)
        await process.capture(["echo", "x"], cwd=tmp_path, env=ENV, timeout=5, stdin=b"y")
        with pytest.raises(ToolError):
            await process.run(["no-such-program"], cwd=tmp_path, env=ENV, timeout=5, keep=10)
    await eventually(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)


async def test_capture_keeps_the_outputs_apart_and_bounded(tmp_path: Path) -> None:
    command = ["bash", "-c", "cat; echo oops >&2; head -c 5000000 /dev/zero; exit 4"]
    done = await process.capture(command, cwd=tmp_path, env=ENV, timeout=10, stdin=b"in\n", limit=1_000)
    assert (done.code, done.out[:3], len(done.out), done.err) == (4, b"in\n", 1_000, b"oops\n")


async def test_capture_is_not_held_by_a_background_child(tmp_path: Path) -> None:
    command = ["bash", "-c", "echo out; sleep 60 & echo $! > pids"]
    done = await process.capture(command, cwd=tmp_path, env=ENV, timeout=10)
    assert done.out == b"out\n"
    os.kill(pids(tmp_path)[0], 9)


async def test_capture_in_time_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await process.capture(["bash", "-c", "echo $$ > pids; sleep 60"], cwd=tmp_path, env=ENV, timeout=0.5)
    assert not alive(pids(tmp_path)[0])
