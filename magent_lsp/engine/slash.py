"""Prompts that begin with `/name`: commands from files, and those that are code of ours."""

import asyncio
import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from magent_lsp.core.agent import Agent
from magent_lsp.core.errors import ToolError, UserError
from magent_lsp.core.events import Notice
from magent_lsp.engine import plans
from magent_lsp.engine.executor import Executor
from magent_lsp.engine.mentions import attach_mentions
from magent_lsp.engine.permit import Refused
from magent_lsp.engine.run import Run
from magent_lsp.engine.summaries import command_in
from magent_lsp.store.commands import Command, FileRef, Shell, expand

Builtin = Callable[[Run, str], Awaitable[str]]
"""A slash command of ours: (run, arguments) -> the answer in Markdown, without the model."""

MODES = ("plan", "implement")
"""Commands after which the session stays with their agent."""


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """What a prompt came to."""

    prompt: str
    answer: str | None = None
    """Set if no model is needed."""
    subagent: str | None = None
    """Set if the prompt is to be run by a subagent, apart from the conversation."""
    attached: str = ""
    """What the prompt names and the model gets beside it."""
    command: str = ""
    """The name of the command, if it was one."""
    arguments: str = ""


async def expand_prompt(run: Run, executor: Executor, builtins: Mapping[str, Builtin]) -> Expanded:
    """Expand a slash command; the run takes over the command's agent, model and allowed tools.

    UserError if there is no such command, or if a command or file in it may not be used.
    """
    called = command_in(run.request.prompt)
    if called is None:
        prompt = run.request.prompt
        return Expanded(prompt=prompt, attached=await attach_mentions(run, executor, prompt))
    name, arguments = called
    if is_builtin(run, builtins):
        answer = await builtins[name](run, arguments)
        return Expanded(prompt=run.request.prompt, answer=answer, command=name, arguments=arguments)
    command = run.snapshot.commands.get(name)
    if command is None and name == "trust":
        raise UserError(
            f"This is not the place for /trust: {run.host.ways.trust} shows what it means, and asks."
        )
    if command is None:
        known = [*run.snapshot.commands, *builtins]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean /{near[0]}?" if near else " /help lists them."
        raise UserError(f"There is no command /{name}.{hint}")
    prompt = await _fill(run, command, arguments, executor)
    attached = await _plan(run, executor, arguments) if _is_mode(command, "implement") else ""
    subagent = command.agent or "general" if command.subtask else None
    if subagent is None:
        _take_over(run, command)
    return Expanded(prompt=prompt, subagent=subagent, attached=attached, command=name, arguments=arguments)


def is_builtin(run: Run, builtins: Mapping[str, Builtin]) -> bool:
    """Whether a prompt is a command that is code of ours; a file of that name takes its place."""
    called = command_in(run.request.prompt)
    return called is not None and called[0] in builtins and called[0] not in run.snapshot.commands


def agent_at_work(run: Run) -> Agent:
    """Who will carry out the prompt, told before it is expanded: its command may bring an agent along."""
    called = command_in(run.request.prompt)
    if called is None or run.parent is not None:
        return run.agent
    command = run.snapshot.commands.get(called[0])
    if command is None or command.subtask or not _brings_agent(run, command):
        return run.agent
    return run.snapshot.agents.get(command.agent or "", run.agent)


def _brings_agent(run: Run, command: Command) -> bool:
    return bool(command.agent) and (run.request.agent is None or _is_mode(command))


def _is_mode(command: Command, *names: str) -> bool:
    return command.builtin and command.name in (names or MODES)


async def _plan(run: Run, executor: Executor, name: str) -> str:
    """The plan that is to be carried out, as context; UserError if there is none that is meant."""
    folder = run.session.folder
    if name:
        found = await asyncio.to_thread(plans.named, folder, name)
        if len(found) > 1:
            raise UserError(f"Several plans are called {name!r}: {', '.join(found)}. Name one of them.")
        path = found[0] if found else None
        if path is None and _looks_like_a_path(name):
            raise UserError(f"There is no plan {name!r} in {plans.FOLDER}; /plan makes one.")
    else:
        path = None
    if path is None:
        spoken = plans.mentioned(run.session.messages)
        here = spoken is not None and await asyncio.to_thread((folder / spoken).is_file)
        path = spoken if here else await asyncio.to_thread(plans.newest, folder)
    if path is None:
        if run.session.messages:
            return ""  # it may have been agreed on in words
        raise UserError(f"There is no plan in {plans.FOLDER} yet; /plan makes one.")
    try:
        result = await executor.use("read_file", json.dumps({"path": path}))
    except Refused as error:
        raise UserError(f"The plan {path} may not be read: {error}") from error
    if result.failed:
        raise UserError(f"The plan {path} cannot be read: {result.text}")
    return f'<plan path="{path}">\n{result.text}\n</plan>'


def _looks_like_a_path(name: str) -> bool:
    return " " not in name and (name.endswith(".md") or "/" in name)


async def _fill(run: Run, command: Command, arguments: str, executor: Executor) -> str:
    texts: list[str] = []
    for part in expand(command, arguments).parts:
        match part:
            case Shell():
                texts.append(await _output(run, command, executor, part))
            case FileRef():
                texts.append(await _file(run, command, executor, part))
            case _:
                texts.append(part.text)
    return "".join(texts)


async def _output(run: Run, command: Command, executor: Executor, part: Shell) -> str:
    try:
        result = await executor.use("bash", json.dumps({"command": part.command}))
    except Refused as error:
        raise UserError(f"/{command.name} stops at !`{part.command}`: {error}") from error
    if result.failed:
        last = result.text.strip().rpartition("\n")[2][:200]
        _warn(run, f"/{command.name}: !`{part.command}` failed ({last}); the model sees its output.")
    return result.text


async def _file(run: Run, command: Command, executor: Executor, part: FileRef) -> str:
    try:
        result = await executor.use("read_file", json.dumps({"path": part.path}))
    except Refused as error:
        raise UserError(f"@{part.path} may not be read: {error}") from error
    except ToolError:
        result = None
    if result is None or result.failed:
        _warn(run, f"/{command.name}: @{part.path} cannot be read; it stays in the prompt as it is.")
        return part.text
    return f'<file path="{part.path}">\n{result.text}\n</file>'


def _warn(run: Run, text: str) -> None:
    run.emit(Notice(level="warning", message=text))


def _take_over(run: Run, command: Command) -> None:
    request = run.request
    run.request = replace(
        request, model=command.model or request.model, restriction=command.restriction or request.restriction
    )
    if _brings_agent(run, command):
        agent = run.snapshot.agents.get(command.agent or "")
        if agent is None:
            raise UserError(f"/{command.name} wants the agent {command.agent!r}, which does not exist.")
        run.agent = agent
        if _is_mode(command):
            run.session.use_agent(agent.name)
