"""What went wrong at a provider, in our own words; pure, and knows the client's errors by their names."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from magent_lsp.core.errors import ModelError, ModelErrorKind
from magent_lsp.llm.providers import key_names, provider_of
from magent_lsp.llm.secrets import redact

Lack = Literal["tools", "streaming"]
"""What some models, or their servers, cannot do."""

_OVERFLOW = re.compile(
    r"context.{0,3}length|context window|maximum context|context size|prompt is too long|input is too long"
    r"|input token count.*exceeds|exceeds the context|request_too_large|too many input tokens",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"content.?policy|content.?filter|content management policy|safety system|responsible ai policy",
    re.IGNORECASE,
)
_TLS = re.compile(
    r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLCertVerification|WRONG_VERSION_NUMBER",
    re.IGNORECASE,
)
_CONNECTION = re.compile(
    r"Connection error|Cannot connect to host|Connect call failed|Server disconnected"
    r"|Connection (?:refused|reset)|Name or service not known"
    r"|nodename nor servname|No address associated|All connection attempts failed"
    r"|Network is unreachable|Connection closed|ClientConnector|ClientOSError|ConnectError",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(r"overloaded", re.IGNORECASE)
_NO_KEY = re.compile(
    r"api_key client option must be set|Missing .{0,40}API.?key|API.?key (?:is )?(?:required|not set|missing)"
    r"|No API key|x-api-key header is required|Missing credentials|invalid.{0,9}api.?key|incorrect api key"
    r"|api.?key not valid",
    re.IGNORECASE,
)
_NO_PROVIDER = re.compile(r"LLM Provider NOT provided|Unmapped LLM provider|Unknown provider", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance is too low", re.IGNORECASE
)
_LACKS: Mapping[Lack, re.Pattern[str]] = {
    "tools": re.compile(
        r"does not support (?:parameters: .{0,80}['\"]tools|tools|tool.?(?:use|call)|function.?call)"
        r"|(?:tools?|tool.?(?:use|calling|choice)|function.?calling)['\"`]? (?:is|are) not "
        r"(?:supported|enabled)"
        r"|unsupported parameter:? .{0,20}tools",
        re.IGNORECASE,
    ),
    "streaming": re.compile(
        r"does not support (?:parameters: .{0,80}['\"]stream|stream)"
        r"|stream(?:ing)?['\"`]?(?: mode)? (?:is|are) not (?:supported|enabled|allowed|available)"
        r"|unsupported (?:parameter|value):? .{0,20}stream",
        re.IGNORECASE,
    ),
}
_PREFIX = re.compile(r"^(?:litellm\.)?[A-Za-z_]*(?:Error|Exception|Timeout)(?: Error)?\s*[:-]\s*")
_NOISE = re.compile(r" ssl:<ssl\.SSLContext object at 0x[0-9a-f]+>|^b'")
_LONGEST = 400


class Lacking(ModelError):
    """The model, or its server, cannot do what every request needs; there is a way without."""

    what: Lack


def lacking(what: Lack, sentence: str, status: int | None = None) -> Lacking:
    """The error that says so."""
    error = Lacking(sentence, kind="bad_request", status=status)
    error.what = what
    return error


def model_error(
    error: BaseException, *, model: str, api_base: str | None = None, secrets: Iterable[str] = ()
) -> ModelError:
    """The error as a ModelError, whose text holds none of `secrets`."""
    status = _status(error)
    text = str(error)
    kind = _kind(error, text, status)
    status = 529 if kind == "server" and _OVERLOADED.search(text) and status == 500 else status
    reason = redact(_reason(text), secrets)
    who = _server(api_base) or provider_of(model) or "the provider"
    sentence = _sentence(kind, who, model, reason, status)
    if _NO_PROVIDER.search(text):
        name = model.partition("/")[0]
        sentence = (
            f"there is no provider {name!r}; name the model as provider/name, such as "
            "openai/… or ollama_chat/…, as in LiteLLM's list of providers"
        )
    for what, pattern in _LACKS.items():
        if kind == "bad_request" and pattern.search(text):
            return lacking(what, sentence, status)
    return ModelError(sentence, kind=kind, status=status, retry_after=_retry_after(error))


def _server(api_base: str | None) -> str:
    """The address without a user's name or password."""
    if not api_base:
        return ""
    try:
        parts = urlsplit(api_base)
        return f"the server at {parts.hostname}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return "the server at `apiBase`"


