"""Real models, through LiteLLM; the only module that imports it. Loaded by `load.py`, and only by it."""

import asyncio
import contextlib
import importlib
import json
import os
import socket
import sys
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.request import getproxies

import httpx
import litellm

from magent_lsp.core.errors import ModelError
from magent_lsp.core.messages import FinishReason, Message, StreamItem, SystemMessage, Usage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.tool import Tool
from magent_lsp.core.ways import DOCTOR
from magent_lsp.llm.catalogue import Limits
from magent_lsp.llm.faults import lacking, model_error
from magent_lsp.llm.handover import expecting, handing_over
from magent_lsp.llm.providers import find
from magent_lsp.llm.secrets import known_secrets
from magent_lsp.llm.shape import Dialect, breaks_off_thinking, described, to_wire, tools_to_wire
from magent_lsp.llm.stream import Assembly, CallDelta, Delta

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}
_CLAUDE_TOO = ("bedrock", "vertex_ai", "azure_ai", "databricks")
"""Providers that take Anthropic's own marks and blocks, besides it."""
_CREDENTIALS = frozenset({"api_key", "headers", "extra_headers", "base_url", "client"})
_THINKING = frozenset({"thinking", "reasoning_effort"})
_MILLION = 1_000_000
_CHARACTERS_A_TOKEN = 4
_HELLO = [{"role": "user", "content": "hello"}]
OLLAMA_CONTEXT = 16_384
"""Ollama cuts what does not fit its window, silently, and its default may be 4,096 tokens."""


async def stream(
    messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings
) -> AsyncGenerator[StreamItem]:
    """Deltas, then the whole AssistantMessage; raises ModelError. Close it to stop the request."""
    assembly = Assembly(f"msg-{uuid.uuid4().hex[:12]}", tools, settings.model)
    reported: Usage | None = None
    _check_key(settings)
    request = await asyncio.to_thread(_request, messages, tools, settings)  # a long one takes a while
    try:
        async with aclosing(_chunks(request, settings)) as chunks:
            async for chunk, usage in chunks:
                reported = usage or reported
                for piece in assembly.feed(_delta(chunk)):
                    yield piece
    except ModelError:
        raise
    except Exception as error:
        raise _translated(error, settings) from error
    if not assembly.begun and reported is None:
        # a connection that closes before its first chunk looks like an answer without words
        raise ModelError(f"the answer of {settings.model!r} broke off before it began", kind="cut")
    for item in assembly.finish(reported or _estimate(request, assembly.size, settings.model)):
        yield item


async def _chunks(
    request: dict[str, Any], settings: ModelSettings
) -> AsyncGenerator[tuple[Any, Usage | None]]:
    """The chunks, each within its time, with the usage if one tells it."""
    loop = asyncio.get_running_loop()
    patience = settings.first_chunk_timeout
    deadline = loop.time() + patience
    async with _within(deadline, f"{settings.model!r} did not answer within {patience:g} s"):
        with expecting():
            response = await litellm.acompletion(**request)
    if not request["stream"]:
        yield _as_chunk(response), _told(getattr(response, "usage", None), settings.model)
        return
    begun = False
    async with aclosing(response):
        while True:
            try:
                # the client's own timeout does not see a stream of nothing but keep-alives
                async with _within(deadline, f"{settings.model!r} said nothing for {patience:g} s"):
                    chunk = await anext(response)
            except StopAsyncIteration:
                if not begun and _is_whole(response):
                    raise lacking("streaming", f"the server of {settings.model!r} does not stream") from None
                return
            # the client makes up a last chunk, which has a reason and nothing else
            begun = begun or any(choice.delta.content or choice.delta.tool_calls for choice in chunk.choices)
            yield chunk, _usage(chunk, response, settings.model)
            patience = settings.chunk_timeout
            deadline = loop.time() + patience


@contextlib.asynccontextmanager
async def _within(deadline: float, else_: str) -> AsyncGenerator[None]:
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if limit.expired():
            raise ModelError(f"{else_}; `timeouts` sets how long to wait", kind="timeout") from error
        raise


def check(settings: ModelSettings) -> None:
    """Raise ModelError for what can be told before anything is sent: no such provider, or no key for it."""
    try:
        litellm.get_llm_provider(model=settings.model, api_base=settings.api_base)
    except Exception as error:
        raise _translated(error, settings) from error
    _check_key(settings)


