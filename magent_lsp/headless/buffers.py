"""Open files as an editor holds them: text in memory that a language server may edit and ask to save."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from magent_lsp.core.document import line_starts

Notify = Callable[[str, Any], None]


@dataclass
class Buffer:
    """One open file."""

    path: Path
    text: str
    version: int = 1

    @property
    def uri(self) -> str:
        """The name the server knows it by."""
        return self.path.as_uri()

    @property
    def on_disk(self) -> str:
        """What the disk holds, which may be older."""
        with self.path.open(encoding="utf-8", newline="") as file:
            return file.read()


class Buffers:
    """All open files of one client; every change is told to the server, as an editor does."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._open: dict[str, Buffer] = {}

    def open(self, path: Path, language: str) -> Buffer:
        """Open a file."""
        buffer = Buffer(path, "")
        buffer.text = buffer.on_disk
        self._open[str(path)] = buffer
        item = {"uri": buffer.uri, "languageId": language, "version": buffer.version, "text": buffer.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def type(self, buffer: Buffer, line: int, text: str) -> None:
        """Type text at the beginning of a line, counted from 0."""
        self._change(buffer, [{"range": {"start": _at(line), "end": _at(line)}, "text": text}])

    def apply(self, edit: dict[str, Any]) -> dict[str, Any]:
        """Take a `WorkspaceEdit`; the result says truthfully whether it was applied."""
        changes = edit.get("documentChanges")
        if changes is None:
            changes = [
                {"textDocument": {"uri": uri, "version": None}, "edits": edits}
                for uri, edits in (edit.get("changes") or {}).items()
            ]
        for change in changes:
            document = change.get("textDocument", {})
            buffer = self._open.get(str(path_of(document.get("uri", ""))))
            if buffer is None:
                return {"applied": False, "failureReason": "only edits of open files are taken"}
            if document.get("version") not in (None, buffer.version):
                return {"applied": False, "failureReason": "the buffer has changed since"}
            self._change(buffer, change["edits"])
        return {"applied": True}

    def at(self, uris: Iterable[str]) -> list[Buffer]:
        """The open files among these."""
        found = (self._open.get(str(path_of(uri))) for uri in uris)
        return [buffer for buffer in found if buffer is not None]

    def save(self, uris: Iterable[str]) -> list[str]:
        """Write buffers to the disk; returns those that were saved."""
        saved = []
        for buffer in self.at(uris):
            with buffer.path.open("w", encoding="utf-8", newline="") as file:
                file.write(buffer.text)
            self._notify("textDocument/didSave", {"textDocument": {"uri": buffer.uri}})
            saved.append(buffer.uri)
        return saved

    def _change(self, buffer: Buffer, edits: list[dict[str, Any]]) -> None:
        for edit in sorted(edits, key=_start, reverse=True):
            start, end = (offset(buffer.text, edit["range"][side]) for side in ("start", "end"))
            buffer.text = buffer.text[:start] + edit.get("newText", edit.get("text", "")) + buffer.text[end:]
        buffer.version += 1
        document = {"uri": buffer.uri, "version": buffer.version}
        changes = [{"text": buffer.text}]
        self._notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})


def offset(text: str, position: dict[str, int]) -> int:
    """The offset of an LSP position, whose `character` counts UTF-16 units; clamped to the text."""
    starts = line_starts(text)
    if position["line"] >= len(starts):
        return len(text)
    start, units = starts[position["line"]], 0
    for at in range(start, len(text)):
        if units >= position["character"] or text[at] in "\r\n":
            return at
        units += 2 if ord(text[at]) > 0xFFFF else 1
    return len(text)


def path_of(uri: str) -> Path:
    """The path of a `file:` URI."""
    return Path(url2pathname(urlsplit(uri).path))


def _start(edit: dict[str, Any]) -> tuple[int, int]:
    start = edit["range"]["start"]
    return start["line"], start["character"]


def _at(line: int) -> dict[str, int]:
    return {"line": line, "character": 0}
