"""Runs the hooks of one run: side by side, bounded in time, and never a danger to the run itself."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from magent_lsp.core.errors import MagentError
from magent_lsp.core.events import Notice, RunEvent
from magent_lsp.core.tool import Verdict
from magent_lsp.engine.hook_forms import from_claude, to_claude
from magent_lsp.engine.hook_reply import Reply, failure, merged, read_reply
from magent_lsp.store.hooks import Hook, HookEvent
from magent_lsp.tools import process

logger = logging.getLogger(__name__)

MAX_OUTPUT: Final = 200_000
"""Bytes of each output of a hook that are read; a longer JSON is cut, and so no JSON."""
MAX_CONTEXT: Final = 10_000
"""Characters that hooks may tell the model at one event."""
CLOSE_SECONDS: Final = 0.3
"""How long the end of a run waits for hooks that were only told something."""


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call as hooks see it."""

    name: str
    arguments: Mapping[str, Any]
    """After validation: defaults filled in, one spelling for each thing."""
    call_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the hooks before a call came to."""

    verdict: Verdict = "allow"
    reason: str = ""
    halted: str = ""
    arguments: Mapping[str, Any] | None = None
    """The call's new arguments, to be validated and judged from the start; None: as they were."""
    context: str = ""


def _log(event: RunEvent) -> None:
    if isinstance(event, Notice):
        logger.warning("%s", event.message)


class Hooks:
    """The hooks that one run has, with what they are told and where they run."""

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        *,
        facts: Callable[[], Mapping[str, Any]] = dict,
        cwd: Path = Path(),
        environment: Callable[[], Mapping[str, str]] = dict,
        report: Callable[[RunEvent], None] = _log,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._hooks = tuple(hooks)
        self._facts = facts
        """What every hook is told, such as `session_id`."""
        self._cwd = cwd
        self._environment = environment
        self._report = report
        self._redact = redact
        self._told: set[asyncio.Task[Reply]] = set()

    def listens(self, event: HookEvent) -> bool:
        """Whether there is a hook for the event at all."""
        return any(hook.event == event for hook in self._hooks)

    async def fire(
        self,
        event: HookEvent,
        subject: str = "",
        *,
        tool: ToolUse | None = None,
        skip: frozenset[int] = frozenset(),
        **data: Any,
    ) -> Reply:
        """Run the hooks of an event and wait for all; the strictest counts. Raises only when cancelled.

        `subject` is what the matcher is tried on where there is no tool: the agent, the source, the reason.
        `skip` holds ids (`id()`) of hooks that are left out.
        """
        name = tool.name if tool else subject
        chosen = [
            hook
            for hook in self._hooks
            if hook.event == event and id(hook) not in skip and (not name or hook.matches(name))
        ]
        if not chosen:
            return Reply()
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._run(hook, tool, data)) for hook in chosen]
        reply = merged([task.result() for task in running])
        for problem in reply.problems:
            self._report(Notice(level="warning", message=problem))
        for message in reply.messages:
            self._report(Notice(level="info", message=message))
        context = self._redact(reply.context)
        if len(context) > MAX_CONTEXT:
            context = f"{context[:MAX_CONTEXT]}\n[cut: a hook said more than {MAX_CONTEXT:,} characters]"
        return replace(reply, context=context, reason=self._redact(reply.reason))

    async def before_tool(self, tool: ToolUse) -> Before:
        """Ask the PreToolUse hooks about a call.

        After a hook changed the arguments, the others are asked again about the new ones; each hook may
        change them once, so that hooks that do not agree come to an end.
        """
        done: frozenset[int] = frozenset()
        asked: list[str] = []
        context: list[str] = []
        current = tool
        while True:
            reply = await self.fire("PreToolUse", tool=current, skip=done)
            context += [reply.context] if reply.context else []
            if reply.blocked or reply.halted:
                return Before(
                    verdict="deny",
                    reason=reply.reason or reply.halted,
                    halted=reply.halted,
                    context="\n".join(context),
                )
            asked += [reply.reason] if reply.verdict == "ask" else []
            if reply.updated is None or reply.rewriter is None:
                break
            done |= {id(reply.rewriter)}
            current = replace(current, arguments=reply.updated)
        return Before(
            verdict="ask" if asked else "allow",
            reason="\n".join(dict.fromkeys(asked)),
            arguments=None if current is tool else current.arguments,
            context="\n".join(context),
        )

    def tell(self, event: HookEvent, subject: str = "", **data: Any) -> None:
        """Run the hooks of an event without waiting for them."""
        if self.listens(event):
            task = asyncio.create_task(self.fire(event, subject, **data), name=f"hook {event}")
            self._told.add(task)
            task.add_done_callback(self._told.discard)

    async def close(self) -> None:
        """End what `tell` started, and report to the log from now on: the run's last event is near."""
        tasks = set(self._told)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._report = _log

    async def _run(self, hook: Hook, tool: ToolUse | None, data: Mapping[str, Any]) -> Reply:
        """One hook's reply, whatever becomes of it."""
        told = {**self._facts(), "hook_event_name": hook.event, **data}
        names: tuple[str, ...] = ()
        if tool is not None:
            names = hook.names_for(tool.name)
            told |= {"tool_name": tool.name, "tool_input": tool.arguments, "tool_use_id": tool.call_id}
            if tool.name not in names:
                told["tool_name"], told["tool_input"] = to_claude(tool.name, names, tool.arguments)
        try:
            reply = await self._call(hook, told)
        except TimeoutError:
            return failure(hook, f"took longer than {hook.timeout:g} s", crashed=True)
        except (MagentError, OSError, ValueError) as error:
            return failure(hook, f"could not be run: {error}".rstrip("."), crashed=True)
        except Exception as error:  # a hook never takes the run with it
            logger.exception("a %s hook failed", hook.event)
            return failure(hook, f"failed: {error!r}", crashed=True)
        if reply.updated is not None and tool is not None and tool.name not in names:
            reply = replace(reply, updated=from_claude(tool.name, reply.updated))
        return reply

    async def _call(self, hook: Hook, told: Mapping[str, Any]) -> Reply:
        folder = str(self._cwd)
        environment = {**self._environment(), "MAGENT_PROJECT_DIR": folder, "CLAUDE_PROJECT_DIR": folder}
        ended = await process.capture(
            ["sh", "-c", hook.command],
            cwd=self._cwd,
            env=environment,
            timeout=hook.timeout,
            stdin=json.dumps(told, default=str).encode("utf-8", "replace"),
            limit=MAX_OUTPUT,
        )
        return read_reply(hook, ended.code, _text(ended.out), _text(ended.err))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").lstrip("\ufeff")
