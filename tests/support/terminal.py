"""The program as people start it: as a subprocess, with pipes or with a terminal of its own."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from typing import Any

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")
_SECONDS = 30.0


@dataclass(frozen=True)
class Done:
    """How a program ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """`magent-lsp` with a home, a config and a state of its own."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "project"
        self.state = home / "state"
        self.config = home / "config" / "config.yaml"
        for folder in (self.folder, self.config.parent):
            folder.mkdir(parents=True)
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MAGENT_", "XDG_"))
            and not re.search(r"KEY|TOKEN|PROXY", name, re.IGNORECASE)
        } | {
            "HOME": str(home),
            "MAGENT_CONFIG": str(self.config),
            "MAGENT_STATE_DIR": str(self.state),
            "MAGENT_TITLES": "false",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": "xterm",
        }

    def script(self, *replies: Mapping[str, Any], name: str = "model.json") -> str:
        """A recorded model that gives these replies, one after the other; its name for `--model`."""
        path = self.config.parent / name
        path.write_text(json.dumps(list(replies)), encoding="utf-8")
        return f"scripted:{path}"

    def command(self, *words: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-P", "-m", "magent_lsp", *words]

    def __call__(self, *words: str, stdin: str | None = None, **environ: str) -> Done:
        """Run it to its end, without a terminal."""
        done = subprocess.run(
            self.command(*words),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**self.environ, **environ},
            timeout=_SECONDS * 2,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start it without a terminal; the caller ends it."""
        return subprocess.Popen(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environ,
        )

    @contextlib.contextmanager
    def at_a_terminal(self, *words: str) -> Iterator["Screen"]:
        """Start it with a terminal of its own; it is gone when the block ends."""
        leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (60, 200))
        process = subprocess.Popen(
            self.command(*words),
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=self.folder,
            env=self.environ,
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(follower)
        try:
            yield Screen(leader, process)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            os.close(leader)


class Screen:
    """What a person at the terminal sees and types."""

    def __init__(self, leader: int, process: "subprocess.Popen[bytes]") -> None:
        self._leader = leader
        self._process = process
        self._raw = b""
        self._seen = 0

    @property
    def text(self) -> str:
        """All that was shown, without escape sequences."""
        return _ESCAPES.sub("", self._raw.decode(errors="replace")).replace("\r", "")

    def until(self, words: str, seconds: float = _SECONDS) -> str:
        """Wait for words that were not there at the last look; gives the text up to and with them."""
        deadline = time.monotonic() + seconds
        while (at := self.text.find(words, self._seen)) < 0:
            if not self._more(deadline):
                raise AssertionError(f"{words!r} was not shown; what was:\n{self.text[self._seen :]}")
        shown = self.text[self._seen : at + len(words)]
        self._seen = at + len(words)
        return shown

    def question(self) -> str:
        """Wait for a permission question that can be answered; gives what was shown up to it."""
        shown = self.until("[y] Allow once")
        return shown + self.until("/n/f >")

    def type(self, text: str) -> None:
        """Press keys; `\\r` is Enter, `\\x03` Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._leader, text.encode())

    def interrupt(self) -> None:
        """The signal that a terminal sends at Ctrl-C where no program reads keys."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self, seconds: float = _SECONDS) -> int:
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass
        return self._process.wait(timeout=max(deadline - time.monotonic(), 0.1))

    def _more(self, deadline: float) -> bool:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._leader], [], [], left)[0]:
            return False
        try:
            data = os.read(self._leader, 65536)
        except OSError:  # the other side is closed
            return False
        self._raw += data
        for _ in range(data.count(b"\x1b[6n")):  # "where is the cursor?", which terminals answer
            os.write(self._leader, b"\x1b[1;1R")
        return bool(data)


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool call in a recorded model's reply."""
    return {"tool": tool, "arguments": arguments}


def wait_for(path: Path) -> None:
    """Wait until a file is there, which another process makes."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)
