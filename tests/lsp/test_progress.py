"""Progress: what began ends, what ended never begins, and the newest words win."""

import asyncio
from typing import Any

from lsprotocol import types

from magent_lsp.core.events import (
    Notice,
    RunQueued,
    RunStarted,
    TextDeltaEvent,
    TodoUpdated,
    ToolCallEvent,
)
from magent_lsp.core.session import Todo
from magent_lsp.lsp.progress import Progress, say, tool_words
from tests.support.inside import Recorder, answer, inside

CREATE = types.WINDOW_WORK_DONE_PROGRESS_CREATE


def values(sent: Recorder) -> list[dict[str, Any]]:
    return [params["value"] for params in sent.of(types.PROGRESS)]


async def begun(run_id: str = "run") -> tuple[Progress, Recorder, list[str]]:
    server, sent = inside()
    cancelled: list[str] = []
    progress = Progress(server, cancelled.append)
    progress.begin(run_id, "Magent: test")
    await asyncio.sleep(0)
    answer(server, sent.requests(CREATE)[0]["id"], result=None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return progress, sent, cancelled


async def test_begin_report_end() -> None:
    progress, sent, _ = await begun()
    progress.report("run", "reading a.py")
    progress.end("run", "done")
    progress.report("run", "too late")
    progress.end("run", "twice")
    assert [value["kind"] for value in values(sent)] == ["begin", "end"]
    assert values(sent)[0]["cancellable"] is True
    assert values(sent)[-1]["message"] == "done"


async def test_reports_that_come_too_fast_are_one_with_the_newest_words() -> None:
    progress, sent, _ = await begun()
    for number in range(1000):
        progress.report("run", f"step {number}")
    await asyncio.sleep(0.15)
    progress.end("run", "done")
    assert [value.get("message") for value in values(sent)] == [None, "step 999", "done"]


async def test_a_run_that_ends_before_the_client_made_the_token_never_begins() -> None:
    server, sent = inside()
    progress = Progress(server, lambda run_id: None)
    progress.begin("run", "Magent: test")
    await asyncio.sleep(0)
    progress.end("run", "done")
    answer(server, sent.requests(CREATE)[0]["id"], result=None)
    await asyncio.sleep(0.01)
    assert values(sent) == []


async def test_a_client_that_refuses_the_token_sees_no_progress() -> None:
    server, sent = inside()
    progress = Progress(server, lambda run_id: None)
    progress.begin("run", "Magent: test")
    await asyncio.sleep(0)
    answer(server, sent.requests(CREATE)[0]["id"], error={"code": -32601, "message": "no"})
    await asyncio.sleep(0.01)
    progress.report("run", "reading")
    progress.end("run", "done")
    assert values(sent) == []


async def test_cancel_finds_the_run_and_other_tokens_nothing() -> None:
    progress, sent, cancelled = await begun()
    progress.cancelled("some other server's token")
    assert cancelled == []
    progress.cancelled(sent.of(types.PROGRESS)[0]["token"])
    assert cancelled == ["run"]


async def test_every_line_ends_with_the_connection() -> None:
    progress, sent, _ = await begun()
    progress.end_all("stopped")
    assert values(sent)[-1]["kind"] == "end"


def test_what_goes_on_in_words() -> None:
    call = ToolCallEvent(
        phase="started",
        tool_call_id="1",
        name="read_file",
        kind="read",
        title="Read src/a.py",
        status="in_progress",
        paths=("/ws/src/a.py",),
    )
    assert tool_words(call) == "reading a.py"
    assert say(call) == "reading a.py"
    assert say(RunStarted(agent="build", model="x/y", prompt="p")) == "thinking"
    assert say(TextDeltaEvent(text="x")) == "writing the answer"
    assert say(RunQueued(position=1)) == "queued"
    assert say(Notice(level="info", message="trying again")) == "trying again"
    items = (Todo(content="Look", status="completed"), Todo(content="Write tests", status="in_progress"))
    assert say(TodoUpdated(items=items)) == "2/2 Write tests"
    assert say(TodoUpdated(items=items[:1])) is None
