"""If these fail, a page can reach into a person's own network, or hang and flood the agent."""

import asyncio
import gzip
import socket
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolResult, Verdict
from magent_lsp.permissions.judge import judge
from magent_lsp.tools import fetch
from magent_lsp.tools.addresses import Address, is_public, resolve_host
from magent_lsp.tools.fetch import Limits, make_fetch
from tests.support.permissions import place, policy
from tests.support.tool_context import call, context_for, parse

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def loopback(address: Address) -> bool:
    return address.is_loopback


LOOPBACK = make_fetch(loopback)


def http(body: bytes | str = b"", kind: str = "text/plain", status: str = "200 OK", **headers: str) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def moved(to: str, status: str = "302 Found") -> bytes:
    return http(status=status, Location=to)


class Site:
    """A web server that answers from a table of paths, and remembers what it was asked."""

    def __init__(self, pages: dict[str, Answer]) -> None:
        self.pages = pages
        self.requests: list[bytes] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(request)
            page = self.pages.get(request.split()[1].decode(), http("none", status="404 Not Found"))
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
            else:
                await page(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(pages: dict[str, Answer], host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Site]:
    site = Site(pages)
    server = await asyncio.start_server(site.answer, host, port)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


async def get(
    url: str,
    tool: Tool = LOOPBACK,
    judge: Callable[[Subject], Verdict] = lambda subject: "allow",
    **arguments: Any,
) -> ToolResult:
    return await call(tool, context_for(Path("/"), judge=judge), url=url, **arguments)


def under(rules: dict[str, Any]) -> Callable[[Subject], Verdict]:
    """The verdicts of real rules."""
    return lambda subject: judge((subject,), policy(rules), place()).verdict


async def read(answer: Answer, tool: Tool = LOOPBACK, **arguments: Any) -> str:
    async with serving({"/": answer}) as site:
        result = await get(site.url(), tool, **arguments)
    assert not result.failed
    return result.text.partition("\n\n")[2]


async def test_a_page_is_markdown_with_its_title_and_address() -> None:
    page = "<html><head><title>A  title</title><script>bad()</script></head><body><h1>Hi</h1><p>a <b>b</b>"
    async with serving({"/p?q=1": http(page, "text/html; charset=utf-8")}) as site:
        result = await get(site.url("/p?q=1#part"))
    assert result.text == f"{site.url('/p?q=1')} (200, text/html)\n\nTitle: A title\n\n# Hi\n\na **b**"
    assert b"Host: 127.0.0.1:" in site.requests[0]
    assert b"#" not in site.requests[0]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/json", "application/vnd.x+json", "text/x-c", "", "image/svg+xml"]
)
async def test_text_stays_as_it_is(kind: str) -> None:
    assert await read(http("{\n <b>x</b>}\n", kind)) == "{\n <b>x</b>}\n"


async def test_json_on_one_line_is_made_readable() -> None:
    assert await read(http('{"a":[1,"é"]}', "application/json")) == '{\n "a": [\n  1,\n  "é"\n ]\n}'
    assert await read(http("{not json}", "application/json")) == "{not json}"


@pytest.mark.parametrize(
    "kind", ["application/pdf", "image/png", "application/octet-stream", "audio/x; charset=utf-8"]
)
async def test_what_is_no_text_is_refused(kind: str) -> None:
    async with serving({"/": http(b"%PDF", kind)}) as site:
        with pytest.raises(ToolError, match="not text"):
            await get(site.url())


async def test_binary_without_a_type_is_refused() -> None:
    async with serving({"/": http(b"a\0b", "")}) as site:
        with pytest.raises(ToolError, match="not text"):
            await get(site.url())


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("ä€".encode("cp1252"), "text/plain; charset=iso-8859-1"),
        ("ä€".encode("utf-16"), "text/plain"),
        ("ä€".encode(), 'text/plain; charset="utf-8"'),
        ("ä€".encode(), "text/plain; charset=no-such-thing"),
        ("ä€".encode(), "text/plain; charset=punycode"),
        ("ä€".encode(), "text/plain; charset=hex"),
        ("ä€".encode("cp1252"), "text/plain; charset=windows-1252"),
    ],
)
async def test_charsets(body: bytes, kind: str) -> None:
    assert await read(http(body, kind)) == "ä€"


