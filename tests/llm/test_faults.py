"""Errors of the client become sentences that say what to do, and never tell too much."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from magent_lsp.core.errors import RETRIABLE
from magent_lsp.llm.faults import model_error


class ProviderError(Exception):
    """As those of the client: a status and headers."""

    def __init__(self, text: str, status: int | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.litellm_response_headers = headers


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "You exceeded your current quota (insufficient_quota)", "bad_request"),
        (500, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "bad_request"),
        (400, "the request exceeds the available context size, try increasing it", "overflow"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed", "overflow"),
        (429, "too many tokens a minute: maximum context of your plan", "rate_limit"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (500, "Name or service not known", "connection"),
        (None, "something odd in the client", "bad_request"),
    ],
)
def test_kinds(status: int | None, text: str, kind: str) -> None:
    error = model_error(ProviderError(text, status), model="openai/x")
    assert error.kind == kind
    assert error.retriable == (kind in RETRIABLE)


def test_the_wrapping_of_the_client_is_taken_off() -> None:
    body = b'{"type": "error", "error": {"message": "It broke"}}'
    wrapped = f"litellm.InternalServerError: AnthropicException - {body!r}. Handle with `litellm.X`."
    assert (
        str(model_error(ProviderError(wrapped, 500), model="anthropic/x"))
        == "Anthropic failed (500): It broke"
    )


def test_long_texts_are_cut() -> None:
    assert len(str(model_error(ProviderError("x " * 5000, 500), model="openai/x"))) < 500


def test_the_server_is_named_without_the_password_in_its_address() -> None:
    error = model_error(
        ProviderError("no", 500), model="openai/x", api_base="http://me:hidden@host.example:81/v1"
    )
    assert "the server at host.example:81" in str(error)
    assert "hidden" not in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "12"}, 12),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-4"}, 0),
        ({"retry-after": "soon"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str] | None, seconds: float | None) -> None:
    assert model_error(ProviderError("slow down", 429, headers), model="openai/x").retry_after == seconds


def test_how_long_to_wait_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    waited = model_error(
        ProviderError("slow down", 429, {"retry-after": later}), model="openai/x"
    ).retry_after
    assert waited is not None
    assert 50 < waited <= 60
