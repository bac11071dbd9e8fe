"""Which tools a model is shown, and what it is told of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from magent_lsp.core.tool import Tool
from magent_lsp.engine.outside import fitting
from magent_lsp.engine.run import Run
from magent_lsp.engine.skills import useful
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.skills import Skill

TEAM: Final = ("delegate", "message_agent", "wait_agent", "list_agents", "close_agent")
PERSON: Final = ("ask_user", "propose")


LANGUAGES: Final = {"elisp": "Emacs Lisp", "lua": "Neovim's Lua"}


def offered_tools(
    snapshot: Snapshot,
    policy: Policy,
    run: Run | None = None,
    language: str | None = None,
    *,
    guest: bool = False,
) -> list[Tool]:
    """The tools that some input of theirs may be used with, and that make sense where the run stands.

    `language` is that of the code which the editor can run; None: it runs none. `guest`: an agent of another
    program is to use them, which knows nothing of the editor.
    """
    skills = useful(snapshot, policy, language)
    hidden = set() if skills else {"skill"}
    if not any(not each.hidden and each.mode != "primary" for each in snapshot.agents.values()):
        hidden.update(TEAM)
    if not offered("delegate", policy):
        hidden.update(TEAM)
    if run is None or run.parent is not None or run.request.scope is None:
        hidden.add("done")
    if run is not None and run.parent is not None:
        hidden.update(PERSON)
    if language is None:
        hidden.add("editor_eval")
    if not guest and (run is None or run.guest is None):
        hidden.add("open_buffers")  # our own runs are told with the prompt
    outside = [tool for tool in snapshot.extra_tools if offered(tool.name, policy)]
    return [
        *(
            describe(tool, snapshot, skills, language)
            for tool in snapshot.own_tools
            if tool.name not in hidden and offered(tool.name, policy)
        ),
        *fitting(outside),
    ]


def describe(tool: Tool, snapshot: Snapshot, skills: Sequence[Skill], language: str | None = None) -> Tool:
    """The tool as it is offered: `skill` and `delegate` list what there is to choose from."""
    if tool.name == "editor_eval" and language is not None:
        return replace(tool, description=f"{tool.description} It takes {LANGUAGES[language]}.")
    if tool.name == "skill":
        entries = [f"- {skill.name}: {skill.description}" for skill in skills]
    elif tool.name == "delegate":
        entries = [
            f"- {agent.name}: {agent.description}"
            for agent in snapshot.agents.values()
            if not agent.hidden and agent.mode != "primary"
        ]
    else:
        return tool
    return replace(tool, description="\n".join([tool.description, *entries]))
