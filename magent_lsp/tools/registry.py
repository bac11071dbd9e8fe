"""All tools, in the one order in which models see them."""

from collections.abc import Iterable, Mapping
from importlib import import_module

from magent_lsp.core.tool import Tool
from magent_lsp.permissions.tools import TOOLS as NAMES


def _tool(name: str) -> Tool:
    """What the file of a tool exports."""
    tool: Tool = import_module(f"{__package__}.{name}").TOOL
    return tool


TOOLS: tuple[Tool, ...] = tuple(map(_tool, NAMES))


def by_name(tools: Iterable[Tool] = TOOLS) -> Mapping[str, Tool]:
    """The tools by name, in their order."""
    return {tool.name: tool for tool in tools}
