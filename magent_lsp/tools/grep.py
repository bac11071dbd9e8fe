"""`grep`: lines that match a regular expression, in files and in unsaved buffers."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.document import Document
from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools import globs
from magent_lsp.tools.ignore import Ignored
from magent_lsp.tools.output import cut_line
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.search import TIME_LIMIT, Hit, Query, find_rg, search_files, search_text
from magent_lsp.tools.view import View, subjects

_RULES = ("grep", "read_file")
"""Whose rules count: contents are shown, as by read_file."""

FindRg = Callable[[Mapping[str, str]], str | None]


class Input(BaseModel):
    """Arguments of `grep`."""

    pattern: str = Field(min_length=1, description="Regular expression, within one line.")
    path: str = Field(".", description="File or folder.")
    glob: str | None = Field(None, description="Only these files, such as `*.py`.")
    ignore_case: bool = False
    context: int = Field(0, ge=0, le=50, description="Lines around each match.")
    max_results: int = Field(100, ge=1, le=1_000)


def _subjects(input: Input) -> tuple[Subject, ...]:
    return subjects(input.path, *_RULES)


def _title(input: Input) -> str:
    where = f" in {input.path}" if input.path != "." else ""
    return f"Search for {input.pattern!r}{where}"


async def _run(input: Input, context: ToolContext) -> ToolResult:
    return await search(input, context, find_rg)


async def search(input: Input, context: ToolContext, find: FindRg) -> ToolResult:
    """The result, with a given way to find ripgrep."""
    if "\n" in input.pattern:
        raise ToolError("The pattern spans lines, but lines are searched one by one; search for one of them.")
    root = await asyncio.to_thread(resolve, input.path, context.folders)
    sieve = await asyncio.to_thread(_Sieve, input, root, context)
    env = context.environment()
    rg = await asyncio.to_thread(find, env)
    query = Query(
        pattern=input.pattern,
        ignore_case=input.ignore_case,
        context=input.context,
        glob=input.glob,
        limit=input.max_results + 1,
    )
    timed_out = False
    if sieve.on_disk:
        ended = await search_files(query, root, rg=rg, env=env, ignored=sieve.ignored, take=sieve.take)
        timed_out = ended.timed_out
    for document in sieve.buffers:
        name = relative(document.path, sieve.place)
        if document.text:
            ended = await search_text(
                query, document.text, cwd=context.folder, rg=rg, env=env, take=sieve.take_from(name)
            )
            timed_out = timed_out or ended.timed_out
    notes = []
    if timed_out:
        notes.append(f"(stopped after {TIME_LIMIT:g} s; there may be more: narrow it by path or glob)")
    if rg is None:
        notes.append("(searched without ripgrep, which is slower)")
    return ToolResult(text=_text(sieve.groups, sieve.place, context.folder, input.max_results, notes))


class _Sieve:
    """Takes the hits of files that may be shown and whose text on disk is what counts."""

    def __init__(self, input: Input, root: Path, context: ToolContext) -> None:
        self.groups: dict[str, list[Hit]] = {}
        """The hits by file, relative to `place`."""
        view = View(context, root, *_RULES)
        self._is_file = not root.is_dir()
        self.place = root.parent if self._is_file else root
        self.ignored = Ignored(self.place, context.folder)
        self._view = view
        self._matches = globs.matcher(input.glob) if input.glob and not self._is_file else lambda path: True
        self._checks_rules = not self._is_file and (bool(input.glob) or self.ignored.from_above)
        self._limit = input.max_results
        self._count = 0
        self._wanted: dict[str, bool] = {}
        unsaved = view.unsaved()
        self.buffers: list[Document] = [each for each in unsaved if self._is_file or self._fits(each.path)]
        self._replaced = {os.path.realpath(each.path) for each in unsaved}
        self.on_disk = root.exists()
        if not self.on_disk and not self.buffers:
            raise ToolError(f"There is no file or folder {input.path!r}.")

    def _fits(self, path: Path) -> bool:
        name = relative(path, self.place)
        return self._matches(name) and not self.ignored.hides(path)

    def take(self, hit: Hit) -> bool:
        """Keep a hit; False when there are enough."""
        wanted = self._wanted.get(hit.path)
        if wanted is None:
            wanted = self._wanted[hit.path] = self._wants(hit.path)
        if wanted:
            self.groups.setdefault(hit.path, []).append(hit)
            self._count += hit.matches
        return self._count <= self._limit

    def take_from(self, name: str) -> Callable[[Hit], bool]:
        """Keeps the hits of one buffer under its name."""
        hits = self.groups.setdefault(name, [])
        hits.clear()

        def take(hit: Hit) -> bool:
            hits.append(hit._replace(path=name))
            return True

        return take

    def _wants(self, name: str) -> bool:
        path = self.place / name
        if os.path.realpath(path) in self._replaced or not self._view.shows(path):
            return False
        return self._matches(name) and not (self._checks_rules and self.ignored.hides(path))


def _text(groups: Mapping[str, list[Hit]], place: Path, folder: Path, limit: int, notes: list[str]) -> str:
    lines: list[str] = []
    count = 0
    for name in sorted(groups, key=lambda name: name.split("/")):
        shown = relative(place / name, folder)
        last: int | None = None
        for hit in groups[name]:
            if hit.matches and count == limit:
                break
            count += hit.matches
            if last is not None and hit.line > last + 1 and _has_context(groups[name]):
                lines.append("--")
            mark = ":" if hit.matches else "-"
            lines.append(f"{shown}{mark}{hit.line}{mark}{cut_line(hit.text)}")
            last = hit.line
    total = sum(hit.matches for hits in groups.values() for hit in hits)
    if total > limit:
        notes.insert(0, f"(the first {limit} matches; there are more: narrow the pattern, path or glob)")
    return "\n".join([*(lines or ["No match."]), *notes])


def _has_context(hits: list[Hit]) -> bool:
    return any(not hit.matches for hit in hits)


TOOL = Tool(
    name="grep",
    description=(
        "Search file contents, unsaved buffers included; `file:line:content`, context as "
        "`file-line-content`; without what .gitignore hides."
    ),
    input=Input,
    kind="search",
    run=_run,
    subjects=_subjects,
    title=_title,
)
