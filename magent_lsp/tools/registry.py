"""All tools, in the one order in which models see them."""

from collections.abc import Iterable, Mapping

from magent_lsp.core.tool import Tool
from magent_lsp.tools import (
    ask_user,
    bash,
    close_agent,
    delegate,
    diagnostics,
    done,
    edit_file,
    editor_eval,
    fetch,
    glob,
    grep,
    list_agents,
    list_dir,
    message_agent,
    propose,
    read_file,
    skill,
    todo,
    wait_agent,
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
    message_agent.TOOL,
    wait_agent.TOOL,
    list_agents.TOOL,
    close_agent.TOOL,
    ask_user.TOOL,
    propose.TOOL,
    done.TOOL,
    editor_eval.TOOL,
)
"""The order is part of the prompt, and so of the provider's cache of it."""


def by_name(tools: Iterable[Tool] = TOOLS) -> Mapping[str, Tool]:
    """The tools by name, in their order."""
    return {tool.name: tool for tool in tools}
