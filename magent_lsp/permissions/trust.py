"""What a project's own files could run or loosen, and the hash by which a person's trust is bound to them.

Pure: the caller reads the files. A project is trusted by `digest`; whatever changes it asks again.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from magent_lsp.permissions.rules import Layer, Rule, Source, parse_permission
from magent_lsp.permissions.tables import set_of

IGNORED: Final = set_of("""
    model smallModel apiBase apiKeyCommand modelSettings hooks mcpServers instructions retry timeouts
    contextLimit agent bash edits permissionTimeoutMinutes saveReasoning warmUp log
""")
"""Settings that a project may only make once it is trusted; of `instructions` and `bash` a part is kept."""

TIGHTENING: Final = frozenset({"maxTurns", "maxCostUsd", "maxMinutes", "maxToolOutputChars", "maxHistory"})
"""Limits that an untrusted project may lower, never raise."""

HARMLESS: Final = frozenset({"actions"})
"""Settings that neither run nor loosen anything."""

AGENT_IGNORED: Final = frozenset({"model", "options"})
"""Keys of an agent's front matter that count only in a trusted project."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that trusting a project would bring into force."""

    kind: Literal["runs", "loosens"]
    file: str
    """Relative to the project."""
    text: str
    """A sentence for the person who decides."""


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over names and contents, whatever the order; the same content under another name differs."""
    total = hashlib.sha256()
    for name, content in sorted(files):
        encoded = name.encode("utf-8", "surrogatepass")
        total.update(b"%d:%s%d:" % (len(encoded), encoded, len(content)))
        total.update(content)
    return total.hexdigest()


def config_parts(config: Any, file: str) -> tuple[Part, ...]:
    """What a project's config would run or loosen."""
    if not isinstance(config, Mapping):
        return ()
    parts = [*_running(config, file), *_loosening(config, file)]
    parts += permission_parts(config.get("permission"), file)
    return tuple(parts)


def _running(config: Mapping[Any, Any], file: str) -> Iterable[Part]:
    for event, hook in _commands(config.get("hooks")):
        yield Part(kind="runs", file=file, text=f"At {event} it runs `{hook}`.")
    servers = config.get("mcpServers")
    for name, server in servers.items() if isinstance(servers, Mapping) else ():
        yield Part(kind="runs", file=file, text=f"It starts the MCP server {name!r}: `{_server(server)}`.")
    if command := config.get("apiKeyCommand"):
        yield Part(kind="runs", file=file, text=f"For the API key it runs `{command}`.")


def _loosening(config: Mapping[Any, Any], file: str) -> Iterable[Part]:
    for key in sorted(IGNORED - {"hooks", "mcpServers", "apiKeyCommand", "instructions", "bash"}):
        if key in config:
            yield Part(kind="loosens", file=file, text=f"It sets `{key}` to {config[key]!r}.")
    shell = config.get("bash")
    for key, value in shell.items() if isinstance(shell, Mapping) else ():
        if not _bash_tightens(key, value):
            yield Part(kind="loosens", file=file, text=f"It sets `bash.{key}` to {value!r}.")
    for glob in _texts(config.get("instructions")):
        if leaves_folder(glob):
            yield Part(
                kind="loosens", file=file, text=f"It reads instructions from outside the project: {glob!r}."
            )


def permission_parts(permission: Any, file: str) -> tuple[Part, ...]:
    """The rules that would open something."""
    if permission is None:
        return ()
    rules, _ = parse_permission(permission, Source(name=file))
    return tuple(
        Part(kind="loosens", file=file, text=f"It sets `{rule.tool}: {rule.pattern}` to {rule.verdict}.")
        for rule in rules
        if rule.verdict != "deny"
    )


def agent_parts(front: Any, file: str, name: str, builtin: Iterable[str] = ()) -> tuple[Part, ...]:
    """What an agent of the project would loosen."""
    parts = []
    if name in set(builtin):
        parts.append(Part(kind="loosens", file=file, text=f"It replaces the built-in agent {name!r}."))
    if isinstance(front, Mapping):
        for key in sorted(AGENT_IGNORED & set(map(str, front))):
            parts.append(
                Part(kind="loosens", file=file, text=f"Agent {name!r} sets `{key}` to {front[key]!r}.")
            )
        parts += permission_parts(front.get("permission"), file)
    return tuple(parts)


def command_parts(body: str, file: str, name: str, builtin: Iterable[str] = ()) -> tuple[Part, ...]:
    """What a slash command of the project would run."""
    parts = []
    if name in set(builtin):
        parts.append(Part(kind="loosens", file=file, text=f"It replaces the built-in command /{name}."))
    if "!`" in body:
        parts.append(
            Part(kind="runs", file=file, text=f"/{name} runs shell commands, by the rules for `bash`.")
        )
    return tuple(parts)


def restricted(config: Any) -> dict[str, Any]:
    """The part of a project's config that counts before it is trusted; `permission` is kept whole.

    The caller puts its rules into a layer with `trusted=False`, and takes a limit only where it is lower.
    """
    if not isinstance(config, Mapping):
        return {}
    kept = {key: value for key, value in config.items() if key in TIGHTENING | HARMLESS | {"permission"}}
    shell = config.get("bash")
    if isinstance(shell, Mapping):
        tight = {key: value for key, value in shell.items() if _bash_tightens(key, value)}
        if tight:
            kept["bash"] = tight
    inside = [glob for glob in _texts(config.get("instructions")) if not leaves_folder(glob)]
    if inside:
        kept["instructions"] = inside
    return kept


def restricted_agent(front: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's front matter without what counts only in a trusted project."""
    return {key: value for key, value in front.items() if key not in AGENT_IGNORED}


def project_layer(rules: tuple[Rule, ...], trusted: bool) -> Layer:
    """The project's rules as a layer."""
    return Layer(name="project", rules=rules, trusted=trusted)


def leaves_folder(glob: str) -> bool:
    """Whether a glob can reach a file outside the folder it is written for."""
    path = PurePosixPath(glob.replace("\\", "/"))
    drive = len(glob) > 1 and glob[1] == ":"
    return path.is_absolute() or drive or glob.startswith(("~", "$")) or ".." in path.parts or "{" in glob


def _bash_tightens(key: Any, value: Any) -> bool:
    return (key == "sandbox" and value == "bwrap") or (key == "network" and value is False)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _commands(hooks: Any) -> Iterable[tuple[str, str]]:
    """Event and command of every hook, in our flat form and Claude's nested one."""
    if not isinstance(hooks, Mapping):
        return
    for event, entries in hooks.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, Mapping):
                continue
            nested = entry.get("hooks")
            for each in nested if isinstance(nested, list) else [entry]:
                if isinstance(each, Mapping) and each.get("command"):
                    yield str(event), str(each["command"])


def _server(server: Any) -> str:
    if not isinstance(server, Mapping):
        return repr(server)
    if server.get("url"):
        return str(server["url"])
    arguments = server.get("args")
    words = [server.get("command", ""), *(arguments if isinstance(arguments, list) else [])]
    return " ".join(str(each) for each in words)