async def test_a_charset_in_the_page_and_bytes_that_fit_none() -> None:
    page = '<meta charset="shift_jis"><p>日本'.encode("shift_jis")
    assert await read(http(page, "text/html")) == "日本"
    assert await read(http(b"a\xff\xfeb", "text/plain")) == "a\ufffd\ufffdb"


async def test_an_error_page_is_a_failed_result_with_its_text() -> None:
    async with serving({}) as site:
        result = await get(site.url("/x"))
    assert result.failed
    assert "(404, text/plain)\n\nnone" in result.text


async def test_max_chars_and_the_note_of_what_is_missing() -> None:
    assert await read(http("x" * 100), max_chars=10) == "xxxxxxxxxx\n[… 90 more characters]"


async def test_long_lines_are_wrapped_so_that_nothing_of_them_is_cut_later() -> None:
    text = await read(http("word " * 2_000))
    assert max(map(len, text.split("\n"))) <= 2_000
    assert text.replace("\n", "") == "word " * 2_000


async def test_a_huge_body_is_read_up_to_the_limit() -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    text = await read(endless, max_chars=10)
    assert "[… only the first 5000000 bytes were read]" in text
    assert sent < 20_000_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_compressed_pages(encoding: str) -> None:
    data = b"hello " * 1_000
    packed = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
    if encoding == "raw deflate":
        packed = packed[2:-4]
    answer = http(packed, Content_Encoding=encoding.split()[-1])
    assert (await read(answer, max_chars=12)).startswith("hello hello ")


async def test_a_gzip_bomb_never_unfolds() -> None:
    packed = gzip.compress(bytes(300_000_000), 1)
    start = time.process_time()
    assert "only the first 5000000 bytes" in await read(http(packed, Content_Encoding="gzip"), max_chars=1)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("body", "encoding"), [(b"\x1f\x8bnot really", "gzip"), (b"x", "br"), (b"x", "zstd")]
)
async def test_damaged_and_unknown_encodings(body: bytes, encoding: str) -> None:
    async with serving({"/": http(body, Content_Encoding=encoding)}) as site:
        with pytest.raises(ToolError, match=r"damaged|not asked for"):
            await get(site.url())


async def test_slow_bodies_and_silent_servers_end_in_time() -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    tool = make_fetch(loopback, Limits(seconds=0.4))
    async with serving({"/slow": slow, "/silent": silent}) as site:
        for path in ("/slow", "/silent"):
            async with asyncio.timeout(30):
                with pytest.raises(ToolError, match=r"longer than 0\.4 s|could not be read"):
                    await get(site.url(path), tool)


async def test_cancel_reaches_the_connection() -> None:
    asked = asyncio.Event()

    async def silent(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.sleep(30)

    async with serving({"/": silent}) as site:
        task = asyncio.create_task(get(site.url()))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(20):
                await task


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nContent-Type: text/plain\r\n\r\nshort",
    ],
)
async def test_servers_that_speak_badly(answer: bytes) -> None:
    async with serving({"/": answer}) as site:
        with pytest.raises(ToolError, match="could not be read"):
            await get(site.url())


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://x/y",
            "gopher://x",
            "data:text/plain,x",
            "javascript:1",
            "/etc/passwd",
            "",
        ),
        *(
            "http://user@127.0.0.1/",
            "http://user:pw@127.0.0.1/",
            "http://@127.0.0.1@evil/",
            "http://",
            "https:///x",
        ),
        *("http://[::1/", "http://127.0.0.1:99999/", "http://a b/", "http://127.0.0.1\r\nX: y/"),
    ],
)
async def test_urls_that_are_never_fetched(url: str) -> None:
    with pytest.raises(ToolError):
        await get(url)


