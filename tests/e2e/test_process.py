"""The server's process: what it writes, and how it ends."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import (
    NO_ANSWER,
    NoAnswer,
    ResponseError,
    StreamLink,
    editor,
    server_environment,
    settings_of,
    start_server,
)
from tests.support.processes import runs

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and fds as POSIX has them")

# A program that serves as usual, and in which a library prints whenever it can.
_NOISY = """
import os, subprocess, sys, threading
import pygls.protocol.json_rpc as rpc
from magent_lsp.lsp import server, wire

inner = wire.Wire.handle_message
def noisy(self, message):
    print("printed by a library")
    sys.__stdout__.write("through the old stdout\\n"); sys.__stdout__.flush()
    os.write(1, b"straight to fd 1\\n")
    subprocess.run(["echo", "a child's output"])
    subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"])
    inner(self, message)
wire.Wire.handle_message = noisy
sys.exit(server.serve_stdio())
"""

SLOW = [{"text": "never", "first_delay": 60, "repeat": True}]


@posix
async def test_whatever_a_library_prints_stdout_carries_frames_only(tmp_path: Path) -> None:
    async with editor(tmp_path, script=[{"text": "fine"}], code=_NOISY) as client:
        run = await client.command("magent.prompt", prompt="hello")
        assert (await client.finished(run["runId"]))["text"] == "fine"
    printed = (tmp_path / "stderr.txt").read_text()
    for text in ("printed by a library", "through the old stdout", "straight to fd 1", "a child's output"):
        assert text in printed


@posix
@pytest.mark.parametrize("way", ["eof", "exit", "sigterm", "sigkill of the parent"])
async def test_the_server_ends_its_runs_and_itself_when_the_client_is_gone(tmp_path: Path, way: str) -> None:
    parent = await asyncio.create_subprocess_exec("sleep", "600")
    seconds = f"300.{time.time_ns()}"
    try:
        command = [{"text": "", "calls": [{"tool": "bash", "arguments": {"command": f"sleep {seconds}"}}]}]
        async with editor(tmp_path, initialize=False) as client:
            settings = settings_of(tmp_path, command, warmUp=False, permission={"bash": "allow"})
            await client.initialize(magent=settings, process_id=parent.pid)
            await client.command("magent.prompt", prompt="sleep")
            child = await _child_named("sleep", seconds)
            assert client.process is not None
            match way:
                case "eof":
                    await client.link.close()
                case "exit":
                    client.notify("exit")
                case "sigterm":
                    client.process.send_signal(signal.SIGTERM)
                case _:
                    parent.kill()
                    await parent.wait()
            async with asyncio.timeout(8):
                code = await client.process.wait()
            assert code == {"sigterm": 143}.get(way, 1)
            assert not Path(f"/proc/{child}").exists()
        assert "Traceback" not in (tmp_path / "stderr.txt").read_text()
    finally:
        if parent.returncode is None:
            parent.kill()
        await parent.wait()


@posix
@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("what", ["bash", "hook"])
async def test_what_a_killed_server_ran_ends_with_it(tmp_path: Path, what: str) -> None:
    """Its time limit was the server's to keep: nobody else would ever end it."""
    command, group_file = "echo $$ > group; trap '' TERM; sleep 600; true", tmp_path / "ws/group"
    script: list[dict[str, Any]] = [{"text": "never"}]
    if what == "bash":
        script.insert(0, {"text": "", "calls": [{"tool": "bash", "arguments": {"command": command}}]})
    else:
        (tmp_path / "config").mkdir()
        hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
        (tmp_path / "config/config.yaml").write_text(json.dumps({"hooks": hooks}))
    async with editor(tmp_path, script=script) as client:
        client.always = "Allow once"
        await client.command("magent.prompt", prompt="go")
        await appears(group_file)
        group = await asyncio.to_thread(_whole_number, group_file)
        assert client.process is not None
        client.process.kill()
        await client.process.wait()
    async with asyncio.timeout(20):
        while runs(group):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def _whole_number(path: Path) -> int:
    """The number in a file, once all of it was written."""
    while not (text := path.read_text()).endswith("\n"):
        time.sleep(0.01)
    return int(text)


async def test_shutdown_ends_all_runs_before_it_is_answered(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SLOW, client={"events": True}) as client:
        await client.command("magent.prompt", prompt="wait")
        await client.until(lambda: client.events)
        await client.request("shutdown")
        assert client.events[-1]["event"]["type"] == "run_finished"
        assert client.events[-1]["event"]["stopReason"] == "cancelled"
        ends = [values[-1]["kind"] for values in client.progress.values()]
        assert set(ends) <= {"end"}
        client.notify("exit")
        assert client.process is not None
        assert await client.process.wait() == 0


