"""Bytes of a file to text and back, without loss: what cannot be decoded strictly is not text."""

import codecs

from magent_lsp.core.document import Encoding
from magent_lsp.core.errors import ToolError

_MARKS: dict[Encoding, bytes] = {
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


def decode(data: bytes, name: str) -> tuple[str, Encoding]:
    """The text without its byte order mark, and the encoding that gives the same bytes again."""
    encoding: Encoding = "utf-8"
    for candidate, mark in _MARKS.items():
        if data.startswith(mark):
            encoding, data = candidate, data[len(mark) :]
            break
    try:
        text = data.decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data[:8192]:
            raise _binary(name) from None
        raise ToolError(
            f"{name!r} is not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}); it is binary or "
            "in another encoding, so it cannot be shown or edited without damage. Convert it to UTF-8 first."
        ) from None
    if "\0" in text:
        raise _binary(name)
    return text, encoding


def encode(text: str, encoding: Encoding, name: str) -> bytes:
    """The bytes of a text in the file's own encoding, with its byte order mark."""
    try:
        data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"The new text of {name!r} holds {text[error.start]!r}, half of a surrogate pair, which no file "
            "can hold. Nothing was changed."
        ) from None
    if "\0" in text:
        raise ToolError(f"The new text of {name!r} holds a NUL character. Nothing was changed.")
    return _MARKS.get(encoding, b"") + data


def _binary(name: str) -> ToolError:
    return ToolError(f"{name!r} is a binary file (it holds NUL bytes); it cannot be shown or edited as text.")