NEVER = [
    *("0.0.0.0", "[::]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1"),
    *("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd00:ec2::254]", "[fe80::1]"),
    *("[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]"),
    *("224.0.0.1", "255.255.255.255", "240.0.0.1", "[ff02::1]"),
]


@pytest.mark.parametrize("host", NEVER)
async def test_some_addresses_are_never_reached_whatever_was_allowed(host: str) -> None:
    async with serving({"/": http("secret")}) as site:
        with pytest.raises(ToolError, match=r"not on the public internet|not found|not a URL"):
            await get(site.url(host=host), fetch.TOOL)
    assert site.requests == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"])
async def test_a_server_of_ones_own_is_reached_by_its_own_name(host: str) -> None:
    """The call was judged before: by a rule or by a person who read that very name."""
    async with serving({"/": http("docs")}) as site:
        assert "docs" in (await get(site.url(host=host), fetch.TOOL)).text


async def test_a_name_that_only_leads_home_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of the internet may be pointed at a person's own machine by anyone."""

    async def home(*words: object, **more: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("127.0.0.1", site.port))]

    async with serving({"/": http("secret")}) as site:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", home)
        with pytest.raises(ToolError, match=r"not on the public internet.*localhost"):
            await get(site.url(host="rebound.example.com"), fetch.TOOL)
    assert site.requests == []


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(ip_address(address))


async def test_one_bad_address_among_several_is_enough_to_refuse() -> None:
    with pytest.raises(ToolError, match=r"127\.0\.0\.1"):
        await resolve_host("localhost", 1, lambda address: address.version == 6)  # it also has 127.0.0.1


async def test_the_connection_goes_to_the_address_that_was_judged() -> None:
    judged: list[str] = []

    def allowed(address: Address) -> bool:
        judged.append(str(address))
        return address.is_loopback

    async with serving({"/": http("ok")}) as site:
        result = await get(site.url(host="localhost"), make_fetch(allowed))
    assert result.text.startswith(f"http://localhost:{site.port}/ (200")
    assert f"Host: localhost:{site.port}\r\n".encode() in site.requests[0]
    assert "127.0.0.1" in judged


async def test_tls_names_the_host_of_the_url_and_trusts_only_its_certificate() -> None:
    hello: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.append(await reader.read(2_000))
        writer.close()

    server = await asyncio.start_server(record, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(ToolError, match="localhost"):
            await get(f"https://localhost:{port}/")
    assert b"localhost" in b"".join(hello)


async def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ToolError, match="cannot be reached"):
        await get(f"http://127.0.0.1:{port}/")


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving({}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url())
        monkeypatch.setenv("ALL_PROXY", proxy.url())
        assert await read(http("direct")) == "direct"
    assert proxy.requests == []


async def test_redirects_are_followed_to_the_page() -> None:
    pages: dict[str, Answer] = {
        "/a": moved("/b", "301 Moved"),
        "/b": moved("c?x#y", "307 T"),
        "/c?x": http("here"),
    }
    async with serving(pages) as site:
        assert (await get(site.url("/a"))).text == f"{site.url('/c?x')} (200, text/plain)\n\nhere"


async def test_a_redirect_without_a_place_is_a_page() -> None:
    async with serving({"/": http("body", status="302 Found")}) as site:
        assert "(302, text/plain)\n\nbody" in (await get(site.url())).text


async def test_redirects_end() -> None:
    async with serving({"/": moved("/")}) as site:
        with pytest.raises(ToolError, match="more than 5 times"):
            await get(site.url())
    assert len(site.requests) == 6


