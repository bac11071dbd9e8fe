"""OpenTelemetry spans of runs, requests and tools, for those who ask for them; never their content.

Names and attributes are those of the GenAI semantic conventions. The libraries are those of the extra `otel`
and are loaded when the setting `telemetry` is `otel`, never before. Spans go to the provider that the process
has; where there is none, one is made that exports to `OTEL_EXPORTER_OTLP_ENDPOINT`, if that is set.
"""

import importlib
import logging
import os
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from magent_lsp import __version__
from magent_lsp.core.config import Settings
from magent_lsp.core.messages import Usage
from magent_lsp.core.ports import ModelSettings

logger = logging.getLogger(__name__)

NAME: Final = "magent_lsp"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROVIDERS: Final[Mapping[str, str]] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "ollama_chat": "ollama",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LiteLLM's names of providers that the conventions call otherwise."""

Attributes = Mapping[str, str | int | float | bool | tuple[str, ...]]


class Span(Protocol):
    """What is used of a span."""

    def end(self) -> None: ...
    def set_attributes(self, attributes: Attributes) -> None: ...


class Telemetry:
    """Where spans come from; one for each client."""

    def __init__(self) -> None:
        self._tracer: Any = None
        self._own: Any = None
        """A provider that was made here, which must be told when the program ends."""
        self._missing = False

    def of(self, settings: Settings) -> "Spans | None":
        """What makes the spans of a run; None if nobody wants them."""
        if settings.telemetry != "otel" or self._missing:
            return None
        if self._tracer is None:
            try:
                self._tracer = self._open()
            except ImportError as error:
                self._missing = True
                logger.warning(
                    "telemetry is otel, but %s; install the extra `otel`, see docs/reliability.md", error
                )
                return None
        return Spans(self._tracer)

    def close(self) -> None:
        """Send what is left; call it in a thread, since it waits for the network."""
        if self._own is not None:
            self._own.shutdown()

    def _open(self) -> Any:
        trace = importlib.import_module("opentelemetry.trace")
        provider = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider) and any(map(os.environ.get, _ENDPOINTS)):
            provider = self._own = _exporting()
        return provider.get_tracer(NAME, __version__)


def _exporting() -> Any:
    resources = importlib.import_module("opentelemetry.sdk.resources")
    sdk = importlib.import_module("opentelemetry.sdk.trace")
    batch = importlib.import_module("opentelemetry.sdk.trace.export")
    otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "magent-lsp"}))
    provider.add_span_processor(batch.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return provider


class Spans:
    """Makes the spans of one run."""

    def __init__(self, tracer: Any) -> None:
        self._trace: Any = importlib.import_module("opentelemetry.trace")
        self._tracer = tracer

    def agent(self, agent: str, model: str, session_id: str, parent: Span | None) -> Span:
        """The span of a run, below that of the run it works for."""
        about = {"gen_ai.agent.name": agent, "gen_ai.conversation.id": session_id}
        return self._begin("invoke_agent", agent, {**about, **model_attributes(model)}, parent)

    def chat(self, settings: ModelSettings, parent: Span | None) -> Span:
        """The span of one request to the model."""
        given = {
            "gen_ai.request.temperature": settings.temperature,
            "gen_ai.request.top_p": settings.top_p,
            "gen_ai.request.max_tokens": settings.max_tokens,
        }
        about: dict[str, str | int | float | bool | tuple[str, ...]] = {}
        about |= {**model_attributes(settings.model), **_server(settings.api_base)}
        about |= {name: value for name, value in given.items() if value is not None}
        name = str(about["gen_ai.request.model"])
        return self._begin("chat", name, about, parent, kind=self._trace.SpanKind.CLIENT)

    def tool(self, name: str, call_id: str, parent: Span | None) -> Span:
        """The span of one tool call."""
        about = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}
        return self._begin("execute_tool", name, about, parent)

    def failed(self, span: Span, kind: str) -> None:
        """Mark what a span is about as failed, with a short name of the reason."""
        span.set_attributes({"error.type": kind})
        status: Any = self._trace.Status(self._trace.StatusCode.ERROR)
        setting: Any = span
        setting.set_status(status)

    def _begin(
        self, operation: str, what: str, attributes: Attributes, parent: Span | None, kind: Any = None
    ) -> Span:
        context = self._trace.set_span_in_context(parent) if parent is not None else None
        span: Span = self._tracer.start_span(
            f"{operation} {what}",
            context=context,
            kind=kind or self._trace.SpanKind.INTERNAL,
            attributes={"gen_ai.operation.name": operation, **attributes},
        )
        return span


def model_attributes(model: str) -> dict[str, str]:
    """The provider and the model, from a name as LiteLLM has it."""
    provider, _, name = model.partition("/")
    if not name:
        provider, name = "", model
    if provider.startswith("scripted:") or model.startswith("scripted:"):
        provider, name = "scripted", "scripted"
    found = _PROVIDERS.get(provider, provider)
    return {"gen_ai.request.model": name, **({"gen_ai.provider.name": found} if found else {})}


def usage_attributes(usage: Usage) -> dict[str, int]:
    """Tokens; those from the cache are part of the input."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }


def _server(base: str | None) -> dict[str, str | int]:
    try:
        parts = urlsplit(base or "")
        port = parts.port
    except ValueError:
        return {}
    found: dict[str, str | int] = {"server.address": parts.hostname} if parts.hostname else {}
    return {**found, "server.port": port} if port else found