def _check_key(settings: ModelSettings) -> None:
    """Say what is missing before a server on the internet is asked in vain."""
    provider = find(settings.model)
    if provider is None or settings.api_base or settings.api_key or _CREDENTIALS & settings.extra.keys():
        return
    if not any(os.environ.get(name) for name in (*provider.keys, *provider.also)):
        raise ModelError(
            f"there is no key for {provider.title}: {settings.ways.key(provider.keys[0])}; {DOCTOR}",
            kind="auth",
        )


def _request(messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings) -> dict[str, Any]:
    dialect = _dialect(settings.model)
    extra = dict(settings.extra)
    if dialect.claude and _THINKING & extra.keys() and breaks_off_thinking(messages):
        extra = {name: value for name, value in extra.items() if name not in _THINKING}
        dialect = replace(dialect, thinking=False)
    if settings.tools_in_text:
        messages, tools = _with_tools_in_text(messages, tools), ()
        dialect = replace(dialect, calls_in_text=True)
    request: dict[str, Any] = {
        "model": settings.model,
        "messages": to_wire(messages, dialect, tools=bool(tools)),
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_retries": 0,
        "num_retries": 0,
        "timeout": httpx.Timeout(
            max(settings.first_chunk_timeout, settings.chunk_timeout) + 10, connect=settings.connect_timeout
        ),
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "api_base": settings.api_base,
        "api_key": settings.api_key or _no_key(settings, dialect),
        **extra,
    }
    if not request["stream"]:
        del request["stream_options"]
    if tools:
        request["tools"] = tools_to_wire(tools)
    if dialect.provider.startswith("ollama"):
        _register_ollama(settings.model)
        request.setdefault("num_ctx", OLLAMA_CONTEXT)
    return {name: value for name, value in request.items() if value is not None}