@pytest.mark.parametrize("way", ["shutdown", "eof"])
async def test_what_waits_for_the_beginning_is_answered_when_the_server_ends(
    tmp_path: Path, way: str
) -> None:
    """An editor that is closed right after it was opened: nobody's fault, and nothing for the log."""
    asked: list[str] = []

    def never(params: dict[str, Any]) -> NoAnswer:
        asked.append("configuration")
        return NO_ANSWER

    async with editor(tmp_path, initialize=False) as client:
        client.on["workspace/configuration"] = never
        await client.initialize(magent=settings_of(tmp_path, SLOW, warmUp=False))
        prompt = {"command": "magent.prompt", "arguments": [{"prompt": "hi"}]}
        _, run = client.send_request("workspace/executeCommand", prompt)
        _, ask = client.send_request("magent/ask", {"uri": (tmp_path / "a.py").as_uri(), "question": "?"})
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}})
        await client.until(lambda: asked)
        if way == "shutdown":
            await client.request("shutdown")
            for answer in (run, ask):
                with pytest.raises(ResponseError, match="The server is shutting down"):
                    await answer
        else:
            await client.link.close()
            for answer in (run, ask):
                answer.add_done_callback(lambda future: future.exception())
    assert "Error" not in (tmp_path / "stderr.txt").read_text()


async def test_a_client_that_does_not_read_does_not_stop_the_server(tmp_path: Path) -> None:
    """Neovim 0.7 blocks in a dialog and reads nothing; a run of another kind must go on meanwhile."""
    long = " ".join(str(number) for number in range(200_000))
    calls = [{"tool": "write_file", "arguments": {"path": "made.txt", "content": "made"}}]
    script = [{"text": [long, long], "calls": calls}, {"text": "done"}]
    process = await start_server(env=server_environment(tmp_path), cwd=tmp_path)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        (tmp_path / "ws").mkdir()
        link = StreamLink(process.stdout, process.stdin)
        options = {
            **settings_of(tmp_path, script, warmUp=False, permission={"write_file": "allow"}),
            "client": {"events": True},
        }
        folder = [{"uri": (tmp_path / "ws").as_uri(), "name": "ws"}]
        params = {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "workspaceFolders": folder,
            "initializationOptions": {"magent": options},
        }
        await link.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        await link.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        arguments = {"command": "magent.prompt", "arguments": [{"prompt": "write"}]}
        await link.send(
            {"jsonrpc": "2.0", "id": 2, "method": "workspace/executeCommand", "params": arguments}
        )
        # Read no more: the pipe fills up while the answer streams.
        process.stdout._transport.pause_reading()  # type: ignore[attr-defined]
        await appears(tmp_path / "ws/made.txt")
    finally:
        process.kill()
        # A process that was killed counts as ended only when its pipes are read to their end.
        process.stdout._transport.resume_reading()  # type: ignore[union-attr]
        await process.communicate()


@posix
async def test_the_log_file_gets_no_secrets_and_no_bodies(tmp_path: Path) -> None:
    secret = "sk-very-secret-value-1234567890"
    environment = server_environment(tmp_path, OPENAI_API_KEY=secret)
    log = tmp_path / "log.txt"
    process = await start_server("serve", "--log-file", str(log), "-vv", env=environment, cwd=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    link = StreamLink(process.stdout, process.stdin)
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    await link.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    await link.receive()
    await link.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    item = {"uri": "file:///x", "languageId": "x", "version": 1, "text": "the body of a file"}
    await link.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
    odd = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {secret: secret}}
    await link.send(odd)
    await link.close()
    async with asyncio.timeout(8):
        await process.communicate()
    text = log.read_text()
    assert "textDocument/didChange" in text
    assert secret not in text
    assert "the body of a file" not in text


async def appears(path: Path) -> None:
    """Wait until a file is there; nothing else tells when nobody reads what the server says."""
    for _ in range(400):
        if path.exists():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{path} was not made")


async def _child_named(*argv: str) -> int:
    """The process with these arguments; it appears within a few seconds."""
    wanted = b"\0".join(word.encode() for word in argv) + b"\0"
    async with asyncio.timeout(10):
        while True:
            for entry in Path("/proc").iterdir():
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                try:
                    if (entry / "cmdline").read_bytes() == wanted:
                        return int(entry.name)
                except OSError:
                    continue
            await asyncio.sleep(0.05)
