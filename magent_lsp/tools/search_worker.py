"""A plain search in Python, run as a program of its own where there is no ripgrep.

A regular expression of the model can burn any amount of time, so it never runs in the server. Reads one
JSON job from stdin and prints the records that `rg --null --line-number` would. Standard library only.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

MAX_COLUMNS = 8_000
MAX_FILE_BYTES = 64_000_000
_BINARY_PROBE = 65_536
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


def main() -> int:
    """Search what the job names; exit code as ripgrep's."""
    job = json.loads(sys.stdin.buffer.read())
    try:
        pattern = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    out = sys.stdout.buffer
    for name, text in _texts(job):
        for number, mark, line in search(pattern, text.split("\n"), job["context"], job["limit"]):
            shown = line[:MAX_COLUMNS].encode("utf-8", "replace")
            out.write(b"%s\0%d%s%s\n" % (name.encode("utf-8", "surrogateescape"), number, mark, shown))
        out.flush()
    return 0


def _texts(job: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    yield from (("<stdin>", text) for text in job["texts"])
    for name in job["files"]:
        text = _read(Path(name))
        if text is not None:
            yield name, text


def _read(path: Path) -> str | None:
    """A file's text; None if it is binary, too big or cannot be read."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    return None if b"\0" in data[:_BINARY_PROBE] else data.decode("utf-8", "replace")


def search(
    pattern: re.Pattern[str], lines: Sequence[str], context: int, limit: int
) -> Iterator[tuple[int, bytes, str]]:
    """Line number, `:` for a match or `-` for context, and the line, in order."""
    count = len(lines) - 1 if lines and not lines[-1] else len(lines)
    shown = matches = 0
    after = -1
    for index in range(count):
        line = lines[index].rstrip("\r")
        if matches < limit and pattern.search(line):
            matches += 1
            for before in range(max(index - context, shown), index):
                yield before + 1, b"-", lines[before].rstrip("\r")
            yield index + 1, b":", line
            shown, after = index + 1, index + context
        elif index <= after:
            yield index + 1, b"-", line
            shown = index + 1
        elif matches >= limit:
            return


if __name__ == "__main__":
    sys.exit(main())
