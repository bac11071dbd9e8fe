"""`@path` in a prompt: files that a person names are put beside it, after the rules for reading."""

import asyncio
import json
import re
from pathlib import Path
from typing import Final

from magent_lsp.core.errors import ToolError
from magent_lsp.core.known import more
from magent_lsp.core.tool import Subject
from magent_lsp.engine.executor import Executor
from magent_lsp.engine.permit import Declined, Refused, judge_for
from magent_lsp.engine.run import Run
from magent_lsp.tools.paths import resolve

MOST_FILES: Final = 10
MOST_CHARACTERS: Final = 60_000
"""Of all files together; those that do not fit are left for the model to read."""

_MENTION: Final = re.compile(r"""(?<![\w`@/.])@(?:"([^"\n]{1,500})"|(?!@)([^\s`"'()<>\[\]{}]{1,500}))""")
_TAIL: Final = ".,;:!?…"


def mentions(prompt: str) -> list[str]:
    """What stands behind `@` in a prompt, each once and in order; ``@`x` `` and `a@b.c` do not count."""
    found = (quoted or plain for quoted, plain in _MENTION.findall(prompt))
    return list(dict.fromkeys(found))


async def attach_mentions(run: Run, executor: Executor, prompt: str) -> str:
    """The files of the workspace that a prompt names, as context; whatever else it names stays as it is."""
    parts: list[str] = []
    room = MOST_CHARACTERS
    for mention in mentions(prompt):
        name = await asyncio.to_thread(_existing, run, mention)
        if name is None or len(parts) >= MOST_FILES:
            continue
        if judge_for(run, (Subject(tool="read_file", kind="path", value=name),)).verdict == "deny":
            continue
        try:
            result = await executor.use("read_file", json.dumps({"path": name}))
        except (Refused, Declined, ToolError):
            continue
        if result.failed or len(result.text) > room:
            continue
        room -= len(result.text)
        for path, digest in result.seen:
            run.session.seen[str(path)] = more(run.session.seen.get(str(path)), digest)
        parts.append(f'<file path="{name}">\n{result.text}\n</file>')
    return "\n".join(parts)


def _existing(run: Run, mention: str) -> str | None:
    """The path of a file in the workspace folders as it was written, without punctuation behind it."""
    for name in dict.fromkeys((mention, mention.rstrip(_TAIL))):
        try:
            path = resolve(name, run.place.folders)
            real = run.place.resolve(path)
            if not real.is_file():
                continue
        except (ToolError, OSError, ValueError):
            continue
        roots = [run.place.resolve(folder) for folder in run.place.folders]
        if any(real.is_relative_to(root) for root in roots) and _named_inside(path, run.place.folders):
            return name
    return None


def _named_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
