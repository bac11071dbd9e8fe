"""`magent-lsp demo`: the real server, driven as an editor drives it, on a sample project."""

import asyncio
import os
import sys
import time
from typing import Any

from magent_lsp.event_loop import finish
from magent_lsp.headless.buffers import Buffer
from magent_lsp.headless.demo_editor import CAPABILITIES, CLIENT, DemoEditor
from magent_lsp.headless.demo_sample import Sample, sample_project
from magent_lsp.headless.demo_stage import Stage
from magent_lsp.headless.interrupts import CANCELLED, interrupts
from magent_lsp.headless.lsp_client import Connection, ServerError, connect
from magent_lsp.headless.person import Person
from magent_lsp.headless.terminal import Terminal

_TYPED = "# Ask Mira: how many rows fit on a phone?\n"
_TYPED_AT = 2
_SELECTED = {"start": {"line": 4, "character": 0}, "end": {"line": 7, "character": 0}}
"""The function `page_count`, once the line was typed above it."""
_COMPLAINT = "page_count(11, 5) is 2, but the test expects 3"


def demo(*, model: str | None, yes: bool, keep: bool) -> int:
    """Show the whole path; exit code 0 only if every step was verified."""
    terminal = Terminal.standard().for_stdout()
    with sample_project(model, keep=keep) as sample:
        code = finish(_show(sample, terminal, yes=yes))
        if keep:
            terminal.line(f"The project is kept in {sample.folder}", "dim")
    return code


async def _show(sample: Sample, terminal: Terminal, *, yes: bool) -> int:
    started = time.monotonic()
    person = Person(terminal, lambda: show.cancel()) if terminal.interactive and not yes else None
    stage = Stage(terminal, person)
    show = asyncio.create_task(_Show(sample, stage).play(), name="demo")
    try:
        with interrupts(show.cancel):
            await show
    except asyncio.CancelledError:
        if not show.cancelled():
            raise
        terminal.line("magent-lsp: cancelled", "yellow")
        return CANCELLED
    except ServerError as error:
        stage.check(False, str(error))
        stage.say(f"The server's log:\n{sample.log.read_text(errors='replace')[-2000:]}", "dim")
    terminal.line()
    if stage.error:
        terminal.line(f"The demo stops here: {stage.error}", "bold red")
        return 1
    if stage.failed:
        terminal.line(f"{len(stage.failed)} of the demo's claims did not hold: {stage.failed[0]}", "bold red")
        return 1
    seconds = time.monotonic() - started
    terminal.line(f"Done: {stage.verified} claims verified in {seconds:.1f} s.", "bold green")
    terminal.line("Next: `magent-lsp doctor` says what is set up; the README, how to set up your editor.")
    return 0


