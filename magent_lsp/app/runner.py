"""Makes, drives and takes back runs; loaded with the first one, as a server that ran nothing does without."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from magent_lsp.app.workplace import Workplace
from magent_lsp.core.agent import Agent
from magent_lsp.core.request import RunRequest
from magent_lsp.core.session import Session
from magent_lsp.core.tool import Tool
from magent_lsp.engine.builtins import Desk, builtin_commands
from magent_lsp.engine.drive import Driver, choose_agent
from magent_lsp.engine.explain import explain
from magent_lsp.engine.offer import offered_tools
from magent_lsp.engine.run import Host
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.engine.undo import Undo
from magent_lsp.mcp.servers import Servers
from magent_lsp.permissions.decision import Decision


class Runner:
    """The runs of one client, and the way back."""

    def __init__(self, place: Workplace, desk: Desk) -> None:
        access = place.access
        self._editor = place.editor
        self.undo = Undo(place.blobs, place.sessions)
        self.servers = Servers(
            environ=place.environ, folders=place.folders, redact=access.redact, learn=access.learn
        )
        host = Host(
            editor=place.editor,
            gate=place.gate,
            model=access.models,
            model_settings=access.settings,
            small_settings=access.small,
            context_limit=access.context_limit,
            keep_edit=self.undo.keep,
            remember=place.remember,
            environment=access.child_environment,
            redact=access.redact,
            redactor=lambda: access.redactor,
            unfinished=access.unfinished,
            scratch=place.dirs.state / "output",
            interactive=place.interactive,
            assume_yes=place.assume_yes,
            ways=place.ways,
            outside=self.servers,
        )
        self.driver = Driver(
            host=host,
            dirs=place.dirs,
            sessions=place.sessions,
            sink=place.sink,
            load=place.load,
            folders=place.folders,
            builtins=builtin_commands(desk),
            settled=place.settled,
        )
        self.runs = self.driver.runs

    async def close(self) -> None:
        """End all runs, then the servers that they used."""
        await self.driver.close()
        await self.servers.close()

    def agent(self, name: str | None, snapshot: Snapshot) -> Agent:
        """The agent of that name; None: the default one; CallerError if it is none for people."""
        request = RunRequest(prompt="", agent=name)
        session = Session(id="", folder=Path(), agent=snapshot.settings.agent)
        return choose_agent(request, session, snapshot, child=False)

    def guest_tools(self, snapshot: Snapshot, agent: str) -> list[Tool]:
        """What an agent of another program is offered, which may do what that agent of ours may do."""
        policy = snapshot.policy(self.agent(agent, snapshot))
        return offered_tools(snapshot, policy, language=self._editor.language, guest=True)

    def explain(
        self, tool: str, arguments: Mapping[str, Any], agent: str | None, snapshot: Snapshot
    ) -> Decision:
        """The verdict on a call and why; CallerError for an unknown tool or bad arguments."""
        return explain(tool, arguments, self.agent(agent, snapshot), snapshot, self.driver.place())
