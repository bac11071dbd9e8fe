"""What a project's own config would allow or run, in words, for the person who is asked to trust it."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeGuard

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.agents import load_agents
from magent_lsp.store.commands import load_commands
from magent_lsp.store.config_project import tightened
from magent_lsp.store.config_values import check
from magent_lsp.store.data import Data, parse_json, parse_yaml
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.expansion import shell_lines
from magent_lsp.store.files import check_within, read_text
from magent_lsp.store.hooks import Hook, parse_hooks
from magent_lsp.store.permission import read_permission
from magent_lsp.store.skills import load_skills

_PLAIN: Final = re.compile(r"""[^\s'"`\\]+""")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that trust would bring into force."""

    path: str
    """The file, relative to the project."""
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.path})"


def items(folder: Path, files: Sequence[Path], dirs: Dirs) -> tuple[Item, ...]:
    """Everything, the most dangerous first: what runs, where data goes, what is allowed, what is loaded."""
    found: list[Item] = []
    mentioned: set[Path] = set()

    def add(path: Path, text: str) -> None:
        mentioned.add(path)
        found.append(Item(path=_name(path, folder), text=_visible(text)))

    for path in files:
        if path.name == ".mcp.json" or path.parent == folder / ".magent":
            for text in _of_config(path):
                add(path, text)
    for path in files:
        if path not in mentioned and path.parent != folder / ".magent" and not _is_definition(path):
            where = "" if stays(path, folder) else f", a link to {path.resolve()}"
            add(path, f"use the file {_name(path, folder)}{where}")
    _definitions(folder, dirs, add)
    for path in files:
        if path not in mentioned:
            add(path, "read this file")
    return tuple(found)


def _is_definition(path: Path) -> bool:
    return path.suffix == ".md" and path.name not in ("AGENTS.md", "CLAUDE.md")


def _definitions(folder: Path, dirs: Dirs, add: Any) -> None:
    """Agents, commands and skills of the project."""
    own = {name for name, agent in load_agents(None, dirs, True).agents.items()}
    registry = load_agents(folder, dirs, True)
    for agent in registry.agents.values():
        if agent.source is None or not agent.source.is_relative_to(folder):
            continue
        how = "replace" if agent.name in own else "add"
        model = f", with the model {agent.model!r}" if agent.model else ""
        add(agent.source, f"{how} the agent {agent.name!r}{model}")
        for rule in registry.layers[agent.name].rules:
            if rule.verdict == "allow":
                add(agent.source, f"let the agent {agent.name!r} use {rule.tool}: {rule.pattern}")
    for command in load_commands(folder, dirs, True).commands.values():
        if command.source.is_relative_to(folder):
            shell = shell_lines(command.template)
            who = f", for the agent {command.agent!r}" if command.agent else ""
            model = f", with the model {command.model!r}" if command.model else ""
            runs = f", which runs {'; '.join(f'`{line}`' for line in shell)}" if shell else ""
            add(command.source, f"add the command /{command.name}{who}{model}{runs}")
    for skill in load_skills(folder, dirs, True).skills.values():
        if skill.path.is_relative_to(folder):
            add(skill.path, f"add the skill {skill.name!r}")


def _of_config(path: Path) -> Iterator[str]:
    """What one config file, or `.mcp.json`, would do."""
    data = _parsed(path)
    value = data.value
    if not isinstance(value, dict):
        return
    if path.name == ".mcp.json":
        yield from _servers(value.get("mcpServers", value))
        return
    values, _ = check(value, data=data, path=path)
    for hook in parse_hooks(values.get("hooks", {}), path, data)[0]:
        matched = f" of {hook.matcher}" if hook.matcher else ""
        yield f"run `{hook.command}` at {hook.event}{matched}"
    yield from _servers(values.get("mcpServers"))
    if "apiKeyCommand" in values:
        yield f"run `{values['apiKeyCommand']}` to get the API key"
    for rule in read_permission(data, ("permission",), str(path))[0]:
        if rule.verdict == "allow":
            yield f"allow {rule.tool}: {rule.pattern}"
    for keys in tightened(values, {})[1]:
        if keys[0] in ("hooks", "mcpServers", "apiKeyCommand"):
            continue
        item = values[str(keys[0])]
        for key in keys[1:]:
            item = item[key]
        yield f"set {'.'.join(map(str, keys))} to {item!r}"


