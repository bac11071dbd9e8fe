"""`fetch`: read a page of the public internet, or of a server of your own that you allow by its name."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.addresses import Address, is_own, is_public, resolve_host
from magent_lsp.tools.output import wrap_lines
from magent_lsp.tools.webtext import Inflater, check_type, to_text

if TYPE_CHECKING:
    import ssl

    import httpx

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "magent-lsp",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}
_ROOM = 500
"""Characters kept free for the line with the address and the note at the end."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one fetch may take."""

    seconds: float = 20
    connect_seconds: float = 5
    max_bytes: int = 5_000_000
    hops: int = 5


class Input(BaseModel):
    """Arguments of `fetch`."""

    url: str
    max_chars: int | None = Field(None, ge=1)


@dataclass(frozen=True, kw_only=True)
class _Page:
    url: str
    status: int
    content_type: str
    body: bytes
    cut: bool


def make_fetch(allowed: Callable[[Address], bool] = is_public, limits: Limits | None = None) -> Tool:
    """The tool; `allowed` says which addresses it may connect to."""
    bounds = limits or Limits()

    async def run(input: Input, context: ToolContext) -> ToolResult:
        try:
            async with asyncio.timeout(bounds.seconds):
                page = await _get(input.url, context, allowed, bounds)
        except TimeoutError:
            raise ToolError(f"{input.url!r} took longer than {bounds.seconds:g} s.") from None
        return await asyncio.to_thread(_result, page, input.max_chars, context.settings.max_tool_output_chars)

    return Tool(
        name="fetch",
        description="Read a web page as Markdown, or a text or JSON resource.",
        input=Input,
        kind="fetch",
        run=run,
        subjects=_subjects,
        title=lambda input: f"Fetch {input.url if len(input.url) <= 200 else input.url[:199] + '…'}",
    )


def _subjects(input: Input) -> tuple[Subject, ...]:
    return _forms(input.url)


def _forms(url: str) -> tuple[Subject, ...]:
    """The URL as given, and as it is asked for, so that capitals or a final dot do not get past a rule."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f":{parts.port}"
    except ValueError:  # `run` says what is wrong with it
        return (Subject(tool="fetch", kind="url", value=url),)
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    plain = parts._replace(netloc=f"{user}{host}{port}", path=parts.path or "/", fragment="").geturl()
    return tuple(Subject(tool="fetch", kind="url", value=each) for each in dict.fromkeys((url, plain)))


async def _get(url: str, context: ToolContext, allowed: Callable[[Address], bool], limits: Limits) -> _Page:
    """Follow redirects, each judged as a call of its own would be."""
    certificates = await asyncio.to_thread(_load)
    target = _parse(url)
    for _ in range(limits.hops + 1):
        answer = await _request(target, certificates, allowed, limits)
        if isinstance(answer, _Page):
            return answer
        _judge_hop(target, answer, context)
        target = answer
    raise ToolError(f"{url!r} redirects more than {limits.hops} times.")


def _load() -> "ssl.SSLContext":
    """The certificates to trust; also the first import of httpx, which takes its time."""
    import httpx

    return httpx.create_ssl_context()


def _parse(url: str) -> "httpx.URL":
    import httpx

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise ToolError(f"{url!r} is not a URL: {error}.") from error
    if parsed.scheme not in ("http", "https"):
        raise ToolError(f"{url!r} is neither http nor https.")
    if parsed.userinfo or not parsed.host:
        raise ToolError(f"{url!r} must name a host, and no user or password.")
    if not 0 < (parsed.port or 80) < 65_536:
        raise ToolError(f"{url!r} has no valid port.")
    return parsed.copy_with(fragment=None)


def _judge_hop(origin: "httpx.URL", target: "httpx.URL", context: ToolContext) -> None:
    """What the rules would ask about needs a call of its own, unless the same host merely moved the page."""
    verdicts = {context.judge(each) for each in _forms(str(target))}
    same = origin.host == target.host and (
        (origin.scheme, origin.port) == (target.scheme, target.port)
        or (target.scheme == "https" and origin.port is None and target.port is None)
    )
    if "deny" in verdicts:
        raise ToolError(f"{str(origin)!r} redirects to {str(target)!r}, which is not allowed.")
    if "ask" in verdicts and not same:
        raise ToolError(f"{str(origin)!r} redirects to {str(target)!r}; fetch that, if it is what you want.")


async def _request(
    url: "httpx.URL", certificates: "ssl.SSLContext", allowed: Callable[[Address], bool], limits: Limits
) -> "_Page | httpx.URL":
    """The page, or where it redirects to."""
    import httpx

    port = url.port or (443 if url.scheme == "https" else 80)
    addresses = await resolve_host(url.host, port, lambda one: allowed(one) or is_own(url.host, one))
    timeout = httpx.Timeout(limits.seconds, connect=limits.connect_seconds)
    # A bare transport: no proxy, no cookies, no redirects of its own, so that the address that was judged
    # is the one that is reached.
    async with httpx.AsyncHTTPTransport(verify=certificates, trust_env=False) as transport:
        for number, address in enumerate(addresses, 1):
            request = httpx.Request(
                "GET",
                url.copy_with(host=str(address)),
                headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
                extensions={"sni_hostname": url.raw_host.decode("ascii"), "timeout": timeout.as_dict()},
            )
            try:
                response = await transport.handle_async_request(request)
                response.request = request
                try:
                    return await _answer(url, response, limits)
                finally:
                    await response.aclose()
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if number == len(addresses):
                    raise ToolError(f"{url.host!r} cannot be reached: {error or 'no answer'}.") from error
            except httpx.HTTPError as error:
                raise ToolError(
                    f"{str(url)!r} could not be read: {error or type(error).__name__}."
                ) from error
    raise ToolError(f"{url.host!r} has no address.")


async def _answer(url: "httpx.URL", response: "httpx.Response", limits: Limits) -> "_Page | httpx.URL":
    import httpx

    location = response.headers.get("location")
    if response.status_code in _REDIRECTS and location:
        try:
            return _parse(str(url.join(location)))
        except httpx.InvalidURL as error:
            raise ToolError(f"{str(url)!r} redirects to {location!r}, which is not a URL.") from error
    content_type = response.headers.get("content-type", "")
    check_type(content_type)
    inflater = Inflater(response.headers.get("content-encoding", ""))
    body = bytearray()
    cut = False
    async for data in response.aiter_raw():
        body += inflater.feed(data, limits.max_bytes + 1 - len(body))
        if cut := len(body) > limits.max_bytes:
            break
    return _Page(
        url=str(url),
        status=response.status_code,
        content_type=content_type,
        body=bytes(body[: limits.max_bytes]),
        cut=cut,
    )


def _result(page: _Page, max_chars: int | None, most: int) -> ToolResult:
    text = wrap_lines(to_text(page.body, page.content_type))
    limit = min(max_chars or most, max(most - _ROOM, 1))
    notes = []
    if len(text) > limit:
        notes.append(f"[… {len(text) - limit} more characters]")
        text = text[:limit]
    if page.cut:
        notes.append(f"[… only the first {len(page.body)} bytes were read]")
    kind = page.content_type.partition(";")[0].strip() or "text"
    parts = [f"{page.url} ({page.status}, {kind})", "", text, *notes]
    return ToolResult(text="\n".join(parts), failed=page.status >= 400)


TOOL = make_fetch()
