"""Delegation: a subagent works in a fresh session of its own, with no more rights than its parent."""

import asyncio
from collections.abc import Awaitable, Callable

from magent_lsp.core.errors import ToolError
from magent_lsp.core.events import RunFinished
from magent_lsp.core.request import RunRequest
from magent_lsp.core.tool import ToolResult
from magent_lsp.engine.run import Run

MAX_DEPTH = 3
MAX_CHILDREN = 8

Spawn = Callable[[Run, RunRequest], Run]
"""Makes a child run (parent, request) that has not begun."""

RunChild = Callable[[Run], Awaitable[RunFinished]]


class Subagents:
    """The subagents of one run."""

    def __init__(self, parent: Run, spawn: Spawn, run_child: RunChild) -> None:
        self._parent = parent
        self._spawn = spawn
        self._run_child = run_child
        self._background: set[asyncio.Task[None]] = set()

    async def delegate(self, agent: str, prompt: str, background: bool) -> ToolResult:
        """Run a subagent; its last message is the result. In the background: an id at once."""
        child = self._child(agent, prompt)
        if not background:
            return _result(agent, child, await self._run_child(child))
        task = asyncio.create_task(self._report(agent, child), name=f"background {child.id}")
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return ToolResult(
            text=f"Subagent {agent!r} works in the background as {child.session.id}. "
            "Its result will reach you as a message."
        )

    async def settle(self) -> bool:
        """Wait for a background subagent to report; False if none is at work."""
        if not self._background:
            return False
        await asyncio.wait(self._background, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def close(self) -> None:
        """Cancel the subagents that still work, and wait for their end."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _child(self, agent: str, prompt: str) -> Run:
        parent = self._parent
        known = parent.snapshot.agents
        chosen = known.get(agent)
        if chosen is None or chosen.hidden or chosen.mode == "primary":
            names = [a.name for a in known.values() if not a.hidden and a.mode != "primary"]
            raise ToolError(f"There is no subagent {agent!r}. Available: {', '.join(sorted(names))}.")
        if parent.depth + 1 > MAX_DEPTH:
            raise ToolError(f"Subagents may be nested {MAX_DEPTH} deep at most; do this step yourself.")
        if parent.root.children >= MAX_CHILDREN:
            raise ToolError(f"One run may start {MAX_CHILDREN} subagents at most; do this step yourself.")
        parent.root.children += 1
        return self._spawn(parent, RunRequest(prompt=prompt, agent=agent, folder=parent.session.folder))

    async def _report(self, agent: str, child: Run) -> None:
        outcome = await self._run_child(child)
        text = _result(agent, child, outcome).text
        self._parent.hear(f"Subagent {agent!r} ({child.session.id}) has finished:\n{text}", synthetic=True)


def _result(agent: str, child: Run, outcome: RunFinished) -> ToolResult:
    if outcome.stop_reason == "end_turn":
        return ToolResult(text=outcome.text or f"Subagent {agent!r} finished without a word.")
    why = outcome.error or f"it stopped: {outcome.stop_reason}"
    said = f"\nIts last words: {outcome.text}" if outcome.text else ""
    return ToolResult(text=f"Subagent {agent!r} did not finish: {why}.{said}", failed=True)