def _servers(servers: Any) -> Iterator[str]:
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict):
            continue
        if server.get("command"):
            where = f" in {server['cwd']}" if server.get("cwd") else ""
            line = " ".join([*_settings(server), *_quoted(server)])
            yield f"start the MCP server {name!r}{where}: `{line}`"
        elif server.get("url"):
            headers = server.get("headers")
            sent = ", ".join(f"{key}: {value}" for key, value in headers.items()) if _is_map(headers) else ""
            more = f", and send it {sent}" if sent else ""
            yield f"connect to the MCP server {name!r} at {server['url']}{more}"


def _is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and bool(value)


def _settings(server: dict[str, Any]) -> list[str]:
    """The variables of a server, which can run code as well as its command can."""
    env = server.get("env")
    return [f"{key}={_apart(str(value))}" for key, value in env.items()] if _is_map(env) else []


def _quoted(server: dict[str, Any]) -> list[str]:
    return [_apart(word) for word in _words(server)]


def _apart(word: str) -> str:
    """A word that cannot be taken for two; `${NAME}` stays as it is, since it is expanded."""
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)


def _words(server: dict[str, Any]) -> list[str]:
    args = server.get("args")
    return [str(server.get("command", "")), *(map(str, args) if isinstance(args, list) else ())]


def _parsed(path: Path) -> Data:
    """A config file's data; empty if it cannot be read, in which case nothing of it counts either."""
    try:
        text = read_text(path)
        return parse_json(text) if path.suffix == ".json" else parse_yaml(text)
    except (ConfigError, FileNotFoundError):
        return Data()


def scripts(folder: Path, configs: Sequence[Path]) -> Iterator[Path]:
    """Files of the project that its hooks, servers and key command name, as far as one can see."""
    for path in configs:
        value = _parsed(path).value
        if not isinstance(value, dict):
            continue
        hooks: tuple[Hook, ...] = parse_hooks(value["hooks"])[0] if value.get("hooks") else ()
        words = [word for hook in hooks for word in _split(hook.command)]
        words += _split(value.get("apiKeyCommand"))
        servers = value.get("mcpServers", value if path.name == ".mcp.json" else None)
        for server in servers.values() if isinstance(servers, dict) else ():
            words += _words(server) if isinstance(server, dict) else ()
        for word in words:
            script = _inside(folder, word)
            if script is not None:
                yield script


def _split(command: Any) -> list[str]:
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command, comments=False)
    except ValueError:
        return command.split()


def _inside(folder: Path, word: str) -> Path | None:
    """The file of the project that a word of a command names, if it does."""
    for variable in ("$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}", "$PWD", "${PWD}"):
        word = word.replace(variable, ".")
    word = word.strip("\"';&|()").rpartition("=")[2]
    if not word or "\0" in word or len(word) > 1000:
        return None
    path = Path(word) if Path(word).is_absolute() else folder / word
    try:
        inside = path.is_file() and path.resolve().is_relative_to(folder.resolve())
        return folder / path.resolve().relative_to(folder.resolve()) if inside else None
    except (OSError, ValueError, RuntimeError):
        return None


def stays(path: Path, folder: Path) -> bool:
    """Whether the real place of a path is in the folder."""
    try:
        check_within(path, folder)
    except ConfigError:
        return False
    return True


def _name(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def _visible(text: str) -> str:
    """The text on one line, with what cannot be seen or changes the direction escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
