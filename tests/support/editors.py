"""What tests in real editors share: a model server's process, a desk to work at, a terminal.

The fixtures `desk` and `tmux` of `tests/clients/conftest.py` hand these out:

    pytestmark = pytest.mark.editor

    def test_something(desk: Desk) -> None:
        emacs = need("emacs", "apt-get install emacs-nox elpa-eglot")
        desk.model.queue(calling("edit_file", path=desk.name, old_string="a", new_string="b"), {"text": "x"})
        run([emacs, …], cwd=desk.root, env=desk.env)        # the server's command is desk.server
        assert desk.model.requests()[1]["messages"][-1]["role"] == "tool"
"""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]

ONE_PIECE = REPOSITORY / "tests/support/one_piece.py"
"""The program that brings messages of a server together."""

BESIDE = str(Path(sys.executable).parent)
"""Where the programs of Python packages are."""

Replies = Mapping[str, Any]


def missing(what: str, how: str) -> NoReturn:
    """Leave a test out because a program is not there; in CI (`CI=true`) that is a failure."""
    message = f"{what} is not installed; to run this test: {how}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{message} (CI runs every editor's tests)")
    pytest.skip(message)


def need(program: str, how: str) -> str:
    """The path of a program that the test cannot do without; `how` says how to install it."""
    return shutil.which(program) or shutil.which(program, path=BESIDE) or missing(program, how)


def calling(tool: str, text: str = "", **arguments: Any) -> dict[str, Any]:
    """A reply of the model that calls one tool."""
    return {"text": text, "calls": [{"name": tool, "arguments": json.dumps(arguments)}]}


class ModelProcess:
    """`python -m tests.support.model_server` as a process, with the replies that a test queues."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.model_server"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        """Its address, without a path."""
        if not self.url:
            raise AssertionError("the model server did not start")

    def queue(self, *replies: Replies) -> None:
        """Queue answers, as JSON of `tests.support.model_wire.Reply`; see also `calling`."""
        self._http("/_queue", list(replies))

    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far."""
        return [item["json"] for item in self._http("/_requests")]

    def release(self) -> None:
        """Let answers with `hold` go on, which wait after their first piece."""
        self._http("/_release", {})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _http(self, path: str, value: Any = None) -> Any:
        data = None if value is None else json.dumps(value).encode()
        with urllib.request.urlopen(f"{self.url}{path}", data, timeout=10) as answer:
            return json.loads(answer.read())


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A person's machine with a repository, a configured magent-lsp and a model that answers as scripted."""

    home: Path
    """HOME; our config and state are below it, the real ones are not seen."""
    root: Path
    """The workspace: a git repository with a commit."""
    file: Path
    """A real Python file in it, `src/indent.py`."""
    model: ModelProcess
    env: dict[str, str]
    server: list[str] = field(default_factory=lambda: [sys.executable, "-m", "magent_lsp", "serve"])
    """The command that starts our language server, with this environment."""

    @property
    def name(self) -> str:
        """The file as the model names it."""
        return self.file.relative_to(self.root).as_posix()

    @property
    def config(self) -> Path:
        """The user's `config.yaml`."""
        return Path(self.env["MAGENT_CONFIG"])

    def configure(self, **settings: Any) -> None:
        """Change settings of the user's `config.yaml`; before the server starts."""
        written = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        self.config.write_text(yaml.safe_dump({**written, **settings}), encoding="utf-8")

    def script(self, *replies: Replies) -> None:
        """Take the same replies from a file in place of the model server's, before the server starts.

        Faster by the seconds that loading the model client costs, for tests in which the wire plays no part.
        """
        path = self.config.with_name("script.json")
        path.write_text(json.dumps([_scripted(reply) for reply in replies]), encoding="utf-8")
        self.configure(model=f"scripted:{path}")

    def wait_requests(self, number: int, seconds: float = 60) -> list[dict[str, Any]]:
        """The chat requests, once there are so many."""
        wait_until(lambda: len(self.model.requests()) >= number, seconds, f"{number} requests to the model")
        return self.model.requests()

    def server_pids(self) -> list[int]:
        """The processes of our server that editors at this desk have started."""
        mark = f"MAGENT_CONFIG={self.config}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
                serves = b"magent_lsp\0serve" in (process / "cmdline").read_bytes()
                if serves and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found

    def status(self) -> list[str]:
        """`git status --short` of the workspace, line by line."""
        command = ["git", "status", "--short"]
        done = subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()


