"""Writes the settings of the server into package.json, as settings of VS Code: `python settings.py`."""

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from magent_lsp.core.config import Settings

MANIFEST = Path(__file__).with_name("package.json")

SCOPE = "machine"
"""Of the person's settings only: a repository's own `.vscode/settings.json` could loosen what a project may
only tighten, as by its `.magent/config.yaml`, which the server judges."""

VERDICT = {"enum": ["allow", "ask", "deny"]}
PERMISSION = {
    "anyOf": [
        VERDICT,
        {
            "type": "object",
            "additionalProperties": {"anyOf": [VERDICT, {"type": "object", "additionalProperties": VERDICT}]},
        },
    ]
}

OWN: dict[str, dict[str, Any]] = {
    "magentLsp.server.command": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "scope": "machine",
        "markdownDescription": 'The command that starts the server, such as `["/path/magent-lsp", "serve"]` '
        'or `["python", "-m", "magent_lsp", "serve"]`. Empty: it is looked for in the active Python '
        "environment, on the PATH, and where pipx and uv put programs.",
    },
    "magentLsp.chat.open": {
        "type": "boolean",
        "default": True,
        "scope": "window",
        "markdownDescription": "Show the chat when a run begins.",
    },
    "magentLsp.approvals.diffEditor": {
        "type": "boolean",
        "default": True,
        "scope": "window",
        "markdownDescription": "Open a diff editor when an edit waits for your permission.",
    },
    "magentLsp.trace.server": {
        "type": "string",
        "enum": ["off", "messages", "verbose"],
        "default": "off",
        "scope": "window",
        "markdownDescription": "Log the messages to and from the server, with the text of your files.",
    },
}


def configuration() -> list[dict[str, Any]]:
    """`contributes.configuration` of the manifest."""
    _, schema = models_json_schema([(Settings, "validation")], by_alias=True)
    parts = schema["$defs"]
    settings: dict[str, dict[str, Any]] = {}
    for name, field in parts["Settings"]["properties"].items():
        inner = field.get("$ref") or next(
            (item["$ref"] for item in field.get("allOf", ()) if "$ref" in item), None
        )
        if inner is None:
            settings[f"magentLsp.{name}"] = _property(name, field)
            continue
        for key, part in parts[inner.rpartition("/")[2]]["properties"].items():
            settings[f"magentLsp.{name}.{key}"] = _property(key, part)
    return [{"title": "Editor", "properties": OWN}, {"title": "Agent", "properties": settings}]


def _property(name: str, field: dict[str, Any]) -> dict[str, Any]:
    field = {key: value for key, value in field.items() if key not in ("title", "description")} | {
        "markdownDescription": field["description"]
    }
    choices = field.pop("anyOf", None)
    if name == "permission":
        field |= PERMISSION
    elif choices is not None:
        kinds = [choice["type"] for choice in choices]
        field |= {key: value for choice in choices for key, value in choice.items()} | {"type": kinds}
    if "default" not in field:
        field["default"] = {"object": {}, "array": []}[field["type"]] if name != "permission" else {}
    field.pop("additionalProperties", None)
    return {**field, "scope": SCOPE}


def write() -> None:
    """Bring the manifest up to date."""
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    manifest["contributes"]["configuration"] = configuration()
    MANIFEST.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
