"""How long documents and edits take; prints a table: `python tests/benchmarks/bench_documents.py`."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument

from magent_lsp.core.diff import unified_diff
from magent_lsp.core.edits import TextEdits
from magent_lsp.core.errors import EditError, ToolError
from magent_lsp.core.matching import Edit, place
from magent_lsp.core.messages import UserMessage
from magent_lsp.lsp.buffers import Buffers
from magent_lsp.lsp.chat.document import Turn
from magent_lsp.lsp.chat.fences import code_lines
from magent_lsp.lsp.chat.history import agree, remembered
from magent_lsp.lsp.convert import line_edits
from magent_lsp.lsp.documents import Documents, OpenDocument
from magent_lsp.store import disk

LINES = 100_000
URI = "file:///bench.txt"


def long_text(lines: int) -> str:
    """A text like code: indented lines, none like another."""
    return "".join(f"{'    ' * (n % 4)}value_{n} = compute({n}, 'argument')  # line\n" for n in range(lines))


def keystrokes(document: TextDocument, count: int) -> Iterator[float]:
    """Seconds for each of some letters typed in the middle, and now and then a new line."""
    for number in range(count):
        place = types.Position(line=LINES // 2, character=number % 10)
        text = "\n" if number % 10 == 9 else "x"
        change = types.TextDocumentContentChangePartial(range=types.Range(start=place, end=place), text=text)
        start = time.perf_counter()
        document.apply_change(change)
        yield time.perf_counter() - start


async def watched_keystrokes(text: str, count: int) -> list[float]:
    """Seconds for each letter in a document that everything watches that is in place in a server."""
    times = []
    documents = Documents(None)
    buffers = Buffers(lambda: documents)
    with tempfile.TemporaryDirectory() as folder:
        uri = Path(folder, "long.txt").as_uri()
        documents.put_text_document(types.TextDocumentItem(uri, "", 1, text))
        document = documents.open_document(uri)
        assert document is not None
        await buffers.compare(document)
        place = types.Position(line=LINES // 2, character=0)
        change = types.TextDocumentContentChangePartial(range=types.Range(place, place), text="x")
        for version in range(2, count + 2):
            identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
            start = time.perf_counter()
            documents.update_text_document(identifier, change)
            times.append(time.perf_counter() - start)
        buffers.close()
    return times


def show_odd_texts() -> None:
    """Texts on which an algorithm of a worse order would show, beside usual ones of the same length."""
    plain = ["text"] * 20_000
    closed = ["`" * 750 + "x" * (number % 2) for number in range(1500)]
    never = ["`" * length + "x" for length in range(1500, 2, -1)]
    for name, fences in (("that are closed", closed), ("that nothing closes", never)):
        lines = [*fences, *plain]
        show(f"chat: 20,000 lines behind 1,500 fences {name}", timed(partial(code_lines, lines)))
    for name, filling in (("letters", "x"), ("blanks", " "), ("empty lines", "\n")):
        said = f"a{filling * 20_000}b"
        turn, session = Turn(said=said, answer=""), remembered([UserMessage(id="u", text=said)])
        show(f"chat: 20,000 {name} compared with the session", timed(partial(agree, [turn], session, str)))


def timed(work: Callable[[], Any], rounds: int = 5) -> float:
    """Median seconds of a call; errors that say no are part of it."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        with contextlib.suppress(EditError, ToolError):
            work()
        times.append(time.perf_counter() - start)
    return median(times)


def stalls(work: Callable[[], Any]) -> float:
    """The longest time the event loop waits while a thread does the work."""

    async def run() -> float:
        longest, done = 0.0, asyncio.ensure_future(asyncio.to_thread(work))
        while not done.done():
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - start - 0.001)
        return longest

    return asyncio.run(run())


def show(name: str, seconds: float) -> None:
    """One line of the table."""
    print(f"{name:<62} {seconds * 1000:10.3f} ms")


def main() -> None:
    """Measure everything."""
    text = long_text(LINES)
    print(f"{LINES:,} lines, {len(text) / 1e6:.1f} MB")
    show(
        "keystroke in the middle, ours (median of 500)",
        median(keystrokes(OpenDocument(URI, text, 1, ""), 500)),
    )
    show(
        "keystroke in the middle, pygls (median of 20)",
        median(keystrokes(TextDocument(URI, text, 1, ""), 20)),
    )
    watched = asyncio.run(watched_keystrokes(text, 50))
    show("keystroke with all that watches a document (median of 50)", median(watched))
    document = OpenDocument(URI, text, 1, "")

    def type_and_read() -> None:
        list(keystrokes(document, 1))
        assert document.source

    show("keystroke and the whole text read after it, ours", timed(type_and_read))

    small = long_text(10_000)
    lines = small.split("\n")
    old, new = "\n".join(lines[5000:5004]), "\n".join([lines[5000], "new = 1", *lines[5001:5004]])
    show("10,000 lines: one exact edit", timed(lambda: place(small, [Edit(old, new)])))
    crlf = small.replace("\n", "\r\n")
    show("10,000 lines: one exact edit, CRLF", timed(lambda: place(crlf, [Edit(old, new)])))
    deep = "\n".join("  " + line for line in old.split("\n"))
    deep_new = "\n".join("  " + line for line in new.split("\n"))
    show("10,000 lines: one shifted edit", timed(lambda: place(small, [Edit(deep, deep_new)])))
    show(
        "10,000 lines: a missing text, with the nearest lines",
        timed(lambda: place(small, [Edit(old + "!", "x")])),
    )
    many = [Edit(lines[n], lines[n].replace("compute", "get")) for n in range(0, 10_000, 100)]
    show("10,000 lines: 100 edits in one call", timed(lambda: place(small, many)))
    placed = place(small, many)
    edit = TextEdits(path=Path("/x"), replacements=placed.replacements, before=small, after=placed.after)
    show("10,000 lines: those 100 edits as LSP hunks", timed(lambda: line_edits(edit)))
    show("10,000 lines: the diff of 100 edits", timed(lambda: unified_diff(small, placed.after, "f")))
    other = small.replace("compute", "get")
    show("10,000 lines: the diff of a change of every line", timed(lambda: unified_diff(small, other, "f")))
    show("    longest wait of the event loop meanwhile", stalls(lambda: unified_diff(small, other, "f")))
    line = "x" * 10_000_000
    show("one line of 10 MB: an exact edit", timed(lambda: place(line + "end", [Edit("end", "END")])))
    show(
        "    longest wait of the event loop meanwhile",
        stalls(lambda: place(line + "end", [Edit("end", "E")])),
    )
    show("one line of 10 MB: a missing text", timed(lambda: place(line, [Edit("end", "END")])))

    show_odd_texts()

    with tempfile.TemporaryDirectory() as folder:
        huge = Path(folder) / "huge"
        with huge.open("wb") as stream:
            stream.truncate(disk.MAX_BYTES + 1)
        show("50 MB: refusal", timed(lambda: disk.read(huge)))
        file = Path(folder) / "file"
        file.write_text(small)
        show("10,000 lines: read from disk", timed(lambda: disk.read(file)))
        texts = [small, placed.after]

        def write() -> None:
            disk.write(file, before=texts[0], after=texts[1])
            texts.reverse()

        show("10,000 lines: compared and swapped on disk", timed(write))


if __name__ == "__main__":
    main()
