"""The text of a web page's bytes."""

import codecs
import json
import re
import zlib

from magent_lsp.core.errors import ToolError

MAX_HTML = 1_000_000
"""Characters of HTML that are converted; the rest is left out."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.*|.*\+(?:json|xml|yaml)|application/(?:x-)?(?:json|ndjson|jsonlines|xml|javascript|ecmascript"
    r"|typescript|yaml|toml|sh|sql|graphql|csv|python|perl|php|ruby|tex|latex)"
)
_CHARSETS = re.compile(
    r"utf-8|utf-8-sig|utf-16(-[lb]e)?|ascii|iso8859-\d+|cp\d{3,4}|koi8-[ru]|mac-\w+|gb2312|gbk|gb18030"
    r"|big5(hkscs)?|euc_(jp|kr)|shift_jis|cp949|iso2022_jp|hz"
)
"""Python knows others, such as punycode, that take a time without bounds or are no charsets at all."""

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Inflater:
    """Undoes a Content-Encoding, never giving more than was asked for."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(f"The answer is encoded as {encoding!r}, which was not asked for.")
        self._plain = name in ("", "identity")
        self._object = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more; ToolError if the data is damaged."""
        if self._plain:
            return data[:room]
        if room <= 0:
            return b""
        try:
            result = self._object.decompress(data, room)
        except zlib.error as error:
            if self._begun:
                raise ToolError(f"The answer is damaged: {error}.") from error
            self._object = zlib.decompressobj(-zlib.MAX_WBITS)  # `deflate` without its header is common
            self._begun = True
            return self.feed(data, room)
        self._begun = True
        return result


def check_type(content_type: str) -> None:
    """ToolError for a type that is no text; none at all is judged by the content."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind and not _TEXT.fullmatch(kind) and kind not in _HTML:
        raise ToolError(f"The answer is {kind!r}, which is not text. Nothing was read.")


def to_text(body: bytes, content_type: str) -> str:
    """Markdown for HTML, indented JSON for JSON on one line, other text as it is."""
    kind = content_type.partition(";")[0].strip().lower()
    if (
        not kind
        and b"\0" in body[:65_536]
        and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    ):
        raise ToolError("The answer has no type and is not text.")
    text = _decode(body, content_type, is_html=kind in _HTML)
    if kind in _HTML:
        return _markdown(text)
    if "json" in kind and "\n" not in text.strip() and len(text) <= MAX_HTML:
        try:
            return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        except (ValueError, RecursionError):
            return text
    return text


def _decode(body: bytes, content_type: str, *, is_html: bool) -> str:
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(encoding, "replace")
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]{2,40})", content_type, re.IGNORECASE)
    label = named[1] if named else ""
    if not label and is_html and (meta := _META.search(body[:4_096])):
        label = meta[1].decode("ascii", "replace")
    return body.decode(_charset(label), "replace")


def _charset(label: str) -> str:
    try:
        name = codecs.lookup(label or "utf-8").name
    except LookupError:
        return "utf-8"
    if name in ("iso8859-1", "ascii"):
        return "cp1252"  # what browsers take these labels for
    return name if _CHARSETS.fullmatch(name) else "utf-8"


def _markdown(html: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    cut = html[:MAX_HTML]
    content = convert(cut, ConversionOptions(extract_metadata=False)).content
    title = re.search(r"<title[^>]{0,200}>([^<]{1,300})", cut[:50_000], re.IGNORECASE)
    note = (
        f"\n\n[… the page's last {len(html) - MAX_HTML} characters of HTML were left out]"
        if cut != html
        else ""
    )
    heading = f"Title: {' '.join(title[1].split())}\n\n" if title else ""
    return heading + (content or "").strip() + note
