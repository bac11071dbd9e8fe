"""What goes wrong at a provider arrives as the kind of error that says whether trying again helps."""

import asyncio
import gc
import socket
import warnings
from contextlib import aclosing
from typing import Any

import pytest

from magent_lsp.core.errors import ModelError
from magent_lsp.core.messages import TextDelta, UserMessage
from magent_lsp.llm.load import Models
from magent_lsp.llm.providers import PROVIDERS
from tests.support.model_server import ModelServer
from tests.support.model_wire import Reply, Wire
from tests.support.talk import TOOLS, Talk

WIRES: tuple[Wire, ...] = ("openai", "anthropic", "ollama")
EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)

STATUS = {
    400: "bad_request",
    401: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    422: "bad_request",
    429: "rate_limit",
    500: "server",
    502: "server",
    503: "server",
    529: "server",
}
TYPES = {529: "overloaded_error", 429: "rate_limit_error", 401: "authentication_error"}


async def failure(talk: Talk, wire: Wire, **settings: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await talk.ask(wire, **settings)
    return caught.value


@EVERY_WIRE
async def test_each_status_is_told_apart(talk: Talk, wire: Wire) -> None:
    for status, kind in STATUS.items():
        message = "Overloaded" if status == 529 else "it broke"
        talk.server.fault("status", status, error_type=TYPES.get(status, ""), message=message)
        error = await failure(talk, wire)
        assert (error.kind, error.status) == (kind, status)
        assert message in str(error)
    # one request each: trying again is the engine's business
    assert len(talk.server.requests) == len(STATUS)


@EVERY_WIRE
async def test_how_long_to_wait_is_taken_from_the_provider(talk: Talk, wire: Wire) -> None:
    talk.server.fault("status", 429, retry_after=7)
    error = await failure(talk, wire)
    assert (error.kind, error.retry_after, error.retriable) == ("rate_limit", 7, True)


@EVERY_WIRE
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("overflow", "overflow"),
        ("policy", "refused"),
        ("close", "connection"),
        ("empty", "cut"),
        ("cut", "cut"),
        ("end", "cut"),
        ("garbage", "cut"),
        ("error", "server"),
    ],
)
async def test_each_fault_has_its_kind(talk: Talk, wire: Wire, fault: str, kind: str) -> None:
    talk.server.fault(fault, text="Hello world, this is a beginning")
    error = await failure(talk, wire)
    assert error.kind == kind
    if fault in ("cut", "end", "error"):
        assert any(isinstance(item, TextDelta) for item in talk.items), "what came first was not shown"


async def test_a_model_gone_round_in_circles_is_left_to_the_engine(talk: Talk) -> None:
    """The client library would make an error of it that looks like a broken connection, and is retried."""
    talk.server.reply(["around "] * 300)
    assert (await talk.ask("openai")).text == "around " * 300


@EVERY_WIRE
async def test_a_server_that_is_not_there_is_a_connection_error(talk: Talk, wire: Wire) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        error = await failure(talk, wire, api_base=base)
    assert error.kind == "connection"
    assert base.removeprefix("http://") in str(error)


@EVERY_WIRE
@pytest.mark.parametrize("fault", ["stall", "keepalive"])
async def test_silence_in_the_middle_ends(talk: Talk, wire: Wire, fault: str) -> None:
    talk.server.fault(fault, text="Hello world, this is a beginning")
    error = await failure(talk, wire, chunk_timeout=0.3)
    assert error.kind == "timeout"
    assert await talk.server.requests[0].wait_closed(20)


@EVERY_WIRE
async def test_silence_before_the_first_chunk_ends(talk: Talk, wire: Wire) -> None:
    for fault in ("stall", "keepalive"):
        talk.server.fault(fault, after=0)
        error = await failure(talk, wire, first_chunk_timeout=0.4)
        assert error.kind == "timeout"
    talk.server.reply("slow", first_delay=5)
    assert (await failure(talk, wire, first_chunk_timeout=0.4)).kind == "timeout"


@EVERY_WIRE
async def test_a_slow_first_chunk_is_waited_for(talk: Talk, wire: Wire) -> None:
    talk.server.reply("Here I am.", first_delay=0.5)
    assert (await talk.ask(wire, chunk_timeout=0.2)).text == "Here I am."


@EVERY_WIRE
async def test_cancelling_closes_the_connection(models: Models, server: ModelServer, wire: Wire) -> None:
    await models.warm_up()
    talk = Talk(models, server)
    for fault in (
        {"fault": "stall", "after": 0},
        {"fault": "stall", "after": 2, "text": "Hello world, on and on"},
        {"first_delay": 30.0},
    ):
        server.reply(**{"text": "", **fault})
        task = asyncio.create_task(talk.ask(wire))
        request = (await server.arrived(len(server.requests) + 1))[-1]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await request.wait_closed(10)


@EVERY_WIRE
async def test_a_cancel_at_any_moment_leaves_nothing_unawaited(
    models: Models, server: ModelServer, wire: Wire
) -> None:
    """The client makes its request in a thread; one that is cancelled meanwhile must not end in the log."""
    await models.warm_up()
    talk = Talk(models, server)
    server.respond = lambda request: Reply(fault="stall", after=0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for moment in [*range(20), *(2**power for power in range(5, 13))]:
            task = asyncio.create_task(talk.ask(wire))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        # What the threads still make comes now.
        await asyncio.get_running_loop().shutdown_default_executor()
        gc.collect()
    assert [str(each.message) for each in warned if "never awaited" in str(each.message)] == []


@EVERY_WIRE
async def test_closing_the_stream_closes_the_connection(
    models: Models, server: ModelServer, wire: Wire
) -> None:
    server.fault("stall", text="Hello world, on and on", after=2)
    settings = Talk(models, server).settings(wire)
    async with aclosing(models.stream([UserMessage(id="1", text="x")], TOOLS, settings)) as items:
        async for _ in items:
            break
    assert await server.requests[0].wait_closed(20)


@EVERY_WIRE
async def test_no_error_tells_a_secret(talk: Talk, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-secret-of-the-environment")
    said = "bad key key-of-the-user-1234, sk-abcdefghijklmnopqrstuvwxyz, a-secret-of-the-environment"
    talk.server.fault("status", 401, message=said)
    text = str(await failure(talk, wire))
    assert "key-of-the-user" not in text
    assert "sk-abc" not in text
    assert "a-secret" not in text
    assert "[secret]" in text


async def test_a_key_that_is_missing_is_named_and_nobody_is_asked(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider in PROVIDERS:
        for name in (*provider.keys, *provider.also):
            monkeypatch.delenv(name, raising=False)
        error = await failure(talk, "openai", model=provider.model, api_base=None, api_key=None)
        assert error.kind == "auth"
        assert provider.keys[0] in str(error)


async def test_a_model_without_provider_says_how_to_write_it(talk: Talk) -> None:
    error = await failure(talk, "openai", model="no-such-model", api_base=None)
    assert error.kind == "not_found"
    assert "provider/name" in str(error)


async def test_auto_is_not_a_model(talk: Talk) -> None:
    assert (await failure(talk, "openai", model="auto")).kind == "unconfigured"


async def test_nothing_is_printed(talk: Talk, capfd: pytest.CaptureFixture[str]) -> None:
    talk.server.reply("x").fault("status", 500).fault("cut", text="Hello world, on and on")
    await talk.ask("openai", model="openai/a-model-nobody-knows")
    await failure(talk, "openai")
    await failure(talk, "openai")
    await failure(talk, "openai", model="no-such-model")
    assert capfd.readouterr().out == ""