@pytest.mark.parametrize(
    "target",
    [
        *(
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:10.0.0.1]/",
            "//10.0.0.1/x",
        ),
        *(
            "http://user:pw@127.0.0.1/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            "http://[bad",
            "javascript:x",
        ),
    ],
)
async def test_a_redirect_gets_no_further_than_a_call(target: str) -> None:
    async with serving({"/": moved(target)}) as site:
        with pytest.raises(ToolError):
            await get(site.url(), judge=under({"fetch": "allow"}))


async def test_a_redirect_into_ones_own_network_needs_a_rule_that_names_it() -> None:
    pages: dict[str, Answer] = {"/docs": http("docs")}
    async with serving(pages) as site:
        pages["/"] = moved(site.url("/docs", host="localhost"))
        with pytest.raises(ToolError, match=r"redirects to .*localhost"):
            await get(site.url(), judge=under({"fetch": "allow"}))
        assert len(site.requests) == 1
        rules = {"fetch": {"*": "allow", "http://localhost:*": "allow"}}
        assert "docs" in (await get(site.url(), judge=under(rules))).text


@pytest.mark.parametrize("target", ["https://evil.com./x", "https://EVIL.com/x", "https://evil.com:443/x"])
async def test_a_redirect_is_judged_in_every_spelling_of_its_host(target: str) -> None:
    rules = {"fetch": {"*": "allow", "http://127.0.0.1:*": "allow", "https://evil.com/*": "deny"}}
    async with serving({"/": moved(target)}) as site:
        with pytest.raises(ToolError, match="which is not allowed"):
            await get(site.url(), judge=under(rules))


async def test_every_hop_is_judged() -> None:
    judged: list[str] = []

    def recording(subject: Subject) -> Verdict:
        assert (subject.tool, subject.kind) == ("fetch", "url")
        judged.append(subject.value)
        return "deny" if "secret" in subject.value else "allow"

    async with serving({"/": moved("/b"), "/b": moved("/secret"), "/secret": http("no")}) as site:
        with pytest.raises(ToolError, match="not allowed"):
            await get(site.url(), judge=recording)
    assert judged == [site.url("/b"), site.url("/secret")]
    assert len(site.requests) == 2


async def test_another_host_needs_its_own_permission_the_same_host_does_not() -> None:
    async with serving({"/other": http("other")}, host="127.0.0.2") as other:
        pages: dict[str, Answer] = {
            "/same": moved("/page"),
            "/page": http("page"),
            "/away": moved(other.url("/other", host="127.0.0.2")),
        }
        async with serving(pages) as site:
            assert "page" in (await get(site.url("/same"), judge=lambda subject: "ask")).text
            with pytest.raises(ToolError, match=r"redirects to .*127\.0\.0\.2.*fetch that"):
                await get(site.url("/away"), judge=lambda subject: "ask")
            assert other.requests == []
            assert "other" in (await get(site.url("/away"))).text


async def test_the_loop_is_not_blocked() -> None:
    page = http("<p>some <b>text</b></p>\n" * 60_000, "text/html")
    async with serving({"/": page}) as site:
        with blockbuster_ctx():
            text = (await get(site.url(host="localhost"))).text
    assert "some **text**" in text
    assert "HTML were left out]" not in text  # the note is at the end, behind what max_chars left


async def test_very_deep_html_is_no_end_of_the_server() -> None:
    assert await read(http("<div><b><ul><li>" * 60_000 + "x", "text/html")) is not None


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://example.com/a?b", ["https://example.com/a?b"]),
        ("HTTPS://Example.COM:443", ["HTTPS://Example.COM:443", "https://example.com/"]),
        ("http://x.org:8080/#p", ["http://x.org:8080/#p", "http://x.org:8080/"]),
        ("http://u:p@[::1]/", ["http://u:p@[::1]/"]),
        ("http://[bad", ["http://[bad"]),
        ("http://x:bad/", ["http://x:bad/"]),
    ],
)
def test_rules_see_the_url_as_given_and_as_asked_for(url: str, asked: list[str]) -> None:
    assert [subject.value for subject in LOOPBACK.subjects(parse(LOOPBACK, url=url))] == asked