def _kind(error: BaseException, text: str, status: int | None) -> ModelErrorKind:
    names = {cls.__name__ for cls in type(error).__mro__}
    if "ContextWindowExceededError" in names or (status in (None, 400, 413, 500) and _OVERFLOW.search(text)):
        return "overflow"
    if "ContentPolicyViolationError" in names or (status in (None, 400) and _REFUSED.search(text)):
        return "refused"
    if "MidStreamFallbackError" in names:
        return _kind_in_stream(error)
    if _TLS.search(text) or _QUOTA.search(text):
        return "bad_request"
    if _NO_KEY.search(text) or status in (401, 403):
        return "auth"
    if _NO_PROVIDER.search(text) or status == 404:
        return "not_found"
    if status == 429:
        return "rate_limit"
    if _OVERLOADED.search(text) or "unexpected response" in text:
        return "server"
    if _CONNECTION.search(text):
        return "connection"
    if status == 408 or "TimeoutError" in names or "TimeoutException" in names:
        return "timeout"
    if "APIConnectionError" in names or "TransportError" in names or isinstance(error, OSError):
        return "connection"
    if status is not None and (status >= 500 or status in (409, 425)):
        return "server"
    return "bad_request"


def _kind_in_stream(error: BaseException) -> ModelErrorKind:
    """An answer that broke off: the provider said why, or it was just cut."""
    original = getattr(error, "original_exception", None)
    if original is None:
        return "cut"
    if "repeating the same chunk" in str(
        original
    ):  # the client's guard against a model gone round in circles
        return "cut"
    kind = _kind(original, str(original), _status(original))
    return kind if kind in ("overflow", "refused", "rate_limit", "auth", "server") else "cut"


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def _reason(text: str) -> str:
    """What the provider said, without the client's wrapping."""
    text = re.split(r" Original exception: | Handle with `litellm|\nTraceback ", text)[0].strip()
    previous = ""
    while previous != text:
        previous, text = text, _PREFIX.sub("", text, count=1)
    start = text.find("{")
    if start >= 0:
        inner = _message(text[start:].rstrip(" .'\""))
        text = inner or text
    text = " ".join(_NOISE.sub("", text).split()).rstrip(".")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _message(text: str) -> str | None:
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    inner: Any = value.get("error", value.get("message", value.get("detail")))
    if isinstance(inner, Mapping):
        inner = inner.get("message")
    return inner if isinstance(inner, str) and inner else None


def _sentence(kind: ModelErrorKind, who: str, model: str, reason: str, status: int | None) -> str:
    code = f" ({status})" if status else ""
    tail = f": {reason}" if reason else ""
    names = key_names(model)
    mend = f"set {names[0]} or `apiKeyCommand`" if names else "check the key, or set `apiKeyCommand`"
    match kind:
        case "auth":
            return f"{who} refused the key for {model!r}{code}{tail}; {mend}"
        case "not_found":
            if model.startswith("ollama"):
                return f"{who} has no model {model!r}{tail}; `ollama pull` gets one"
            return f"there is no model {model!r}{code}{tail}; set `model` to provider/name as in LiteLLM"
        case "overflow":
            return f"the conversation does not fit the window of {model!r}{tail}"
        case "refused":
            return f"{who} refused the request on grounds of its content policy{tail}"
        case "rate_limit":
            return f"{who} asks to wait{code}{tail}"
        case "server":
            return f"{who} failed{code}{tail}"
        case "connection" if model.startswith("ollama"):
            return f"no connection to {who} for {model!r}{tail}; start it: `ollama serve`"
        case "connection":
            return (
                f"no connection to {who} for {model!r}{tail}; check the network, and `apiBase` if it is set"
            )
        case "timeout":
            return f"{who} did not answer in time{code}{tail}"
        case "cut":
            return f"the answer of {model!r} broke off{tail}"
        case _:
            return f"{who} rejected the request{code}{tail}"


def _retry_after(error: BaseException) -> float | None:
    """Seconds; OpenAI's headers hang at the response, those of others only at the client's own attribute."""
    original = getattr(error, "original_exception", None)
    for holder in (error, getattr(error, "response", None), original, getattr(original, "response", None)):
        for attribute in ("litellm_response_headers", "headers"):
            seconds = _seconds(getattr(holder, attribute, None))
            if seconds is not None:
                return seconds
    return None


def _seconds(headers: Any) -> float | None:
    try:
        found = {str(name).lower(): str(value) for name, value in headers.items()}
    except (AttributeError, TypeError):
        return None
    try:
        if "retry-after-ms" in found:
            return max(0.0, float(found["retry-after-ms"]) / 1000)
        return max(0.0, float(found["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        return _until(found.get("retry-after", ""))


def _until(date: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
