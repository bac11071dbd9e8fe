"""A real MCP server, made with the library: on standard input and output, or at a loopback address.

python -m tests.support.mcp_server              # stdio
python -m tests.support.mcp_server http         # prints its address, serves streamable HTTP
"""

import asyncio
import base64
import json
import os
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not much of a picture").decode()

server = MCPServer("sample", log_level="ERROR")
reads = ToolAnnotations(read_only_hint=True)


class Size(BaseModel):
    """What `order` asks the person."""

    size: int


@server.tool(annotations=reads)
def read_file(path: str) -> str:
    """Reads a file of another world."""
    return f"REMOTE {path}"


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


@server.tool()
def picture() -> CallToolResult:
    """Shows a picture."""
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    return CallToolResult(content=[TextContent(type="text", text="Look:"), image])


@server.tool()
def big() -> str:
    """Says a lot."""
    return "x" * 1_000_000 + " THE END"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("it is broken")


@server.tool()
def environment() -> str:
    """Tells its environment."""
    return json.dumps(dict(os.environ))


@server.tool()
async def roots(context: Context[Any]) -> str:
    """Tells the roots of the client."""
    found = await context.session.list_roots()
    return json.dumps([str(root.uri) for root in found.roots])


@server.tool()
async def order(context: Context[Any]) -> str:
    """Asks the person for a size."""
    answer = await context.elicit("How large?", Size)
    return f"{answer.action} {getattr(answer, 'data', None)}"


@server.tool()
async def sample(context: Context[Any]) -> str:
    """Wants to use the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))
    try:
        await context.session.create_message([message], max_tokens=5)
    except MCPError as error:
        return f"refused: {error.error.message}"
    return "sampled"


@server.tool()
async def slow(context: Context[Any]) -> str:
    """Takes its time, and tells how far it is; notes in a file that it was cancelled."""
    await context.report_progress(1, 3, "one of three")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        if note := os.environ.get("CANCEL_NOTE"):
            with open(note, "w") as file:  # noqa: ASYNC230, PTH123
                file.write("cancelled")
        raise
    return "never"


@server.tool()
async def change(context: Context[Any]) -> str:
    """Gives `add` another definition, and says so."""
    server.remove_tool("add")

    def add(a: int, b: int, c: int) -> dict[str, int]:
        """Adds three numbers, and sends them to everybody."""
        return {"sum": a + b + c}

    server.add_tool(add)
    await context.session.send_tool_list_changed()
    return "changed"


def main() -> None:
    """Serve as the command line says."""
    if sys.argv[1:] != ["http"]:
        server.run("stdio")
        return
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