def _scripted(reply: Replies) -> dict[str, Any]:
    """A reply of the model server as a reply of a scripted model, with the keys that both have."""
    calls = [{"tool": call["name"], "arguments": call["arguments"]} for call in reply.get("calls", ())]
    same = {key: reply[key] for key in ("text", "reasoning", "delay", "first_delay") if key in reply}
    return {"when": {"tools": True}, **same, **({"calls": calls} if calls else {})}


def make_desk(folder: Path, model: ModelProcess) -> Desk:
    """A fresh desk below a temporary folder."""
    home, root = folder / "home", folder / "workspace"
    for new in (home / "config", root / "src"):
        new.mkdir(parents=True)
    file = root / "src/indent.py"
    shutil.copyfile(REPOSITORY / "magent_lsp/core/indent.py", file)
    (root / "README.md").write_text("# A project\n\nIt moves text to the left and to the right.\n")
    (home / ".gitconfig").write_text("[user]\n\tname = Test\n\temail = test@example.invalid\n")
    settings = {
        "model": "openai/gpt-4o",
        "apiBase": f"{model.url}/v1",
        "titles": False,  # requests for titles would take a test's replies
        "retry": {"tries": 1},
    }
    config = home / "config/config.yaml"
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    env = {
        **kept,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "MAGENT_CONFIG": str(config),
        "MAGENT_STATE_DIR": str(home / "state"),
        "OPENAI_API_KEY": "sk-test",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "."],
        ["git", "commit", "-qm", "begin"],
    ):
        subprocess.run(command, cwd=root, env=env, check=True, capture_output=True)
    return Desk(home=home, root=root, file=file, model=model, env=env)


class Tmux:
    """A terminal of its own server, in which a program runs as a person would run it."""

    def __init__(
        self,
        command: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: str = "100x32",
        trace: Path | None = None,
    ) -> None:
        self._socket = f"magent-test-{uuid.uuid4().hex[:12]}"
        self._env = dict(env)
        self._trace = trace
        width, height = size.split("x")
        # The program's end must not take the last screen with it: a failed test wants to show it.
        line = f"{shlex.join(command)}; echo EXIT $?; sleep 600"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, "-c", str(cwd), line)

    def keys(self, *keys: str) -> None:
        """Press keys, as tmux names them: `C-c`, `Enter`, `Escape`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def screen(self, *, colours: bool = False) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def wait(self, wanted: str | Callable[[str], bool], seconds: float = 60) -> str:
        """The screen, once a text is on it, or once a function of it holds."""
        holds = wanted if callable(wanted) else (lambda screen: wanted in screen)
        last = ""

        def seen() -> bool:
            nonlocal last
            last = self.screen()
            return holds(last)

        self.wait_until(seen, seconds, repr(wanted))
        return last

    def wait_until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        """Look again and again until it holds; a failure shows the screen and the end of the trace."""
        try:
            wait_until(holds, seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.screen()}{self._traced()}") from None

    def _traced(self) -> str:
        """The end of what the program wrote of its doings."""
        if self._trace is None or not self._trace.exists():
            return ""
        lines = self._trace.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(["the trace:", *lines[-60:]])

    def press(self, key: str, wanted: str | Callable[[str], bool]) -> str:
        """Press a key until something is seen: a C-g that comes while Emacs is busy ends only what that does.

        A second one at once would be taken for an emergency, so each is given its time.
        """
        for _ in range(8):
            self.keys(key)
            with contextlib.suppress(AssertionError):
                return self.wait(wanted, 5)
        return self.wait(wanted, 5)

    def close(self) -> None:
        """End the terminal and what runs in it."""
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._socket, *arguments]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{shlex.join(command)}: {done.stderr.strip()}")
        return done.stdout


def wait_until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    """Look again and again until it holds; AssertionError if it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)  # another process gives no sign; there is only looking again
