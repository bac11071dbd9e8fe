"""Searching files and texts with ripgrep, else with a slower program of our own."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from magent_lsp.core.errors import ToolError
from magent_lsp.tools import process
from magent_lsp.tools.ignore import ALWAYS, Ignored, walk

TIME_LIMIT = 20.0
"""Seconds; then what was found so far is the result."""

_RECORD = re.compile(rb"(?P<path>[^\0]+)\0(?P<line>\d+)(?P<mark>[:-])(?P<text>.*)", re.DOTALL)
_WALK = (
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-messages",
    "--no-ignore-messages",
    "--sort=path",
)
"""Rules of folders above are checked by us, since ripgrep would read them up to the root of the disk."""

_WORKER = Path(__file__).with_name("search_worker.py")


@dataclass(frozen=True, kw_only=True)
class Query:
    """What to look for."""

    pattern: str
    ignore_case: bool = False
    context: int = 0
    glob: str | None = None
    limit: int = 100
    """The most matching lines that are wanted of one file."""
    seconds: float = TIME_LIMIT


class Hit(NamedTuple):
    """A line that matches, or one near it."""

    path: str
    """Relative to the search's root."""
    line: int
    text: str
    matches: bool


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a search ended."""

    timed_out: bool = False


def find_rg(env: Mapping[str, str]) -> str | None:
    """The ripgrep installed with this Python, else the one on PATH."""
    bundled = shutil.which("rg", path=str(Path(sys.executable).parent))
    found = bundled or shutil.which("rg", path=env.get("PATH"))
    return found if found and Path(found).is_absolute() else None


async def search_files(
    query: Query,
    root: Path,
    *,
    rg: str | None,
    env: Mapping[str, str],
    ignored: Ignored,
    take: Callable[[Hit], bool],
) -> Ended:
    """Search a file or all files below a folder, in the order of their paths, until `take` returns False.

    `take` runs in a thread. Raises ToolError for a bad pattern.
    """
    is_file = await asyncio.to_thread(root.is_file)
    place = root.parent if is_file else root
    if rg is not None:
        globs = [query.glob] if query.glob and not is_file else []
        target = f"./{root.name}" if is_file else "./"
        argv = [rg, *_WALK, *_globs(globs), *_matching(query), target]
        return await _run(argv, place, env, b"", query, take)
    files = [root.name] if is_file else await asyncio.to_thread(_list, root, ignored)
    return await _run(_worker(), place, env, _job(query, files=files), query, take)


async def search_text(
    query: Query, text: str, *, cwd: Path, rg: str | None, env: Mapping[str, str], take: Callable[[Hit], bool]
) -> Ended:
    """Search a text that is not on disk; the hits have no useful path."""
    if rg is None:
        return await _run(_worker(), cwd, env, _job(query, texts=[text]), query, take)
    data = text.encode("utf-8", "replace")
    return await _run([rg, "--no-config", *_matching(query), "-"], cwd, env, data or b"\n", query, take)


async def list_files(root: Path, *, rg: str | None, env: Mapping[str, str], ignored: Ignored) -> list[str]:
    """The files below a folder that are not ignored, relative to it."""
    if rg is None:
        return await asyncio.to_thread(_list, root, ignored)
    argv = [rg, *_WALK, *_globs([]), "--files", "--null"]
    found: list[str] = []

    def take(names: Sequence[bytes]) -> bool:
        found.extend(map(_name, names))
        return True

    ended = await _records(argv, root, env, b"", b"\0", take)
    if ended.code == 2 and ended.err and not found:
        raise ToolError(f"ripgrep failed: {ended.err}.")
    return found


def _globs(globs: Sequence[str]) -> list[str]:
    """The last one that matches decides."""
    return [f"--glob={glob}" for glob in (*globs, *(f"!{name}" for name in sorted(ALWAYS)))]


def _matching(query: Query) -> list[str]:
    words = ["--null", "--line-number", "--with-filename", "--no-heading", "--color=never", "--crlf"]
    words += ["--engine=auto", "--max-columns=8000", "--max-columns-preview", f"--max-count={query.limit}"]
    if query.ignore_case:
        words.append("--ignore-case")
    if query.context:
        words.append(f"--context={query.context}")
    return [*words, f"--regexp={query.pattern}", "--"]


def _worker() -> list[str]:
    return [sys.executable, "-I", "-S", str(_WORKER)]


def _job(query: Query, *, files: Sequence[str] = (), texts: Sequence[str] = ()) -> bytes:
    job = {
        "pattern": query.pattern,
        "ignore_case": query.ignore_case,
        "context": query.context,
        "limit": query.limit,
        "files": files,
        "texts": texts,
    }
    return json.dumps(job).encode()


def _list(root: Path, ignored: Ignored) -> list[str]:
    start = len(str(root).rstrip("/")) + 1
    return [entry.path[start:] for entry in walk(root, ignored)]


async def _run(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    query: Query,
    take: Callable[[Hit], bool],
) -> Ended:
    def take_all(records: Sequence[bytes]) -> bool:
        return all(take(hit) for hit in map(_hit, records) if hit is not None)

    ended = await _records(argv, cwd, env, stdin, b"\n", take_all, query.seconds)
    if ended.code == 2 and ended.err:
        raise ToolError(
            f"The pattern {query.pattern!r} cannot be searched for: {ended.err}\n"
            "Escape special characters with a backslash to search for them as they are."
        )
    return Ended(timed_out=ended.code is None)


class _RecordsEnded(NamedTuple):
    code: int | None
    """None: stopped by the time limit; 0 also when enough was taken."""
    err: str


async def _records(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    end: bytes,
    take: Callable[[Sequence[bytes]], bool],
    seconds: float = TIME_LIMIT,
) -> _RecordsEnded:
    """Run a program and hand on its records, many at a time, in a thread, until `take` returns False."""
    async with process.piped(argv, cwd=cwd, env=env, stdin=stdin) as running:
        errors = asyncio.create_task(process.first(running.err, 4_000))
        try:
            async with asyncio.timeout(seconds):
                rest = b""
                while data := await running.out.read(1 << 16):
                    *records, rest = (rest + data).split(end)
                    if records and not await asyncio.to_thread(take, records):
                        return _RecordsEnded(0, "")
                code = await running.process.wait()
                text = (await errors).decode("utf-8", "replace")
        except TimeoutError:
            return _RecordsEnded(None, "")
        finally:
            errors.cancel()
    return _RecordsEnded(code, text.replace("rg: ", "").strip())


def _hit(record: bytes) -> Hit | None:
    match = _RECORD.fullmatch(record)
    if match is None:
        return None  # `--` between groups, a note about a binary file
    text = match["text"].rstrip(b"\r").decode("utf-8", "replace")
    return Hit(_name(match["path"]), int(match["line"]), text, match["mark"] == b":")


def _name(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape").removeprefix("./")
