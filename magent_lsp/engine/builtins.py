"""Slash commands that need no model: `/help`, `/undo`, `/cost` and their like."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from magent_lsp.core.errors import UserError
from magent_lsp.core.messages import Usage
from magent_lsp.core.session import Session
from magent_lsp.engine.report import Report
from magent_lsp.engine.run import Run
from magent_lsp.engine.slash import Builtin
from magent_lsp.engine.summaries import SUMMARIES, described
from magent_lsp.engine.undo import UndoReport
from magent_lsp.store.grants import GrantStore
from magent_lsp.store.sessions import SessionStore


class Desk(Protocol):
    """What these commands need of the app."""

    sessions: SessionStore
    grants: GrantStore

    async def undo(self, run_id: str) -> UndoReport: ...
    async def redo(self, run_id: str) -> UndoReport: ...
    async def doctor(self) -> Report: ...


def builtin_commands(desk: Desk) -> Mapping[str, Builtin]:
    """The commands by name."""
    book = _Book(desk)
    return {name: getattr(book, name) for name in SUMMARIES if hasattr(book, name)}


class _Book:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def help(self, run: Run, arguments: str) -> str:
        lines = [f"- `/{name}`: {text}" for name, text in described(run.snapshot.commands)]
        return "\n".join(["Commands:", "", *lines])

    async def agents(self, run: Run, arguments: str) -> str:
        agents = {agent.name: agent for agent in run.snapshot.agents.values() if not agent.hidden}
        if arguments:
            chosen = agents.get(arguments)
            if chosen is None or chosen.mode == "subagent":
                raise UserError(f"There is no agent {arguments!r} for a session.")
            run.session.use_agent(chosen.name)
            return f"This session now works with `{chosen.name}`: {chosen.description}"
        lines = [
            f"- `{agent.name}` ({agent.mode}){' ←' if agent.name == run.session.agent else ''}: "
            f"{agent.description}"
            for agent in agents.values()
        ]
        return "\n".join(["Agents:", "", *lines])

    async def model(self, run: Run, arguments: str) -> str:
        if arguments:
            run.session.use_model(None if arguments == "auto" else arguments)
        return f"Model of this session: `{run.session.model or run.settings.model}`."

    async def sessions(self, run: Run, arguments: str) -> str:
        found = (await asyncio.to_thread(self._desk.sessions.list, run.session.folder))[:20]
        lines = [f"- `{info.id}` {info.title}" for info in found]
        return "\n".join(["Sessions of this folder:", "", *lines]) if lines else "There are no past sessions."

    async def todos(self, run: Run, arguments: str) -> str:
        marks = {"completed": "x", "in_progress": "~", "pending": " "}
        lines = [f"- [{marks[todo.status]}] {todo.content}" for todo in run.session.todos]
        return "\n".join(lines) or "The list is empty."

    async def cost(self, run: Run, arguments: str) -> str:
        today = await asyncio.to_thread(self._desk.sessions.ledger.today)
        return f"This session: {_usage(run.session.usage)}\n\nToday, all sessions: {_usage(today)}"

    async def undo(self, run: Run, arguments: str) -> str:
        report = await self._desk.undo(arguments or await self._last_run(run.session))
        return _report("Taken back", report, run)

    async def redo(self, run: Run, arguments: str) -> str:
        report = await self._desk.redo(arguments or await self._last_run(run.session))
        return _report("Brought back", report, run)

    async def export(self, run: Run, arguments: str) -> str:
        format = arguments or "markdown"
        return await asyncio.to_thread(self._desk.sessions.export, run.session.id, format)

    async def permissions(self, run: Run, arguments: str) -> str:
        lines = [
            f"- `{rule.tool}`: `{rule.pattern}` → {rule.verdict}, in this session"
            for rule in run.session.grants
        ]
        lines += [
            f"- `{rule.tool}`: `{rule.pattern}` → {rule.verdict}, always"
            for rule in self._desk.grants.load().rules
        ]
        return "\n".join(["Granted:", "", *lines]) if lines else "Nothing was granted beyond the rules."

    async def doctor(self, run: Run, arguments: str) -> str:
        return (await self._desk.doctor()).markdown()

    async def clear(self, run: Run, arguments: str) -> str:
        run.session.clear()
        return "The conversation is forgotten; the session's file still holds it."

    async def done(self, run: Run, arguments: str) -> str:
        run.session.use_agent(run.settings.agent)
        return f"This session works with `{run.session.agent}` again."

    async def _last_run(self, session: Session) -> str:
        edits = await asyncio.to_thread(self._desk.sessions.edits, session.id)
        if not edits:
            raise UserError("This session has edited nothing.")
        return edits[-1].run_id


def _usage(usage: Usage) -> str:
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    about = " (estimated)" if usage.estimated else ""
    return (
        f"Tokens in: {usage.input_tokens:,} (from cache: {usage.cached_tokens:,}), "
        f"out: {usage.output_tokens:,}{about}. Cost: {cost}."
    )


def _report(what: str, report: UndoReport, run: Run) -> str:
    def names(paths: tuple[Path, ...]) -> str:
        return ", ".join(f"`{run.name_path(path)}`" for path in paths)

    lines = [f"{what}: {names(report.restored)}." if report.restored else "Nothing was changed."]
    if report.conflicts:
        lines.append(f"Left alone, since they changed in the same places: {names(report.conflicts)}.")
    return " ".join(lines)
