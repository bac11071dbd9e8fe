"""The layers of settings that a client sends, merged; pure functions over JSON."""

from collections.abc import Mapping
from typing import Any

SECTION = "magent"

OURS = ("client", "token")
"""Keys of `initializationOptions.magent` that are not settings."""


def split_options(options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(settings, what the client can do) from `initializationOptions`; anything odd counts as empty."""
    ours = options.get(SECTION) if isinstance(options, Mapping) else None
    if not isinstance(ours, Mapping):
        return {}, {}
    client = ours.get("client")
    settings = {str(key): value for key, value in ours.items() if key not in OURS}
    return settings, dict(client) if isinstance(client, Mapping) else {}


def pushed_section(settings: Any, known: frozenset[str]) -> dict[str, Any] | None:
    """Our section in `didChangeConfiguration`, or None if the message only says "something changed".

    Clients push `{"magent": {…}}` or the section alone, which is recognised by the `known` names.
    """
    if not isinstance(settings, Mapping):
        return None
    if SECTION in settings:
        section = settings[SECTION]
        return {str(key): value for key, value in section.items()} if isinstance(section, Mapping) else {}
    if any(key in known for key in settings):
        return {str(key): value for key, value in settings.items()}
    return None


def merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Both layers; the upper one wins, objects are merged, null means "not set"."""
    result = {key: value for key, value in lower.items() if value is not None}
    for key, value in upper.items():
        below = result.get(key)
        if value is None:
            continue
        if isinstance(value, Mapping):
            result[key] = merge(below if isinstance(below, Mapping) else {}, value)
        else:
            result[key] = value
    return result
