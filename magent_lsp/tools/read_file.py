"""`read_file`: the numbered lines of a file, or a picture."""

import asyncio
import base64
import os
import stat
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.document import Document, split_lines
from magent_lsp.core.errors import ToolError
from magent_lsp.core.known import shown
from magent_lsp.core.messages import Image
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools.output import cut_line
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.reading import read, work

LINES = 2000
"""Lines that are shown if the call names no limit."""

MAX_IMAGE_BYTES = 3_750_000
"""Larger pictures are refused: providers take 5 MB of Base64 at most."""

_ROOM = 500
"""Characters kept free for the notes after the lines."""

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_IMAGE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Input(BaseModel):
    """Arguments of `read_file`."""

    path: str
    offset: int = Field(1, ge=1, description="First line, from 1.")
    limit: int = Field(LINES, ge=1, description="Number of lines.")


async def _run(input: Input, context: ToolContext) -> ToolResult:
    path = resolve(input.path, context.folders)
    if path.suffix.lower() in _IMAGE_NAMES:
        name = relative(path, context.folder)
        image = await asyncio.to_thread(_image, path, name)
        if image is not None:
            return ToolResult(text=f"{name} is a picture ({image.media_type}).", images=(image,))
    document = await read(path, context)
    limit = max(context.settings.max_tool_output_chars - _ROOM, _ROOM)
    name = relative(path, context.folder)
    return await work(len(document.text), _show, document, input, limit, name)


def _show(document: Document, input: Input, limit: int, name: str) -> ToolResult:
    lines = split_lines(document.text)
    notes = ["It is the editor's text, which is not saved yet."] if document.unsaved else []
    if not lines:
        text = " ".join([f"{name!r} is empty.", *notes])
        return ToolResult(text=text, seen=((document.path, document.digest),))
    if input.offset > len(lines):
        raise ToolError(f"{name!r} has {len(lines)} lines; offset {input.offset} is behind its end.")
    texts: list[str] = []
    whole: list[int] = []
    size = 0
    for number in range(input.offset, min(input.offset + input.limit, len(lines) + 1)):
        line = lines[number - 1].rstrip("\r\n")
        cut = cut_line(line)
        size += len(cut) + 8
        if texts and size > limit:
            break
        texts.append(f"{number:>6}\t{cut}")
        if len(cut) == len(line):
            whole.append(number)
    last = input.offset + len(texts) - 1
    if last < len(lines):
        notes.append(f"Lines {input.offset}-{last} of {len(lines)}; go on with offset={last + 1}.")
    elif input.offset > 1:
        notes.append(f"Lines {input.offset}-{last} of {len(lines)}, to the end.")
    text = "\n".join(texts)
    return ToolResult(
        text=f"{text}\n\n[{' '.join(notes)}]" if notes else text,
        seen=((document.path, shown(document.digest, whole, len(lines))),),
    )


def _image(path: Path, name: str) -> Image | None:
    """The picture in a file; None if there is no file or no picture in it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        head = stream.read(12)
        kind = next((kind for magic, kind in _IMAGES.items() if head.startswith(magic)), None)
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            kind = "image/webp"
        if kind is None:
            return None
        if status.st_size > MAX_IMAGE_BYTES:
            raise ToolError(
                f"The picture {name!r} is too large to be looked at ({status.st_size / 1e6:.1f} MB; at most "
                f"{MAX_IMAGE_BYTES / 1e6:.2f} MB); make a smaller copy of it."
            )
        data = head + stream.read(MAX_IMAGE_BYTES)
    return Image(media_type=kind, data=base64.b64encode(data).decode("ascii"))


def _subjects(input: Input) -> tuple[Subject, ...]:
    return (Subject(tool="read_file", kind="path", value=input.path),)


TOOL = Tool(
    name="read_file",
    description=(
        "Read a file: its lines with their numbers (the numbers and the tab are not part of the text), with "
        "the unsaved text of the user's editor if the file is open there. Long files come in pages: use "
        "offset and limit. Pictures (PNG, JPEG, GIF, WebP) are shown as such."
    ),
    input=Input,
    kind="read",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"Read {input.path}",
)
