"""A real server with a scripted model over HTTP, shared by the tests of a file.

pytestmark = pytest.mark.asyncio(loop_scope="module")

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory):
    async with on_stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage

async def test_it(stage):
    stage.cast("greet me", say("Hello."))         # answers to the conversation that begins with this text
    run = await stage.run("greet me")
    assert run.text == "Hello."
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.lsp_client import LspClient, editor
from tests.support.lsp_profiles import VSCODE, Profile
from tests.support.model_server import ModelServer, Reply, Request, call

__all__ = ["Ended", "Stage", "call", "on_stage", "say"]


def say(text: str = "", *calls: Any, **more: Any) -> Reply:
    """A reply of the model."""
    return Reply(text=text, calls=list(calls), **more)


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    run_id: str
    session_id: str
    stop: str
    text: str
    error: str | None
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Its events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    def results(self, tool: str) -> list[str]:
        """What the calls of a tool came to, for the model."""
        return [str(e["output"]) for e in self.of("tool_call_finished") if e["name"] == tool]


@dataclass
class Stage:
    """The client, the model, and the workspace."""

    client: LspClient
    server: ModelServer
    home: Path
    parts: list[tuple[str, list[Reply]]] = field(default_factory=list)
    requests: list[tuple[str, Request]] = field(default_factory=list)
    """What the model was asked, by the part that answered."""
    news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def workspace(self) -> Path:
        """The folder that is open."""
        return self.home / "ws"

    def cast(self, begins_with: str, *replies: Reply) -> None:
        """Replies for the conversation whose first user message holds this text; later ones count first."""
        self.parts.insert(0, (begins_with, [*replies]))

    def asked(self, part: str) -> list[Request]:
        """The requests of a part."""
        return [request for name, request in self.requests if name == part]

    async def reached(self, *parts: str) -> None:
        """Wait until the model was asked in each of these parts; AssertionError if it is not."""

        def wait() -> bool:
            with self.news:
                return self.news.wait_for(lambda: {*parts} <= {name for name, _ in self.requests}, 10)

        assert await asyncio.to_thread(wait), f"{parts}: asked were {[name for name, _ in self.requests]}"

    def answer(self, request: Request) -> Reply:
        """For the model server."""
        first = next((str(m["content"]) for m in request.messages if m["role"] == "user"), "")
        for name, queue in self.parts:
            if name in first:
                with self.news:
                    self.requests.append((name, request))
                    self.news.notify_all()
                return queue.pop(0) if queue else Reply(text=f"{name}: the part is over")
        return Reply(text=f"no part for: {first[-80:]}")

    async def start(self, prompt: str, **more: Any) -> dict[str, Any]:
        """Start a run."""
        started: dict[str, Any] = await self.client.command("magent.prompt", prompt=prompt, **more)
        return started

    async def run(self, prompt: str, **more: Any) -> Ended:
        """Start a run and wait for its end."""
        return await self.ended(await self.start(prompt, **more))

    async def ended(self, started: Mapping[str, Any]) -> Ended:
        """The end of a run that was started."""
        run_id = started["runId"]
        finished = await self.client.finished(run_id)
        events = await self.client.until(
            lambda: (
                found
                if (found := self.client.of_run(run_id)) and found[-1]["type"] == "run_finished"
                else None
            )
        )
        return Ended(
            run_id,
            started["sessionId"],
            finished["stopReason"],
            finished["text"],
            finished.get("error"),
            events,
        )

    def write(self, name: str, text: str) -> Path:
        """Write a file of the workspace, and say so as an editor that watches does."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.tell(path)
        return path

    def tell(self, path: Path) -> None:
        """Say that a file changed on disk."""
        self.client.notify(
            "workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]}
        )

    async def trust(self) -> None:
        """Trust the project as it is."""
        shown = await self.client.command("magent.trust")
        told = await self.client.command("magent.trust", digest=shown["digest"])
        assert told["trusted"]
        await self.client.until(lambda: self.client.questions)
        self.client.questions.pop()


@asynccontextmanager
async def on_stage(
    home: Path,
    *,
    profile: Profile = VSCODE,
    client: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[Stage]:
    """A stage; the client is one that takes events unless told otherwise."""
    async with ModelServer() as server:
        # Requests for titles come when they like, and would be counted with a test's own.
        options = {
            "model": server.model("openai"),
            "apiBase": server.base("openai"),
            "titles": False,
            **settings,
        }
        async with editor(
            home,
            profile=profile,
            settings=options,
            client={"events": True} if client is None else client,
            files=files,
            environment={"OPENAI_API_KEY": "sk-test-secret-value-123456"},
        ) as edge:
            stage = Stage(edge, server, home)
            server.respond = stage.answer
            # The first run loads the model client, which takes long where much else runs.
            first = await stage.start("warm up")
            await edge.finished(first["runId"], seconds=90)
            stage.requests.clear()
            yield stage
