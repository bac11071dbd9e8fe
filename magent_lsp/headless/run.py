"""`magent-lsp run`: one prompt, without an editor."""

import re
from dataclasses import dataclass
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.document import Position, Span, line_starts, position_at, slice_span
from magent_lsp.core.errors import CallerError
from magent_lsp.core.events import RunFinished
from magent_lsp.core.request import Focus, RunRequest, StopReason
from magent_lsp.engine.summaries import needs_model
from magent_lsp.event_loop import finish
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.headless.interrupts import CANCELLED, interrupts
from magent_lsp.headless.render import JsonLines, Text
from magent_lsp.headless.start import Options, find_session, opened
from magent_lsp.headless.terminal import Terminal

DONE, FAILED, USAGE, LIMIT, REFUSED = 0, 1, 2, 3, 4

_RANGE = re.compile(r"(?P<file>.+):(?P<first>\d+)(?:-(?P<last>\d+))?\Z", re.DOTALL)
_LIMITS: dict[StopReason, str] = {
    "max_turns": "it took as many turns as `maxTurns` allows",
    "max_tokens": "the answer reached the model's length limit",
    "budget": "it used up `maxCostUsd` or `maxMinutes`",
    "loop": "it repeated the same calls without getting further",
}


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options of `run`."""

    prompt: tuple[str, ...] = ()
    """Words of the prompt; `-` stands for what stdin holds, none at all for only that."""
    file: str | None = None
    json: bool = False


def run(options: RunOptions) -> int:
    """Run one prompt to its end; returns the exit code."""
    terminal = Terminal.standard()
    prompt = read_prompt(options.prompt, terminal)
    return finish(_run(options, prompt, terminal))


async def _run(options: RunOptions, prompt: str, terminal: Terminal) -> int:
    sink = JsonLines(terminal) if options.json else Text(terminal, reasoning=options.verbose > 0)
    cancelling: list[Magent] = []

    def cancel() -> None:
        for magent in cancelling:
            magent.cancel()

    async with opened(options, terminal, sink, cancel) as magent:
        session = find_session(magent.sessions, options.session, options.cwd) if options.session else None
        focus = await read_focus(options.file, options.cwd) if options.file else None
        cancelling.append(magent)
        if isinstance(sink, Text):
            sink.bare = not needs_model(prompt, magent.commands())
            sink.kept = lambda session_id: bool(magent.session(session_id).messages)
        with interrupts(cancel):
            request = RunRequest(
                prompt=prompt, agent=options.agent, session_id=session, folder=options.cwd, focus=focus
            )
            started = magent.start(request)
            finished = await magent.wait(started.run_id)
    terminal.fresh()
    explain_end(finished, started.session_id, terminal)
    code = exit_code(finished)
    if terminal.lost:
        where = f"`magent-lsp sessions show {started.session_id}` has the answer"
        terminal.line(f"magent-lsp: stdout cannot be written: {terminal.lost}; {where}", "red")
        return code or FAILED
    return code


def read_prompt(words: tuple[str, ...], terminal: Terminal) -> str:
    """The prompt's text; stdin is read for `-`, and for no words at all when it is not a terminal."""
    if not words:
        if terminal.stdin.isatty():
            raise CallerError("run needs a PROMPT; give one, or pipe it in")
        words = ("-",)
    parts = [terminal.stdin.read().strip() if word == "-" else word for word in words]
    separator = "\n\n" if "-" in words else " "
    prompt = separator.join(part for part in parts if part)
    # Arguments that are no UTF-8 come with surrogates, which nothing beyond this point could write.
    prompt = prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not prompt.strip():
        raise CallerError("the PROMPT is empty; say what is to be done")
    return prompt


async def read_focus(said: str, cwd: Path) -> Focus:
    """The file and lines of `--file F[:L1-L2]`; F is relative to the working folder."""
    path, first, last = (cwd / said), None, None
    if not path.exists() and (match := _RANGE.match(said)):
        path, first = cwd / match["file"], int(match["first"])
        last = int(match["last"] or first)
        if not 1 <= first <= last:
            raise CallerError(f"--file: {said!r} must end in :FIRST-LAST, counted from 1")
    if not path.is_file():
        raise CallerError(f"--file: there is no file {str(path)!r}; give a path relative to {str(cwd)!r}")
    document = await DiskEditor().read(path)
    if first is None or last is None:
        return Focus(path=path, language=document.language)
    starts = line_starts(document.text)
    lines = len(starts) - (len(starts) > 1 and document.text.endswith(("\n", "\r")))
    if first > lines:
        raise CallerError(f"--file: {said!r} begins after the last line, {lines}")
    end = Position(last, 0) if last < len(starts) else position_at(document.text, len(document.text), starts)
    span = Span(Position(first - 1, 0), end)
    return Focus(path=path, span=span, selection=slice_span(document.text, span), language=document.language)


def exit_code(finished: RunFinished) -> int:
    """The exit code of a run that ended so."""
    match finished.stop_reason:
        case "cancelled":
            return CANCELLED
        case "error":
            return FAILED
        case "rejected":
            return REFUSED
        case _ if finished.refused:
            return REFUSED
        case "end_turn":
            return DONE
        case _:
            return LIMIT


def _unallowed(finished: RunFinished) -> str:
    """How many calls had no permission, and what would give it."""
    count, protected = finished.refused, finished.protected
    calls = f"{count} call{'s' * (count != 1)}" if count else "a call"
    if not protected:
        return f"{calls} had no permission; allow with --allow TOOL[:PATTERN] or --yes"
    less = "it" if count == 1 else f"{protected} of them" if protected < count else "them"
    return f"{calls} had no permission; allow with --allow TOOL:PATTERN, as --yes is not enough for {less}"


def explain_end(finished: RunFinished, session_id: str, terminal: Terminal, again: str | None = None) -> None:
    """Say in one line on stderr why a run did not simply end, and what to do next."""
    reason = finished.stop_reason
    again = f"; `--session {session_id}` goes on from here" if again is None else again
    if reason == "cancelled":
        text = f"cancelled{again}"
    elif reason == "error":
        text = finished.error or f"the run failed{again}"
    elif reason == "rejected":
        text = f"you said no, and the run ended there{again}"
    elif exit_code(finished) == REFUSED:
        text = f"{_unallowed(finished)}{again}"
    elif reason in _LIMITS:
        text = f"stopped: {_LIMITS[reason]}{again}"
    else:
        return
    terminal.line(f"magent-lsp: {text}", "yellow" if reason == "cancelled" else "red")