class _Show:
    """The steps, in order."""

    def __init__(self, sample: Sample, stage: Stage) -> None:
        self._sample = sample
        self._stage = stage
        self._editor = DemoEditor(decide=stage.decide, watch=stage.watch)
        self._connection: Connection

    async def play(self) -> None:
        """All of it, up to the first thing without which the rest makes no sense."""
        self._introduce()
        await self._a_bug()
        sample, command = self._sample, (sys.executable, "-P", "-m", "magent_lsp", "serve")
        with sample.log.open("wb") as log:
            async with connect(
                command, self._editor.handlers(), cwd=sample.folder, environ=sample.environ, log=log
            ) as connection:
                self._connection = connection
                self._editor.use(connection)
                await self._start()
                buffer = self._type()
                before = buffer.text
                action = await self._choose()
                if action is None:
                    return
                fixing = await self._run("Choosing it starts the agent", action)
                if fixing["stopReason"] == "end_turn" and not self._stage.commands:
                    await self._run_the_tests(fixing["sessionId"], buffer.uri)
                if self._stage.error:
                    return
                if await self._check(fixing, buffer, before):
                    await self._undo(fixing["runId"], buffer, before)
                    await self._stop()

    def _introduce(self) -> None:
        say = self._stage.say
        say("This is magent-lsp, an AI coding agent for any editor with a language client.", "bold")
        say()
        say("This program plays the editor: it starts the real language server and speaks LSP with it,")
        say("as Emacs, Neovim or VS Code would. Everything you see really happens, in a temporary folder.")
        if self._sample.recorded:
            say("Only the model is not real: its words come from a recorded script. No key, no network,")
            say("none of your settings are used. `magent-lsp demo --model PROVIDER/NAME` takes a real one.")
        else:
            say(f"The model is {self._sample.model}; its words cost what they cost.")

    async def _a_bug(self) -> None:
        self._stage.step("A small project with a bug")
        passed, said = await asyncio.to_thread(self._sample.test)
        self._stage.say(f"{self._sample.folder}{os.sep}pages.py")
        self._stage.say(f"$ {self._sample.python} -m unittest")
        self._stage.say(
            "\n".join(f"  {line}" for line in said.splitlines() if "Error" in line or "FAIL:" in line)
        )
        self._stage.check(not passed, "a test fails")

    async def _start(self) -> None:
        self._stage.step("The editor starts the server")
        began = time.monotonic()
        folder = self._sample.folder
        options = {
            "model": self._sample.model,
            "warmUp": not self._sample.recorded,
            "edits": {"saveBeforeCommands": "always"},
            "client": CLIENT,
        }
        answer = await self._connection.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "magent-lsp demo"},
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "capabilities": CAPABILITIES,
                "initializationOptions": {"magent": options},
            },
        )
        self._connection.notify("initialized", {})
        server = answer.get("serverInfo", {})
        seconds = time.monotonic() - began
        name = f"{server.get('name', 'the server')} {server.get('version', '')}".strip()
        commands = answer["capabilities"].get("executeCommandProvider", {}).get("commands", [])
        self._stage.say("Before a command runs, this editor saves without a question: its setting is")
        self._stage.say("`edits.saveBeforeCommands: always`. Yours asks, until you say otherwise.")
        self._stage.check("magent.prompt" in commands, f"{name} answered after {seconds:.1f} s")

    def _type(self) -> Buffer:
        self._stage.step("You open pages.py and type a line, but do not save it")
        buffer = self._editor.buffers.open(self._sample.folder / "pages.py", "python")
        self._editor.buffers.type(buffer, _TYPED_AT, _TYPED)
        self._stage.say(f"  {_TYPED}", "cyan")
        self._stage.check(_TYPED not in buffer.on_disk, "the line is in the editor's buffer only")
        return buffer

    async def _choose(self) -> dict[str, Any] | None:
        self._stage.step("You select the function and ask for code actions")
        diagnostic = {"range": _SELECTED, "severity": 1, "source": "unittest", "message": _COMPLAINT}
        uri = (self._sample.folder / "pages.py").as_uri()
        actions = await self._connection.request(
            "textDocument/codeAction",
            {"textDocument": {"uri": uri}, "range": _SELECTED, "context": {"diagnostics": [diagnostic]}},
        )
        fix = next((action for action in actions or () if action["title"].startswith("Magent: Fix:")), None)
        for action in actions or ():
            mark = "→" if action is fix else " "
            self._stage.say(f"{mark} {action['title']}", "bold" if action is fix else "")
        self._stage.check(fix is not None, "a fix for the failing test is offered")
        if fix is None:
            return None
        command = fix["command"] if isinstance(fix["command"], dict) else fix
        return {"command": command["command"], "arguments": command.get("arguments", [])}

    async def _run(self, title: str, command: dict[str, Any]) -> dict[str, Any]:
        """Start a run and watch it to its end; its `run_finished` event with the ids."""
        self._stage.step(title)
        started = await self._connection.request("workspace/executeCommand", command)
        run = asyncio.create_task(self._editor.finished(), name="run")
        server = asyncio.create_task(self._connection.ended.wait(), name="server")
        try:
            await asyncio.wait({run, server}, return_when=asyncio.FIRST_COMPLETED)
            finished = run.result() if run.done() else None
        finally:
            run.cancel()
            server.cancel()
        if finished is None:
            raise ServerError("the server stays until the run has ended")
        if finished["stopReason"] == "error":
            self._stage.error = finished.get("error") or "the run failed"
        return {**finished, **started}

    async def _run_the_tests(self, session_id: str, uri: str) -> None:
        """For models that did not do so by themselves."""
        argument = {"prompt": "Run the tests.", "sessionId": session_id, "uri": uri}
        await self._run("You ask it to run the tests", {"command": "magent.prompt", "arguments": [argument]})

    async def _check(self, finished: dict[str, Any], buffer: Buffer, before: str) -> bool:
        stage, saves = self._stage, self._editor.before_save
        stage.step("What this program looked at meanwhile")
        if finished["stopReason"] == "rejected":
            stage.check(_TYPED in buffer.text, "the line you typed is still there")
            stage.failed.append("you said no, so the rest could not be shown")
            return False
        outcomes = [edit["outcome"] for edit in finished["edits"]]
        applied = bool(outcomes) and outcomes[-1] == "applied" and buffer.text != before
        stage.check(applied, "the edit arrived in the buffer, and the server made sure of it")
        stage.check(_TYPED in buffer.text, "the line you typed is still there")
        stage.check(
            bool(saves) and _TYPED not in saves[0],
            "nobody wrote to the file under the buffer; the editor saved it, before the command, as asked",
        )
        passed, _ = await asyncio.to_thread(self._sample.test)
        return stage.check(passed and applied, "the tests pass")

    async def _undo(self, run_id: str, buffer: Buffer, before: str) -> None:
        self._stage.step("You change your mind: undo")
        command = {"command": "magent.undo", "arguments": [{"runId": run_id}]}
        report = await self._connection.request("workspace/executeCommand", command)
        self._stage.check(
            bool(report["restored"]) and not report["conflicts"], "the agent's edit is taken back"
        )
        self._stage.check(buffer.text == before, "and only that: the line you typed is still there")
        for line in buffer.text.splitlines()[: _SELECTED["end"]["line"] + 1]:
            self._stage.say(f"  {line}", "cyan" if line == _TYPED.strip() else "dim")

    async def _stop(self) -> None:
        self._stage.step("The editor ends the server")
        code = await self._connection.close()
        self._stage.check(code == 0, "it shut down as the protocol says")
