"""What a server says of a tool, and what stands for it in a grant."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from magent_lsp.core.diff import reveal
from magent_lsp.core.errors import UserError
from magent_lsp.mcp.entry import Entry
from magent_lsp.mcp.names import tool_name
from magent_lsp.mcp.schema import fit
from magent_lsp.tools.output import clean

LONGEST: Final = 2_000
"""Characters of a description that the model is shown."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One tool of a server, as it is now."""

    name: str
    """As the server calls it."""
    tool: str
    """As models and rules call it."""
    description: str
    schema: Mapping[str, Any]
    reads: bool
    """The server says that it changes nothing; nobody has seen to that."""
    destroys: bool
    """The server says that it may destroy something."""
    digest: str
    """Stands for all that the server says of it, and for the server itself."""


def define(entry: Entry, said: Any) -> Definition:
    """A definition out of one item of `tools/list`; UserError says why it cannot be offered."""
    name = said.get("name") if isinstance(said, Mapping) else None
    if not isinstance(name, str) or not name:
        raise UserError("it has no name")
    schema, note = fit(said.get("inputSchema", {}))
    hints = said.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    reads = hints.get("readOnlyHint") is True
    return Definition(
        name=name,
        tool=tool_name(entry.prefix, name),
        description=_described(entry, said.get("description"), note),
        schema=schema,
        reads=reads,
        destroys=not reads and hints.get("destructiveHint") is True,
        digest=_digest(entry, said),
    )


def define_all(
    entry: Entry, said: Sequence[Any], most: int
) -> tuple[Mapping[str, Definition], tuple[str, ...]]:
    """The definitions by name, in an order that stays, and what is left out and why."""
    found: dict[str, Definition] = {}
    left_out: list[str] = []
    for item in said[:most]:
        try:
            definition = define(entry, item)
        except UserError as error:
            name = item.get("name") if isinstance(item, Mapping) else None
            left_out.append(f"{on_one_line(name, 60)!r}: {error}")
            continue
        found.setdefault(definition.name, definition)
    if len(said) > most:
        left_out.append(f"all after the first {most}")
    # some servers list them in another order each time, which would cost the provider's cache
    return {name: found[name] for name in sorted(found)}, tuple(left_out)


def on_one_line(text: object, most: int = 300) -> str:
    """A server's words for people: short, on one line, with nothing hidden in them."""
    line = " ".join(reveal(clean(str(text)[: 2 * most])).split())
    return line if len(line) <= most else f"{line[:most]}…"


def _described(entry: Entry, said: Any, note: str) -> str:
    """The description as data: bounded, with nothing hidden in it, and unable to end a part of our prompt."""
    text = reveal(clean(said[: 2 * LONGEST])) if isinstance(said, str) else ""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…"
    parts = [text.strip(), note, f"(A tool of the MCP server {entry.name!r}.)"]
    return "\n".join(part for part in parts if part).replace("</", "<\N{DIVISION SLASH}")


def _digest(entry: Entry, said: Mapping[str, Any]) -> str:
    """The hash of everything but what is only for the eye or for the result."""
    parts = [
        entry.identity,
        {key: said.get(key) for key in ("name", "description", "inputSchema", "annotations")},
    ]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return f"definition-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
