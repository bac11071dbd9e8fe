"""Keeps what the model sees within bounds."""

import hashlib
from pathlib import Path

MAX_COLUMNS = 2000
"""Longer lines are cut; a minified file would fill the window."""


def bounded(text: str, limit: int, scratch: Path | None) -> str:
    """Head and tail of a text within about `limit` characters; the whole goes to a file in `scratch`.

    The note in the middle says how much is missing and where the whole can be read in pages.
    """
    cut = "\n".join(
        line if len(line) <= MAX_COLUMNS else f"{line[:MAX_COLUMNS]}… [{len(line) - MAX_COLUMNS} more]"
        for line in text.split("\n")
    )
    if len(cut) <= limit:
        return cut
    where = _keep(text, scratch)
    head, tail = cut[: limit * 2 // 3], cut[-(limit // 3) :]
    missing = len(cut) - len(head) - len(tail)
    return f"{head}\n[… {missing} characters left out{where} …]\n{tail}"


def _keep(text: str, scratch: Path | None) -> str:
    if scratch is None:
        return ""
    data = text.encode("utf-8", "replace")
    path = scratch / f"output-{hashlib.sha256(data).hexdigest()[:12]}.txt"
    try:
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)
    except OSError:
        return ""
    return f"; the whole is in {path}, read it in pages with read_file"
