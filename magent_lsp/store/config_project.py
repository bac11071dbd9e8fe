"""What of a project's own settings counts, before and after the project is trusted."""

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from magent_lsp.core.config import Actions, Settings
from magent_lsp.store.config_values import Values, fields_of, section_of
from magent_lsp.store.data import Keys

_SECRET = re.compile(
    r"(api|access|secret|private|auth|session|bearer|azuread|refresh)(key|token)(id)?$"
    r"|(secret|password|credentials?|authorization)$|^(key|token)$"
)
_ORDER = ("always", "ask", "never")


def _lower(new: Any, now: Any) -> bool:
    return now is None or float(new) < float(now)


TIGHTENS: Mapping[Keys, Callable[[Any, Any], bool]] = {
    ("maxTurns",): _lower,
    ("maxCostUsd",): _lower,
    ("maxMinutes",): _lower,
    ("maxHistory",): _lower,
    ("maxToolOutputChars",): _lower,
    ("contextLimit",): _lower,
    ("permissionTimeoutMinutes",): _lower,
    ("bash", "timeoutSeconds"): _lower,
    ("bash", "sandbox"): lambda new, now: new == "bwrap",
    ("bash", "network"): lambda new, now: not new,
    ("edits", "saveBeforeCommands"): lambda new, now: _ORDER.index(new) >= _ORDER.index(now),
    ("saveReasoning",): lambda new, now: not new,
    ("serveMcp",): lambda new, now: not new,
    **{("actions", name): lambda new, now: not new for name in fields_of(Actions)},
}
"""The settings that an untrusted project may give, each with (new, now) -> whether that is stricter."""


def tightened(values: Values, below: Values) -> tuple[Values, tuple[Keys, ...]]:
    """The values of an untrusted project that only tighten what is below, and the keys that are ignored."""
    now = Settings.model_validate(below).model_dump(by_alias=True)
    kept: Values = {}
    ignored: list[Keys] = []
    for keys, value in _leaves(values):
        if keys == ("instructions",):
            inside = [glob for glob in value if stays_inside(glob)]
            if inside:
                kept["instructions"] = inside
            if inside != value:
                ignored.append(keys)
            continue
        current = now[str(keys[0])] if len(keys) == 1 else now[str(keys[0])][keys[1]]
        if value == current:
            continue
        stricter = TIGHTENS.get(keys)
        if stricter is None or not stricter(value, current):
            ignored.append(keys)
        elif len(keys) == 1:
            kept[str(keys[0])] = value
        else:
            kept.setdefault(str(keys[0]), {})[str(keys[1])] = value
    return kept, tuple(ignored)


def _leaves(values: Values) -> list[tuple[Keys, Any]]:
    sections = {key for key, field in fields_of(Settings).items() if section_of(field)}
    result: list[tuple[Keys, Any]] = []
    for key, value in values.items():
        if key in sections:
            result += [((key, inner), item) for inner, item in value.items()]
        else:
            result.append(((key,), value))
    return result


def without_secrets(options: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Options for a provider without API keys and the like, and the names that were taken out."""
    secret = tuple(key for key in options if _SECRET.search(key.replace("_", "").replace("-", "").lower()))
    return {key: value for key, value in options.items() if key not in secret}, secret


def stays_inside(glob: str) -> bool:
    """Whether a glob of instruction files cannot leave the project by its text."""
    parts = PurePosixPath(glob.replace("\\", "/")).parts
    absolute = glob.startswith(("~", "/", "\\")) or bool(PureWindowsPath(glob).drive)
    return not absolute and ".." not in parts and "\0" not in glob
