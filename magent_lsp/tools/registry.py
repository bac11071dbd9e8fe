"""All tools, in the one order in which models see them."""

from collections.abc import Iterable, Mapping

from magent_lsp.core.tool import Tool
from magent_lsp.tools import (
    bash,
    delegate,
    diagnostics,
    edit_file,
    fetch,
    glob,
    grep,
    list_dir,
    read_file,
    skill,
    todo,
    write_file,
)

TOOLS: tuple[Tool, ...] = (
    read_file.TOOL,
    list_dir.TOOL,
    glob.TOOL,
    grep.TOOL,
    edit_file.TOOL,
    write_file.TOOL,
    bash.TOOL,
    fetch.TOOL,
    diagnostics.TOOL,
    todo.TOOL,
    skill.TOOL,
    delegate.TOOL,
)
"""The order is part of the prompt, and so of the provider's cache of it."""


def by_name(tools: Iterable[Tool] = TOOLS) -> Mapping[str, Tool]:
    """The tools by name, in their order."""
    return {tool.name: tool for tool in tools}
