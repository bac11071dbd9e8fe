"""What a person can follow of a run in the log, and the spans of those who want them."""

import asyncio
import logging
import os
import shlex
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from magent_lsp.core.config import Settings
from magent_lsp.core.request import PermissionReply, RunRequest
from magent_lsp.engine.telemetry import Telemetry, model_attributes
from tests.engine.conftest import Desk
from tests.support.model_server import ModelServer, Tokens, call

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "magent_lsp.run")
    return caplog


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, str]]]:
    """The lines of the log: what happened, and its values."""
    found = []
    for record in caplog.records:
        if record.name == "magent_lsp.run":
            words = shlex.split(record.getMessage())
            what = [word for word in words if "=" not in word]
            found.append((" ".join(what), dict(w.split("=", 1) for w in words if "=" in w)))
    return found


async def test_a_run_can_be_followed_line_by_line(
    desk: Desk, server: ModelServer, lines: pytest.LogCaptureFixture
) -> None:
    config = desk.magent.dirs.config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("permission:\n  bash:\n    'touch *': ask\n")
    desk.magent.reload()
    server.reply(calls=[call("read_file", path="a.py")], usage=Tokens(900, 12, cached=800))
    server.reply(calls=[call("bash", command="touch b")])
    server.reply("Done.")
    outcome = await desk.run("make b")
    found = told(lines)
    assert [what for what, _ in found] == [
        "run started",
        "notice info",
        "turn done",
        "verdict allow",
        "tool completed",
        "turn done",
        "verdict ask",
        "permission asked",
        "permission allow_once",
        "tool completed",
        "turn done",
        "run end_turn",
    ]
    assert len({values["run"] for _, values in found}) == 1
    by = dict(found)
    assert found[0][1]["agent"] == "build"
    assert {"n": "1", "finish": "tool_calls", "in": "900", "cached": "800"}.items() <= found[2][1].items()
    assert by["verdict ask"]["rule"] == "bash touch * ask"
    assert by["verdict ask"]["source"] == f"{config}:3"
    assert by["tool completed"]["tool"] == "bash"
    assert int(by["tool completed"]["ms"]) >= 0
    assert by["run end_turn"]["turns"] == "3"
    assert by["run end_turn"]["in"] == str(outcome.usage.input_tokens)


async def test_the_log_holds_no_secrets_and_no_conversation(
    desk: Desk, server: ModelServer, lines: pytest.LogCaptureFixture
) -> None:
    desk.answers.append(PermissionReply(reply="reject", feedback="no"))
    server.reply("the answer's words", calls=[call("bash", command="touch sk-test-secret-value-123456")])
    server.fault("status", 401, message="bad key sk-test-secret-value-123456")
    await desk.run("the prompt's words")
    text = lines.text
    assert "run error" in text
    assert "turn failed" in text
    assert "secret-value" not in text
    assert "the answer's words" not in text
    assert "the prompt's words" not in text


async def test_runs_that_fail_or_are_cancelled_end_with_a_line_too(
    desk: Desk, server: ModelServer, lines: pytest.LogCaptureFixture
) -> None:
    server.fault("status", 429, retry_after=0)
    server.fault("policy")
    await desk.run("hello")
    happened = [what for what, _ in told(lines)]
    assert happened == ["run started", "notice info", "notice warning", "turn failed", "run error"]
    assert dict(told(lines))["turn failed"]["error"] == "refused"


# --- spans ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """The process's provider, which can be set only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    provider.shutdown()


