"""Input schemas of servers' tools, made fit for every provider: one that is refused fails a request."""

import json
from collections.abc import Mapping
from typing import Any, Final

from magent_lsp.core.errors import UserError

LARGEST: Final = 20_000
"""Characters; every request carries the schema."""

_AT_ROOT: Final = ("anyOf", "oneOf", "allOf", "not", "enum", "if", "then", "else")
"""Refused by some providers at the top of a schema, and only there."""


def fit(schema: Any) -> tuple[dict[str, Any], str]:
    """The schema, and what it no longer says, in words for the model; UserError if there is no way."""
    if not isinstance(schema, Mapping):
        raise UserError("its input schema is no object")
    if schema.get("type", "object") != "object":
        raise UserError(f"its input is {str(schema['type'])[:40]!r}, but arguments are always an object")
    if len(json.dumps(schema)) > LARGEST:
        raise UserError(f"its input schema is longer than {LARGEST} characters")
    taken_out = {key: schema[key] for key in _AT_ROOT if key in schema}
    result = {key: value for key, value in schema.items() if key not in taken_out and key != "$schema"}
    properties = dict(result.get("properties") or {}) if isinstance(result.get("properties"), dict) else {}
    for key in ("anyOf", "oneOf", "allOf"):
        branches = taken_out.get(key)
        for branch in branches if isinstance(branches, list) else ():
            for name, value in _properties(branch, schema).items():
                properties.setdefault(name, value)
    note = f"The arguments must also fit this schema: {json.dumps(taken_out)[:2000]}" if taken_out else ""
    return {**result, "type": "object", "properties": properties}, note


def lacking(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments as far as names go, in words; the server looks at the rest."""
    properties = schema.get("properties") or {}
    required = schema.get("required")
    missing = [name for name in required or () if name not in arguments] if isinstance(required, list) else []
    unknown: list[str] = []
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        unknown = [name for name in arguments if name not in properties]
    parts = [f"missing: {', '.join(map(str, missing))}"] if missing else []
    parts += [f"unknown: {', '.join(unknown)}"] if unknown else []
    return "; ".join(parts)


def _properties(branch: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of one of several forms, which may be a reference into the schema itself."""
    reference = branch.get("$ref") if isinstance(branch, Mapping) else None
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = root.get("$defs")
        branch = (
            definitions.get(reference.removeprefix("#/$defs/")) if isinstance(definitions, Mapping) else {}
        )
    found = branch.get("properties") if isinstance(branch, Mapping) else None
    return found if isinstance(found, Mapping) else {}
