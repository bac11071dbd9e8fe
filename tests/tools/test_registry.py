"""If these fail, a contract with models and configs is broken, or every request grows."""

import json
import subprocess
import sys

import pytest

from magent_lsp.core.tool import Tool
from magent_lsp.tools.registry import TOOLS, by_name

ORDER = [
    *("read_file", "list_dir", "glob", "grep", "edit_file", "write_file", "bash", "fetch", "diagnostics"),
    *("todo", "skill", "delegate", "message_agent", "wait_agent", "list_agents", "close_agent"),
    *("ask_user", "propose", "done", "editor_eval", "open_buffers"),
]
KINDS = {
    **dict.fromkeys(("read_file", "diagnostics", "open_buffers"), "read"),
    **dict.fromkeys(("list_dir", "glob", "grep"), "search"),
    **dict.fromkeys(("edit_file", "write_file"), "edit"),
    **dict.fromkeys(("todo", "skill"), "think"),
    **{"bash": "execute", "fetch": "fetch"},
    **dict.fromkeys(("delegate", "message_agent", "wait_agent", "list_agents", "close_agent"), "other"),
    **dict.fromkeys(("ask_user", "propose", "done"), "other"),
    "editor_eval": "execute",
}
ARGUMENTS = {
    "read_file": ["path", "offset", "limit"],
    "list_dir": ["path", "depth"],
    "glob": ["pattern", "path"],
    "grep": ["pattern", "path", "glob", "ignore_case", "context", "max_results"],
    "write_file": ["path", "content"],
    "bash": ["command", "timeout", "description"],
    "fetch": ["url", "max_chars"],
    "diagnostics": ["path"],
    "todo": ["items"],
    "skill": ["name", "arguments"],
    "delegate": ["agent", "prompt", "background"],
    "message_agent": ["agent", "message"],
    "wait_agent": ["agent", "timeout"],
    "list_agents": [],
    "close_agent": ["agent"],
    "ask_user": ["question", "options", "multiple"],
    "propose": ["title", "content"],
    "done": ["summary"],
    "open_buffers": [],
}
READ_ONLY = ("read_file", "list_dir", "glob", "grep", "diagnostics", "skill")


def size(tool: Tool) -> int:
    """Bytes of the tool in a request, as most providers get it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return len(json.dumps({"type": "function", "function": function}, ensure_ascii=False).encode())


def test_the_order_is_the_contract_s() -> None:
    assert [tool.name for tool in TOOLS] == ORDER
    assert list(by_name()) == ORDER
    assert {tool.name: tool.kind for tool in TOOLS} == KINDS


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS.items())
def test_the_arguments_are_the_contract_s(name: str, arguments: list[str]) -> None:
    assert list(by_name()[name].parameters["properties"]) == arguments


def test_schemas_are_small_enough_for_slow_models() -> None:
    sizes = {tool.name: size(tool) for tool in TOOLS}
    print(sizes, "all:", sum(sizes.values()), "read-only:", sum(sizes[name] for name in READ_ONLY))
    assert sum(sizes.values()) <= 9_000
    assert sum(sizes[name] for name in READ_ONLY) <= 3_500


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_plain_objects_that_every_provider_takes(tool: Tool) -> None:
    text = json.dumps(tool.parameters)
    assert tool.parameters["type"] == "object"
    assert "$ref" not in text
    assert "anyOf" not in text
    assert 20 < len(tool.description) < 600


def test_importing_the_tools_loads_nothing_heavy() -> None:
    heavy = ("litellm", "httpx", "rich", "prompt_toolkit", "tree_sitter", "html_to_markdown")
    code = f"import sys, magent_lsp.tools.registry; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
