"""The registry of agents: whose definition of a name counts, and what was wrong with the others."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from magent_lsp.core.agent import Agent, AgentMode
from magent_lsp.core.errors import ConfigError
from magent_lsp.permissions.rules import Layer, Source, parse_permission
from magent_lsp.store.agent_file import LoadedAgent, read_agent
from magent_lsp.store.agent_save import save_agent
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import Walk, is_markdown
from magent_lsp.store.permission import as_mapping
from magent_lsp.store.places import Place, places
from magent_lsp.store.problems import Problem, from_error

__all__ = ["Registry", "load_agents", "save_agent"]


@dataclass(frozen=True, kw_only=True)
class Registry:
    """All agents, hidden ones too."""

    agents: Mapping[str, Agent]
    layers: Mapping[str, Layer]
    """The permission layer of each agent; its rules know their lines."""
    problems: tuple[Problem, ...] = ()

    def listed(self, *modes: AgentMode) -> tuple[Agent, ...]:
        """The agents that people and models may pick; with modes, those that can serve in one of them."""
        wanted = {*modes, "all"} if modes else {"primary", "subagent", "all"}
        return tuple(a for a in self.agents.values() if not a.hidden and a.mode in wanted)


def load_agents(
    folder: Path | None,
    dirs: Dirs,
    trusted: bool,
    *,
    root: Path | None = None,
    previous: Registry | None = None,
) -> Registry:
    """All agents a project sees; the first place that defines a name wins.

    A file that can no longer be read keeps its agent of `previous`. Without that, the agent that takes
    its place asks for everything, since the file may have held rules that are stricter.
    """
    found: dict[str, list[tuple[Place, LoadedAgent | None]]] = {}
    problems: list[Problem] = []
    for place in places("agents", folder, dirs, trusted, root):
        walk = Walk(wanted=is_markdown, within=place.within)
        for path in walk.files(place.folder):
            try:
                loaded = read_agent(path, trusted=place.trusted, native=place.native, within=place.within)
            except FileNotFoundError:
                continue
            except ConfigError as error:
                problems.append(from_error(error, path))
                kept = _kept(previous, path, place)
                if kept is None:
                    found.setdefault(path.stem, []).append((place, None))
                    continue
                loaded = kept
            problems += loaded.problems
            found.setdefault(loaded.agent.name, []).append((place, loaded))
        problems += walk.problems
    chosen: dict[str, LoadedAgent] = {}
    for name, candidates in found.items():
        winner, more = _choose(name, candidates)
        problems += more
        if winner is not None and not winner.disabled:
            chosen[name] = winner
    order = sorted(chosen.values(), key=lambda loaded: not loaded.agent.native)
    return Registry(
        agents={loaded.agent.name: loaded.agent for loaded in order},
        layers={loaded.agent.name: loaded.layer for loaded in order},
        problems=tuple(problems),
    )


def _kept(previous: Registry | None, path: Path, place: Place) -> LoadedAgent | None:
    """The agent that a file defined before it broke, unless the project lost its trust since."""
    for name, agent in previous.agents.items() if previous else ():
        if agent.source == path and agent.trusted == place.trusted:
            return LoadedAgent(agent=agent, layer=previous.layers[name]) if previous else None
    return None


def _choose(
    name: str, candidates: list[tuple[Place, LoadedAgent | None]]
) -> tuple[LoadedAgent | None, list[Problem]]:
    """The definition that counts: an untrusted one never replaces the user's or a built-in one.

    None among the candidates is a file that cannot be read.
    """
    problems: list[Problem] = []
    own = any(place.project is None for place, _ in candidates)
    chosen: tuple[Place, LoadedAgent] | None = None
    broken = False
    for place, loaded in candidates:
        if loaded is None:
            broken = broken or (chosen is None and place.trusted)
        elif not place.trusted and own:
            message = f"the agent {name!r} cannot be replaced until this project is trusted (magent.trust)"
            problems.append(Problem(message=message, path=loaded.agent.source))
        elif chosen is None:
            chosen = (place, loaded)
        elif (chosen[0].family, chosen[0].project) == (place.family, place.project):
            first = chosen[1].agent.source
            message = f"the agent {name!r} is already defined by {first}; this file is skipped"
            problems.append(Problem(message=message, path=loaded.agent.source))
    if chosen is None:
        return None, problems
    return (_asking(chosen[1]) if broken else chosen[1]), problems


def _asking(loaded: LoadedAgent) -> LoadedAgent:
    """The agent with `ask` for all that it has no rule for."""
    source = Source(name=f"the file of the agent {loaded.agent.name!r}, which cannot be read")
    rules = (*loaded.layer.rules, *parse_permission({"*": "ask"}, source)[0])
    return replace(
        loaded,
        agent=replace(loaded.agent, permission=as_mapping(rules)),
        layer=replace(loaded.layer, rules=rules),
    )
