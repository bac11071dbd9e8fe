"""A server's tool as one of ours: it proposes, and is called when the proposal is allowed."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from pydantic import RootModel

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Ask, Proposal, Subject, Tool, ToolContext, ToolResult
from magent_lsp.mcp.answers import to_result
from magent_lsp.mcp.definition import Definition, on_one_line
from magent_lsp.mcp.entry import Entry
from magent_lsp.mcp.schema import lacking

_REPORT_SECONDS: Final = 0.25
_ONE_LINE: Final = 100


class Arguments(RootModel[dict[str, Any]]):
    """The arguments as the model gave them; what they mean is the server's business."""


class Server(Protocol):
    """What a tool needs of the connection to its server."""

    @property
    def entry(self) -> Entry: ...
    @property
    def tools(self) -> Mapping[str, Definition]: ...
    async def current(self, name: str) -> Definition | None: ...
    async def call(
        self, name: str, arguments: Mapping[str, Any], *, report: Callable[[str], None], ask: Ask | None
    ) -> Mapping[str, Any]: ...


def make_tool(server: Server, definition: Definition) -> Tool:
    """The tool for models; its permission is bound to what the server says of it at the time of a call."""
    name = definition.name

    def subject(now: Definition | None) -> Subject:
        return Subject(tool=definition.tool, kind="definition", value=(now or definition).digest)

    async def run(input: Arguments, context: ToolContext) -> Proposal:
        now = await server.current(name)
        if now is None:
            raise ToolError(f"The MCP server {server.entry.name!r} does not offer {name!r} any more.")
        wrong = lacking(now.schema, input.root)
        if wrong:
            raise ToolError(f"Bad arguments for {definition.tool!r}: {wrong}. Nothing was done.")

        async def act() -> ToolResult:
            latest = await server.current(name)
            if latest is None or latest.digest != now.digest:
                raise ToolError(f"The definition of {definition.tool!r} has just changed. Nothing was done.")
            report = _throttled(context.report)
            answer = await server.call(name, input.root, report=report, ask=context.ask)
            return await asyncio.to_thread(to_result, answer)

        return Proposal(
            title=_title(server.entry, now),
            command=_shown(name, input.root),
            act=act,
            subjects=(subject(now),),
        )

    return Tool(
        name=definition.tool,
        description=definition.description,
        input=Arguments,
        kind="read" if definition.reads else "other",
        run=run,
        subjects=lambda input: (subject(server.tools.get(name)),),
        title=lambda input: _title(server.entry, definition),
        schema=dict(definition.schema),
        shows=True,
    )


def _title(entry: Entry, definition: Definition) -> str:
    hint = ", which says that it only reads" if definition.reads else ""
    hint = ", which says that it may destroy" if definition.destroys else hint
    return f"Use {on_one_line(definition.name, 100)} of the MCP server {entry.name}{hint}"


def _shown(name: str, arguments: Mapping[str, Any]) -> str:
    """The call for the person who decides, with all its arguments."""
    line = json.dumps(arguments, ensure_ascii=False)
    if len(line) > _ONE_LINE:
        line = json.dumps(arguments, ensure_ascii=False, indent=2)
    return f"{name} {line}"


def _throttled(report: Callable[[str], None]) -> Callable[[str], None]:
    """At most four reports a second."""
    last = 0.0

    def now_and_then(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= _REPORT_SECONDS:
            last = now
            report(text)

    return now_and_then