def named(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


async def test_spans_follow_the_conventions_and_hold_no_content(
    desk: Desk, server: ModelServer, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    desk.set(telemetry="otel", modelSettings={"temperature": 0.5})
    server.reply(calls=[call("delegate", agent="explore", prompt="look")], usage=Tokens(900, 12, cached=800))
    server.reply(calls=[call("read_file", path="no such file")])
    server.reply("Found nothing.")
    server.reply("Nothing there.")
    outcome = await desk.run("the prompt's words")
    spans = named(exporter)
    assert spans.keys() == {
        "invoke_agent build",
        "invoke_agent explore",
        "chat gpt-4o",
        "execute_tool delegate",
        "execute_tool read_file",
    }
    agent, child = spans["invoke_agent build"], spans["invoke_agent explore"]
    assert agent.parent is None
    assert child.parent is not None
    assert child.parent.span_id == agent.context.span_id
    assert agent.attributes is not None
    assert agent.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert agent.attributes["gen_ai.provider.name"] == "openai"
    assert agent.attributes["gen_ai.usage.input_tokens"] == outcome.usage.input_tokens
    chats = [span for span in exporter.get_finished_spans() if span.name == "chat gpt-4o"]
    assert len(chats) == 4
    first = chats[0]
    assert first.kind is trace.SpanKind.CLIENT
    assert first.attributes is not None
    assert first.attributes["gen_ai.request.model"] == "gpt-4o"
    assert first.attributes["gen_ai.request.temperature"] == 0.5
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 800
    assert first.attributes["server.address"] == "127.0.0.1"
    assert first.attributes["server.port"] == server.port
    tool = spans["execute_tool read_file"]
    assert tool.parent is not None
    assert tool.parent.span_id == child.context.span_id
    assert tool.attributes is not None
    assert tool.attributes["error.type"] == "failed"
    assert tool.status.status_code is trace.StatusCode.ERROR
    everything = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "the prompt's words" not in everything
    assert "no such file" not in everything


async def test_without_the_setting_there_are_no_spans(
    desk: Desk, server: ModelServer, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    server.reply("Hello.")
    await desk.run("hello")
    assert exporter.get_finished_spans() == ()


async def test_cancel_ends_all_spans(desk: Desk, server: ModelServer, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    desk.set(telemetry="otel")
    server.reply(calls=[call("bash", command="sleep 60")])
    run = desk.magent.start(RunRequest(prompt="sleep"))
    await desk.until("tool_call_updated")
    desk.magent.cancel(run.run_id)
    assert (await desk.magent.wait(run.run_id)).stop_reason == "cancelled"
    assert named(exporter).keys() == {"invoke_agent build", "chat gpt-4o", "execute_tool bash"}


def test_without_the_extra_one_is_told_and_nothing_breaks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.trace", None)
    telemetry = Telemetry()
    settings = Settings.model_validate({"telemetry": "otel"})
    assert telemetry.of(settings) is None
    assert telemetry.of(settings) is None
    telemetry.close()
    assert caplog.text.count("install the extra `otel`") == 1


_ALONE = """
from magent_lsp.core.config import Settings
from magent_lsp.engine.telemetry import Telemetry
telemetry = Telemetry()
spans = telemetry.of(Settings.model_validate({"telemetry": "otel"}))
spans.agent("build", "openai/gpt-4o", "session", None).end()
telemetry.close()
print(telemetry._own is not None)
"""


class _Collector(BaseHTTPRequestHandler):
    """Takes spans as a collector does."""

    taken: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        self.taken.append((self.path, self.rfile.read(size)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("asked", [True, False])
async def test_spans_leave_the_process_only_for_an_address_that_was_given(asked: bool) -> None:
    _Collector.taken.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        given = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"} if asked else {}
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **given}
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _ALONE), env=environment, stdout=asyncio.subprocess.PIPE
            )
            out, _ = await process.communicate()
        finally:
            server.shutdown()
            thread.join()
    assert out.decode().strip() == str(asked)
    assert [path for path, _ in _Collector.taken] == (["/v1/traces"] if asked else [])
    assert all(b"build" in body for _, body in _Collector.taken)


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("bedrock/anthropic.claude-v2", "aws.bedrock", "anthropic.claude-v2"),
        ("gemini/gemini-2.5-pro", "gcp.gemini", "gemini-2.5-pro"),
        ("scripted:/home/me/script.yaml", "scripted", "scripted"),
        ("auto", None, "auto"),
    ],
)
def test_providers_are_called_as_the_conventions_do(model: str, provider: str | None, name: str) -> None:
    attributes = model_attributes(model)
    assert attributes["gen_ai.request.model"] == name
    assert attributes.get("gen_ai.provider.name") == provider
