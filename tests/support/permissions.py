"""A policy and a place to judge in, as the permission tests use them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from magent_lsp.core.request import Scope
from magent_lsp.core.tool import Subject
from magent_lsp.permissions.decision import Decision
from magent_lsp.permissions.defaults import default_layer
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Layer, LayerName, Policy, Rule, Source, parse_permission

FIXTURE: Mapping[str, Any] = {
    "bash": {
        "*": "ask",
        "git status *": "allow",
        "ls *": "allow",
        "echo *": "allow",
        "cat *": "allow",
        "grep *": "allow",
        "find *": "allow",
        "rm *": "deny",
    },
    "read_file": {"*": "allow", ".env": "deny"},
    "edit_file": {"*": "allow", ".env": "deny"},
    "write_file": {"*": "allow", ".env": "deny"},
}


def layer(name: LayerName, permission: Any, *, trusted: bool = True) -> Layer:
    """A layer as it is read from a config."""
    rules, _ = parse_permission(permission, Source(name=f"{name}.yaml"))
    return Layer(name=name, rules=rules, trusted=trusted)


def policy(
    permission: Any = None,
    *more: Layer,
    defaults: bool = True,
    parent: Policy | None = None,
    scope: Scope | None = None,
    sandboxed: bool = False,
    allow: Mapping[str, Any] | None = None,
) -> Policy:
    """The user's permission on top of the defaults."""
    layers = [default_layer()] if defaults else []
    if permission is not None:
        layers.append(layer("user", permission))
    return Policy(
        layers=(*layers, *more),
        parent=parent,
        scope=scope,
        sandboxed=sandboxed,
        headless_allow=_rules(allow) if allow else (),
    )


def _rules(permission: Any) -> tuple[Rule, ...]:
    return parse_permission(permission, Source(name="--allow"))[0]


def place(
    *folders: str,
    links: Mapping[str, str] | None = None,
    own: tuple[str, ...] = (),
    case_insensitive: bool = False,
    cwd: str | None = None,
) -> Place:
    """A workspace; `links` maps paths to where they lead, for everything below them too."""
    known = dict(links or {})

    def resolve(path: Path) -> Path:
        done = Path("/")
        for part in path.parts[1:]:
            if part == "..":
                done = done.parent
                continue
            done /= part
            for _ in range(10):
                if str(done) not in known:
                    break
                target = known[str(done)]
                if target == "loop":
                    raise OSError("too many links")
                done = Path(target)
        return done

    opened = tuple(Path(folder) for folder in folders or ("/ws",))
    return Place(
        folders=opened,
        cwd=Path(cwd) if cwd else opened[0],
        home=Path("/home/u"),
        resolve=resolve,
        own=tuple(map(Path, own)),
        case_insensitive=case_insensitive,
    )


def bash(command: str, rules: Policy | None = None, where: Place | None = None) -> Decision:
    """The decision on a command."""
    subject = Subject(tool="bash", kind="command", value=command)
    return judge([subject], rules if rules is not None else policy(FIXTURE), where or place())


def path(tool: str, value: str, rules: Policy | None = None, where: Place | None = None) -> Decision:
    """The decision on a file."""
    subject = Subject(tool=tool, kind="path", value=value)
    return judge([subject], rules if rules is not None else policy(FIXTURE), where or place())


def named(tool: str, value: str = "", rules: Policy | None = None) -> Decision:
    """The decision on a name, a URL or nothing."""
    kind = "url" if tool == "fetch" else "name" if value else "none"
    return judge([Subject(tool=tool, kind=kind, value=value)], rules or policy(), place())


def commands(text: str) -> list[str]:
    """One a line."""
    return [each.strip() for each in text.strip().splitlines() if each.strip()]
