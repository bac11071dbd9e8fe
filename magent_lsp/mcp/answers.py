"""Results of servers' tools as ours."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from magent_lsp.core.messages import Image
from magent_lsp.core.tool import ToolResult
from magent_lsp.tools.output import clean, wrap_lines

LONGEST: Final = 2_000_000
"""Characters that are kept at all; what the model sees of them at once is the settings' business."""
MOST_PICTURES: Final = 8
LARGEST_PICTURE: Final = 5_000_000
"""Characters of base64; providers refuse larger ones."""
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def to_result(answer: Mapping[str, Any]) -> ToolResult:
    """The result of `tools/call`: its texts in order, its pictures, and in words what cannot be shown."""
    texts: list[str] = []
    pictures: list[Image] = []
    content = answer.get("content")
    for block in content if isinstance(content, list) else ():
        for part in _parts(block):
            if isinstance(part, str):
                texts.append(clean(part))
            elif len(pictures) < MOST_PICTURES:
                pictures.append(part)
            else:
                texts.append(f"[a further picture, {part.media_type}, is left out]")
    structured = answer.get("structuredContent")
    if structured is not None and not _says(texts, structured):
        texts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    failed = answer.get("isError") is True
    text = wrap_lines(_cut("\n".join(texts)))
    if failed and not text.strip():
        text = "The tool failed and did not say why."
    return ToolResult(text=text, failed=failed, images=tuple(pictures))


def _parts(block: Any) -> Iterator[str | Image]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    match kind:
        case "text":
            yield str(block.get("text", ""))
        case "image":
            yield _picture(block.get("mimeType"), block.get("data"))
        case "audio":
            yield f"[audio, {block.get('mimeType')}, cannot be shown]"
        case "resource_link":
            title = block.get("title") or block.get("name") or ""
            yield f"[resource {title}: {block.get('uri')}]"
        case "resource":
            yield from _resource(block.get("resource"))
        case _:
            yield f"[content of the kind {kind!r} cannot be shown]"


def _resource(resource: Any) -> Iterator[str | Image]:
    found = resource if isinstance(resource, Mapping) else {}
    uri = found.get("uri")
    if isinstance(found.get("text"), str):
        yield f"[resource {uri}]\n{found['text']}"
    elif found.get("mimeType") in _PICTURES:
        yield _picture(found.get("mimeType"), found.get("blob"))
    else:
        yield f"[resource {uri}, {found.get('mimeType')}, cannot be shown]"


def _picture(media_type: Any, data: Any) -> str | Image:
    if media_type not in _PICTURES or not isinstance(data, str):
        return f"[a picture of the kind {media_type!r} cannot be shown]"
    if len(data) > LARGEST_PICTURE:
        return f"[a picture of {len(data) * 3 // 4:,} bytes is too large]"
    return Image(media_type=media_type, data=data)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[… {len(text) - LONGEST} further characters were not kept]"


def _says(texts: list[str], structured: Any) -> bool:
    """Whether a text is the same value: as JSON, which servers give for older clients, or as it is."""
    if isinstance(structured, Mapping) and len(structured) == 1 and "\n".join(texts) in structured.values():
        return True
    for text in texts:
        try:
            if json.loads(text) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False
