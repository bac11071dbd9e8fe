"""`bash`: run a shell command in the workspace folder."""

import asyncio
import contextlib
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.document import Document
from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext, ToolResult
from magent_lsp.tools import process, sandbox
from magent_lsp.tools.output import clean, cut_lines, head_and_tail
from magent_lsp.tools.paths import relative

_ROOM = 1_000
"""Characters kept free for the notes after the output."""


class Input(BaseModel):
    """Arguments of `bash`."""

    command: str = Field(min_length=1)
    timeout: float | None = Field(None, gt=0, le=86_400, description="Seconds.")
    description: str = Field("", description="What it does, in a few words.")


def _subjects(input: Input) -> tuple[Subject, ...]:
    return (Subject(tool="bash", kind="command", value=input.command),)


def _title(input: Input) -> str:
    first, _, more = input.command.strip().partition("\n")
    line = first if len(first) <= 80 else first[:79] + "…"
    return f"Run {line}{' …' if more and not line.endswith('…') else ''}"


async def _run(input: Input, context: ToolContext) -> Proposal:
    if not input.command.strip():
        raise ToolError("The command is empty.")
    if "\0" in input.command:
        raise ToolError("The command holds a NUL character, which a shell cannot take.")

    async def act() -> ToolResult:
        return await _execute(input, context)

    return Proposal(title=_title(input), command=input.command, act=act, note=input.description)


async def _execute(input: Input, context: ToolContext) -> ToolResult:
    env = _guarded(context.environment())
    cwd = context.folder
    box = await asyncio.to_thread(_sandbox, context, cwd)
    words = box.words if box else []
    shell = await asyncio.to_thread(_shell, env.get("PATH"))
    stale = _stale_note(_unsaved(context), context.folder)
    limit = max(context.settings.max_tool_output_chars - _ROOM, _ROOM)
    timeout = input.timeout or context.settings.bash.timeout_seconds
    file = context.scratch / f"bash-{uuid.uuid4().hex[:12]}.txt" if context.scratch else None
    try:
        finished = await process.run(
            [*words, shell, "-c", input.command],
            cwd=cwd,
            env=env,
            timeout=timeout,
            keep=4 * limit,
            file=file,
            report=lambda text: context.report(clean(text)),
        )
    except BaseException:
        if box:
            await asyncio.to_thread(box.tidy, context.scratch)
        raise
    tidied = await asyncio.to_thread(box.tidy, context.scratch) if box else ""
    if words and finished.code and finished.text.startswith("bwrap: "):
        await sandbox.check(words, cwd, env)
    return await asyncio.to_thread(_result, finished, timeout, limit, (tidied, stale))


def _guarded(env: dict[str, str]) -> dict[str, str]:
    """The environment in which git takes no folder for a repository that merely holds files named like one.

    Such files can be written by name or come with a project, and their `config` names programs to run.
    """
    count = env.get("GIT_CONFIG_COUNT", "0")
    if not count.isdigit():
        return env
    setting = {f"GIT_CONFIG_KEY_{count}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{count}": "explicit"}
    return {**env, **setting, "GIT_CONFIG_COUNT": str(int(count) + 1)}


def _sandbox(context: ToolContext, cwd: Path) -> sandbox.Sandbox | None:
    if not cwd.is_dir():
        raise ToolError(f"The workspace folder {str(cwd)!r} does not exist, so no command can run in it.")
    if context.settings.bash.sandbox != "bwrap":
        return None
    env = context.environment()
    network = context.settings.bash.network
    return sandbox.make(context.folders, cwd, env, network=network, own=context.own, closed=context.closed)


def _shell(path: str | None) -> str:
    found = shutil.which("bash", path=path) or shutil.which("bash")
    if found is None:  # another shell reads some lines otherwise than they were judged: `((rm -rf x))`
        raise ToolError("'bash' is not found on PATH, and commands run in no other shell: install bash.")
    return found


def _unsaved(context: ToolContext) -> list[Document]:
    """Buffers of the workspace whose text the command cannot see, as the disk has an older one."""
    return [
        document
        for document in context.editor.documents()
        if document.unsaved and any(document.path.is_relative_to(folder) for folder in context.folders)
    ]


def _stale_note(unsaved: Sequence[Document], folder: Path) -> str:
    if not unsaved:
        return ""
    names = ", ".join(relative(document.path, folder) for document in unsaved[:10])
    more = f" and {len(unsaved) - 10} more" if len(unsaved) > 10 else ""
    return f"[Unsaved in the editor, so the command saw an older version on disk: {names}{more}]"


def _result(finished: process.Finished, timeout: float, limit: int, more: Sequence[str]) -> ToolResult:
    cleaned = clean(finished.text)
    at = None if finished.at is None else len(clean(finished.text[: finished.at]))
    lines = cut_lines(cleaned) if at is None else cut_lines(cleaned[:at]) + cut_lines(cleaned[at:])
    at = None if at is None else len(cut_lines(cleaned[:at]))
    text = head_and_tail(lines, limit, missing=finished.missing, at=at)
    notes: list[str] = []
    if finished.file is not None:
        if text != cleaned or finished.held:
            notes.append(f"[Full output: {finished.file}]")
        else:
            _remove(finished.file)
    if finished.timed_out:
        notes.append(f"[Timed out after {timeout:g} s and was ended, with all that it started]")
    elif finished.code < 0:
        notes.append(f"[Ended by signal {-finished.code}]")
    elif finished.code:
        notes.append(f"[Exit code {finished.code}]")
    if finished.group is not None and not finished.timed_out:
        notes.append(f"[Still running in the background; end it with: kill -- -{finished.group}]")
    notes += filter(None, more)
    body = text.rstrip("\n")
    if not body and not (finished.timed_out or finished.code):
        body = "[No output, exit code 0]"
    failed = finished.timed_out or finished.code != 0
    return ToolResult(text="\n".join(part for part in (body, *notes) if part), failed=failed)


def _remove(file: Path | None) -> None:
    if file is not None:
        with contextlib.suppress(OSError):
            file.unlink()


TOOL = Tool(
    name="bash",
    description=(
        "Run a shell command in the workspace folder. Each call starts there anew: `cd` and variables do not "
        "persist, stdin is closed. To read, search and edit files use the other tools."
    ),
    input=Input,
    kind="execute",
    run=_run,
    subjects=_subjects,
    title=_title,
)
