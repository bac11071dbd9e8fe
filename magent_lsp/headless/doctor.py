"""`magent-lsp doctor`: what is set up, what is missing, how to mend it."""

from dataclasses import asdict
from json import dumps
from pathlib import Path

from magent_lsp.engine.report import Report, State
from magent_lsp.event_loop import finish
from magent_lsp.headless.start import Options, quiet
from magent_lsp.headless.terminal import Terminal

_MARKS: dict[State, tuple[str, str]] = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def doctor(folder: Path, *, json: bool) -> int:
    """Write the report to stdout; exit code 1 if something failed."""
    terminal = Terminal.standard()
    found = finish(_report(folder))
    if json:
        terminal.data(dumps({"ok": found.ok, **asdict(found)}))
    else:
        show_report(found, terminal.for_stdout())
    return 0 if found.ok else 1


async def _report(folder: Path) -> Report:
    async with quiet(Options(cwd=folder)) as magent:
        return await magent.doctor()


def show_report(report: Report, terminal: Terminal) -> None:
    """Write a report as lines of text."""
    for number, section in enumerate(report.sections):
        if number:
            terminal.line()
        terminal.line(section.title, "bold")
        for line in section.lines:
            mark, style = _MARKS[line.state]
            terminal.line(f"  {mark} {line.name}: {line.detail}", style if line.state != "ok" else "")
            if line.mend:
                terminal.line(f"      {line.mend}", "dim")
