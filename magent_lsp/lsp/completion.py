"""Completion in chat documents and in the files that configure us; registered for those alone."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pydantic.fields import FieldInfo

from magent_lsp.core.agent import AgentMode
from magent_lsp.core.config import Settings
from magent_lsp.engine.builtins import SUMMARIES
from magent_lsp.lsp.chat import SUFFIX
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.mirror import column_of

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

_AGENT_KEYS = {
    "name": "its name, if not that of the file",
    "description": "when to use it (required)",
    "mode": "primary, subagent or all",
    "model": "provider/name, or inherit",
    "temperature": "of the model",
    "topP": "of the model",
    "maxTurns": "requests to the model in one run",
    "tools": "tools it may use",
    "disallowedTools": "tools it may not use",
    "permission": "tool to verdict, or to a map of pattern to verdict",
    "hidden": "not listed",
    "color": "for clients that show one",
}
_COMMAND_KEYS = {
    "description": "what it does",
    "agent": "the agent that runs it",
    "model": "provider/name",
    "allowed-tools": "restricts the tools",
    "argument-hint": "shown beside its name",
    "subtask": "runs in a subagent",
    "codeAction": "offered as a code action",
    "kind": "the kind of that code action",
}
_SKILL_KEYS = {
    "name": "as its folder is called",
    "description": "when to use it (required)",
    "allowed-tools": "restricts the tools",
}


def complete(edge: "Edge", params: types.CompletionParams) -> list[types.CompletionItem]:
    """What fits at a place; nothing in files that are not ours."""
    uri = params.text_document.uri
    if not is_ours(edge, uri):
        return []
    path = PurePosixPath(unquote(urlsplit(uri).path))
    text = edge.open_line(uri, params.position.line)
    before = text[: column_of(text, params.position.character)]
    if path.name.endswith(SUFFIX):
        return list(_chat(edge, before))
    if path.suffix == ".md":
        return list(_front_matter(edge, uri, path, before, params.position.line))
    if path.stem == "config" and path.suffix in (".yaml", ".yml"):
        return list(_settings(before))
    return []


def _chat(edge: "Edge", before: str) -> Iterator[types.CompletionItem]:
    if re.fullmatch(r"/[\w-]*", before):
        own = {name: command.description for name, command in edge.app.commands().items()}
        for name, description in sorted({**own, **SUMMARIES}.items()):
            yield _item(name, description, types.CompletionItemKind.Function)
    elif re.search(r"(^|\s)@[^\s@]*$", before):
        for document in edge.editor.documents():
            name = _relative(edge, document.path)
            yield _item(name, "", types.CompletionItemKind.File)


def _relative(edge: "Edge", path: Any) -> str:
    holders = [folder for folder in edge.app.folders if path.is_relative_to(folder)]
    return path.relative_to(holders[0]).as_posix() if holders else str(path)


def _front_matter(
    edge: "Edge", uri: str, path: PurePosixPath, before: str, line: int
) -> Iterator[types.CompletionItem]:
    keys = _keys_of(path)
    if not keys or not _in_front_matter(edge, uri, line):
        return
    if re.fullmatch(r"[\w-]*", before):
        for key, meaning in keys.items():
            yield _item(key, meaning, types.CompletionItemKind.Property, insert=f"{key}: ")
    elif re.match(r"mode:\s*\w*$", before):
        for mode in get_args(AgentMode):
            yield _item(mode, "", types.CompletionItemKind.EnumMember)
    elif re.match(r"agent:\s*[\w-]*$", before):
        for agent in edge.app.agents().values():
            if not agent.hidden:
                yield _item(agent.name, agent.description, types.CompletionItemKind.Value)
    elif re.match(r"(tools|disallowedTools|allowed-tools):", before) or re.match(r"\s+[-\w]*$", before):
        for tool in edge.app.tools():
            yield _item(tool.name, tool.description, types.CompletionItemKind.Value)


def _keys_of(path: PurePosixPath) -> dict[str, str]:
    folders = set(path.parts[:-1])
    if path.name == "SKILL.md":
        return _SKILL_KEYS
    if folders & {"agent", "agents"}:
        return _AGENT_KEYS
    return _COMMAND_KEYS if folders & {"command", "commands"} else {}


def _in_front_matter(edge: "Edge", uri: str, line: int) -> bool:
    if edge.open_line(uri, 0).strip().lstrip("\ufeff") != "---":
        return False
    return line > 0 and all(edge.open_line(uri, number).strip() != "---" for number in range(1, line))


def _settings(before: str) -> Iterator[types.CompletionItem]:
    for field in Settings.model_fields.values():
        name = field.alias or ""
        if re.fullmatch(r"\w*", before):
            yield _item(name, field.description or "", types.CompletionItemKind.Property, insert=f"{name}: ")
        elif re.match(rf"{name}:\s*\w*$", before):
            yield from (_item(value, "", types.CompletionItemKind.EnumMember) for value in _values(field))


def _values(field: FieldInfo) -> list[str]:
    if field.annotation is bool:
        return ["true", "false"]
    return [value for value in get_args(field.annotation) if isinstance(value, str)]


def _item(
    label: str, detail: str, kind: types.CompletionItemKind, *, insert: str | None = None
) -> types.CompletionItem:
    first = detail.strip().split("\n", 1)[0]
    return types.CompletionItem(label=label, kind=kind, detail=first or None, insert_text=insert)


def selector(edge: "Edge") -> list[dict[str, str]]:
    """The files for which completion is registered."""
    user = edge.dirs.user.as_posix()
    patterns = (f"**/*{SUFFIX}", "**/.magent/**", f"{user}/**")
    return [{"scheme": "file", "pattern": pattern} for pattern in patterns]


def is_ours(edge: "Edge", uri: str) -> bool:
    """Whether a document is one of those; for clients that ask everywhere."""
    path = to_path(uri)
    if path is None:
        return False
    return path.name.endswith(SUFFIX) or ".magent" in path.parts or path.is_relative_to(edge.dirs.user)