def _with_tools_in_text(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    system = next((m.text for m in messages if isinstance(m, SystemMessage)), "")
    parts = [part for part in (system, described(tools)) if part]
    rest: list[Message] = [m for m in messages if not isinstance(m, SystemMessage)]
    return [SystemMessage(text="\n\n".join(parts)), *rest] if parts else rest


def _register_ollama(model: str) -> None:
    """Say that the model takes tools; else the client asks the server, without await, at each request.

    Written into the client's table, since its `register_model` begins by asking the server too.
    """
    litellm.model_cost.setdefault(
        model,
        {
            "litellm_provider": model.partition("/")[0],
            "mode": "chat",
            "supports_function_calling": True,
            "input_cost_per_token": 0.0,
            "output_cost_per_token": 0.0,
        },
    )


def _no_key(settings: ModelSettings, dialect: Dialect) -> str | None:
    """A key for servers that want none, which the client insists on."""
    local = settings.api_base and dialect.provider == "openai" and not os.environ.get("OPENAI_API_KEY")
    return "none" if local else None


def _dialect(model: str) -> Dialect:
    name, _, rest = model.partition("/")
    claude = "claude" in model.lower() and name in (
        "anthropic",
        "bedrock",
        "vertex_ai",
        "azure_ai",
        "databricks",
    )
    return Dialect(provider=name if rest else "", claude=claude or name == "anthropic", vision=_sees(model))


def _sees(model: str) -> bool:
    """Whether pictures can be sent; a model that nobody knows is given them."""
    found = limits(model)
    return found.vision or not found.known


def _delta(chunk: Any) -> Delta:
    if not chunk.choices:
        return Delta()
    choice = chunk.choices[0]
    delta = choice.delta
    return Delta(
        text=delta.content,
        reasoning=getattr(delta, "reasoning_content", None),
        blocks=getattr(delta, "thinking_blocks", None) or (),
        calls=[
            CallDelta(
                index=call.index, id=call.id, name=call.function.name, arguments=call.function.arguments
            )
            for call in delta.tool_calls or ()
        ],
        finish=_FINISH.get(choice.finish_reason, "stop") if choice.finish_reason else None,
    )


def _is_whole(response: Any) -> bool:
    """Whether the server sent one JSON document, although a stream was asked for."""
    headers = (getattr(response, "_hidden_params", None) or {}).get("additional_headers") or {}
    return str(headers.get("llm_provider-content-type", "")).startswith("application/json")


def _as_chunk(response: Any) -> Any:
    """A whole answer as the one chunk of a stream."""
    choices = [
        SimpleNamespace(delta=_whole(choice.message), finish_reason=choice.finish_reason)
        for choice in response.choices
    ]
    return SimpleNamespace(choices=choices)


def _whole(message: Any) -> Any:
    calls = [
        SimpleNamespace(index=place, id=call.id, function=call.function)
        for place, call in enumerate(message.tool_calls or ())
    ]
    return SimpleNamespace(
        content=message.content,
        reasoning_content=getattr(message, "reasoning_content", None),
        thinking_blocks=getattr(message, "thinking_blocks", None),
        tool_calls=calls,
    )


def _usage(chunk: Any, response: Any, model: str) -> Usage | None:
    """What the provider told; the client makes up zeros where it told nothing."""
    told = getattr(chunk, "usage", None)
    if told is None or not any(getattr(got, "usage", None) for got in response.chunks):
        return None
    return _told(told, model)


def _told(told: Any, model: str) -> Usage | None:
    if told is None or not (told.prompt_tokens or told.completion_tokens):
        return None
    details = getattr(told, "prompt_tokens_details", None)
    usage = Usage(
        input_tokens=told.prompt_tokens or 0,
        output_tokens=told.completion_tokens or 0,
        cached_tokens=getattr(details, "cached_tokens", None) or 0,
    )
    price = getattr(told, "cost", None)
    return replace(usage, cost_usd=price if isinstance(price, float) else cost(model, usage))


def _estimate(request: Mapping[str, Any], size: int, model: str) -> Usage:
    asked = len(json.dumps([request["messages"], request.get("tools")], ensure_ascii=False))
    usage = Usage(
        input_tokens=asked // _CHARACTERS_A_TOKEN,
        output_tokens=size // _CHARACTERS_A_TOKEN + 1,
        estimated=True,
    )
    return replace(usage, cost_usd=cost(model, usage))


def _translated(error: Exception, settings: ModelSettings) -> ModelError:
    secrets = {*known_secrets(os.environ), settings.api_key or ""}
    return model_error(error, model=settings.model, api_base=settings.api_base, secrets=secrets)


def limits(model: str) -> Limits:
    """What the catalogue knows of a model."""
    if model.startswith("ollama"):  # the client would ask the server, and block for it
        return Limits(context=OLLAMA_CONTEXT)
    try:
        found: Mapping[str, Any] = litellm.get_model_info(model)
    except Exception:  # the client raises bare exceptions for models it does not know
        return Limits()
    return Limits(
        context=found.get("max_input_tokens"),
        output=found.get("max_output_tokens"),
        vision=bool(found.get("supports_vision")),
        tools=found.get("supports_function_calling") is not False,
        reasoning=bool(found.get("supports_reasoning")),
        input_price=_dollars(found.get("input_cost_per_token")),
        output_price=_dollars(found.get("output_cost_per_token")),
        known=bool(found.get("max_input_tokens")),
    )


def _dollars(price: float | None) -> float | None:
    return price * _MILLION if price else None


def cost(model: str, usage: Usage) -> float | None:
    """US dollars; None where no price is known."""
    found = limits(model)
    if found.input_price is None or found.output_price is None:
        return None
    try:
        prompt, completion = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # as above
        return None
    return float(prompt + completion)


def warm() -> None:
    """Make the client do now, in the thread that loads it, what it else does at the first request.

    That is to load parts of itself and the certificates, 0.3 s in which the event loop would stand still.
    """
    litellm.suppress_debug_info = True
    # a model gone round in circles is noticed by the engine, which ends the run and keeps what it saw
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    litellm.telemetry = False
    # its own counts and logs cost 0.8 s at the first request, and ask an Ollama server without await
    litellm.disable_token_counter = True
    litellm.disable_streaming_logging = True
    # it has a thread make the coroutine that asks, and forgets it where the request is cancelled meanwhile
    litellm.main.completion = handing_over(litellm.main.completion)
    with contextlib.suppress(Exception):  # what cannot be done now is done, or fails, at the request
        importlib.import_module("litellm.litellm_core_utils.default_encoding")
        mock = litellm.completion(model="openai/warm-up", messages=_HELLO, mock_response="hello", stream=True)
        for _ in mock:
            pass
        if not getproxies():
            asyncio.run(_knock())


async def _knock() -> None:
    """Ask where nobody listens: all the way through the client, and not one byte leaves the machine."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        for model in ("openai/warm-up", "anthropic/warm-up"):
            with contextlib.suppress(Exception):
                await litellm.acompletion(
                    model=model,
                    messages=_HELLO,
                    api_base=base,
                    api_key="none",
                    stream=True,
                    timeout=1,
                    max_retries=0,
                    num_retries=0,
                )
    await litellm.close_litellm_async_clients()


async def close() -> None:
    """Close all connections; a later request opens new ones."""
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()  # what is closed there would be used again
