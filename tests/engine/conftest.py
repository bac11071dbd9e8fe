"""An agent on a real folder, with a loopback model server and a person who answers as told."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.app import Magent
from magent_lsp.core.events import Envelope, RunFinished
from magent_lsp.core.request import Answer, PermissionReply, PermissionRequest, Question, RunRequest
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
from tests.support.hooks import HookWriter
from tests.support.model_server import ModelServer


@dataclass
class Record:
    """A sink that keeps everything."""

    envelopes: list[Envelope] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def emit(self, event: Envelope) -> None:
        self.envelopes.append(event)
        self.news.set()

    def types(self) -> list[str]:
        return [envelope.event.type for envelope in self.envelopes]

    def of(self, kind: str) -> list[Any]:
        return [envelope.event for envelope in self.envelopes if envelope.event.type == kind]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.py").write_text("def hello():\n    return 'helo'\n")
    return folder


@dataclass
class Desk:
    """An agent with a person who answers as told."""

    magent: Magent
    events: Record
    workspace: Path
    asked: list[PermissionRequest]
    answers: list[PermissionReply]
    overrides: dict[str, Any]
    environ: dict[str, str]
    questions: list[Question] = field(default_factory=list)
    said: list[Answer | None] = field(default_factory=list)
    """What the person says to questions; nothing once it is used up."""

    def set(self, **settings: Any) -> None:
        """Settings as an editor would send them; they count over the defaults given below."""
        self.overrides.update(settings)
        for key in [key for key, value in self.overrides.items() if value is None]:
            del self.overrides[key]
        self.magent.reload()

    def forget_keys(self) -> None:
        """As on a machine where no provider is set up."""
        self.environ.pop("OPENAI_API_KEY", None)
        self.magent.reload()

    async def until(self, kind: str) -> None:
        """Wait until an event of that kind has come."""
        async with asyncio.timeout(10):
            while kind not in self.events.types():
                self.events.news.clear()
                await self.events.news.wait()

    async def run(self, prompt: str, **more: Any) -> RunFinished:
        started = self.magent.start(RunRequest(prompt=prompt, **more))
        return await self.magent.wait(started.run_id)


@pytest.fixture
async def desk(server: ModelServer, workspace: Path, tmp_path: Path) -> AsyncIterator[Desk]:
    asked: list[PermissionRequest] = []
    answers: list[PermissionReply] = []

    async def person(request: PermissionRequest) -> PermissionReply:
        asked.append(request)
        return answers.pop(0) if answers else PermissionReply(reply="allow_once")

    questions: list[Question] = []
    said: list[Answer | None] = []

    async def answer(question: Question) -> Answer | None:
        questions.append(question)
        return said.pop(0) if said else None

    events = Record()
    environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-test-secret-value-123456"}
    overrides: dict[str, Any] = {
        "model": server.model("openai"),
        "apiBase": server.base("openai"),
        "titles": False,
        "retry": {"tries": 3, "baseSeconds": 0.01, "maxSeconds": 0.05},
    }
    magent = Magent(
        folders=[workspace],
        editor=DiskEditor(permission=person, question=answer),
        sink=events,
        dirs=Dirs.under(tmp_path / "home"),
        environ=environ,
        overrides=overrides,
    )
    yield Desk(magent, events, workspace, asked, answers, overrides, environ, questions, said)
    await magent.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a hook writes what it was told."""
    return tmp_path / "hook.log"


@pytest.fixture
def say(tmp_path: Path) -> HookWriter:
    """A hook that writes what it was told to a file, then prints and exits as given."""
    count = iter(range(100))

    def write(
        out: Any = "", *, err: str = "", code: int = 0, log: Path | None = None, **more: Any
    ) -> dict[str, Any]:
        path = tmp_path / f"hook{next(count)}.py"
        text = out if isinstance(out, str) else json.dumps(out)
        path.write_text(
            "import sys\ntold = sys.stdin.read()\n"
            f"log = {str(log) if log else None!r}\n"
            "if log:\n    open(log, 'a').write(told + '\\n')\n"
            f"sys.stdout.write({text!r})\nsys.stderr.write({err!r})\nsys.exit({code})\n"
        )
        return {"command": f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}", **more}

    return write
