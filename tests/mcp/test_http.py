"""Servers at an address, as they are in the wild: forgetful, closed, endless."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from magent_lsp.core.errors import ToolError
from tests.mcp.conftest import House


class Server(ThreadingHTTPServer):
    """What it does is changed by the tests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.session = "first"
        self.endless = False
        self.seen: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP with plain JSON answers."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        begins = message.get("method") == "initialize"
        if self.server.status != 200:
            self.say(self.server.status, {})
        elif not begins and self.headers.get("mcp-session-id") != self.server.session:
            self.say(404, {})
        elif "id" not in message:
            self.say(202, None)
        elif self.server.endless and message["method"] == "tools/call":
            self.flood()
        else:
            result = self.result(message)
            self.say(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def do_GET(self) -> None:
        self.say(405, {})

    def do_DELETE(self) -> None:
        self.say(200, {})

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                return {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "plain", "version": "1"},
                }
            case "tools/list":
                return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        return {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]}

    def say(self, status: int, value: Any) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", self.server.session)
        self.end_headers()
        self.wfile.write(body)

    def flood(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            while True:
                self.wfile.write(part)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def test_headers_are_sent_and_stay_secret(house: House, server: Server) -> None:
    entry = {"url": server.url, "headers": {"Authorization": "Bearer ${MY_TOKEN}"}}
    tools = await house.tools(far=entry)
    assert (await house.use(tools["mcp__far__echo"], a=1)).text == '{"a": 1}'
    assert {seen["authorization"] for seen in server.seen} == {"Bearer s3cr3t-value"}
    assert "s3cr3t-value" in house.learned.values()


async def test_a_server_that_forgot_us_is_asked_anew(house: House, server: Server) -> None:
    """Servers that are restarted know no session of before."""
    tools = await house.tools(far={"url": server.url})
    server.session = "second"
    with pytest.raises(ToolError, match="lost during this call"):
        await house.use(tools["mcp__far__echo"])
    again = await house.tools(far={"url": server.url})
    assert (await house.use(again["mcp__far__echo"])).text == "{}"


@pytest.mark.parametrize(("status", "words"), [(401, "HTTP 401; look at its `headers`"), (500, "HTTP 500")])
async def test_a_refusal_names_the_status(house: House, server: Server, status: int, words: str) -> None:
    server.status = status
    assert await house.tools(far={"url": server.url}) == {}
    assert words in house.told[0]


async def test_an_answer_without_end_is_cut_off(house: House, server: Server) -> None:
    """It would fill the memory."""
    tools = await house.tools(far={"url": server.url})
    server.endless = True
    with pytest.raises(ToolError, match="more than 8 MB"):
        await house.use(tools["mcp__far__echo"])
    server.endless = False
    assert (await house.use(tools["mcp__far__echo"])).text == "{}"
