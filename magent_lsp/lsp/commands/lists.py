"""Commands that fill pickers: agents, models, commands, skills, tools."""

import asyncio
from typing import TYPE_CHECKING, Any

from magent_lsp.core.events import to_json
from magent_lsp.engine.summaries import SUMMARIES
from magent_lsp.lsp.commands.arguments import Nothing, ToolsArguments

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

MODELS_SECONDS = 5
"""How long a picker may wait for a provider to say what it has."""


async def agents(edge: "Edge", arguments: Nothing) -> list[dict[str, Any]]:
    """Agents that people may choose."""
    default = edge.settings.agent
    return [
        {
            "name": agent.name,
            "description": agent.description,
            "mode": agent.mode,
            "model": agent.model,
            "color": agent.color,
            "native": agent.native,
            "default": agent.name == default,
            "source": str(agent.source) if agent.source else None,
        }
        for agent in edge.app.agents().values()
        if not agent.hidden
    ]


async def models(edge: "Edge", arguments: Nothing) -> list[Any]:
    """Models to choose from."""
    return [to_json(model) for model in await models_within(edge, MODELS_SECONDS)]


async def models_within(edge: "Edge", seconds: float) -> list[dict[str, Any]]:
    """Models to choose from; the configured one alone if a provider takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await edge.app.models()
    except TimeoutError:
        return [{"model": edge.settings.model, "reason": "configured"}]


async def slash_commands(edge: "Edge", arguments: Nothing) -> list[dict[str, Any]]:
    """Commands that a prompt may begin with."""
    built_in = [
        {
            "name": name,
            "description": summary,
            "argumentHint": None,
            "agent": None,
            "builtin": True,
            "source": None,
        }
        for name, summary in SUMMARIES.items()
        if name not in edge.app.commands()
    ]
    return built_in + [
        {
            "name": command.name,
            "description": command.description,
            "argumentHint": command.argument_hint,
            "agent": command.agent,
            "builtin": command.builtin,
            "source": str(command.source) if command.source else None,
        }
        for command in edge.app.commands().values()
    ]


async def skills(edge: "Edge", arguments: Nothing) -> list[dict[str, Any]]:
    """Skills that an agent may load."""
    return [
        {"name": skill.name, "description": skill.description, "path": str(skill.path)}
        for skill in edge.app.skills().values()
    ]


async def tools(edge: "Edge", arguments: ToolsArguments) -> list[dict[str, Any]]:
    """Tools that an agent is offered."""
    return [
        {"name": tool.name, "description": tool.description, "kind": tool.kind}
        for tool in edge.app.tools(arguments.agent)
    ]
