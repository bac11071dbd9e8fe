"""A conversation: what the person says next, and what the next prompt is sent with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from magent_lsp.app import Magent
from magent_lsp.core.errors import MagentError
from magent_lsp.core.request import RunRequest
from magent_lsp.engine.summaries import SUMMARIES, needs_model
from magent_lsp.headless.complete import named_files
from magent_lsp.headless.lines import Lines
from magent_lsp.headless.render import Text
from magent_lsp.headless.run import explain_end
from magent_lsp.headless.start import Options, find_session
from magent_lsp.headless.terminal import Terminal
from magent_lsp.store.trust import Review


class Leave(Exception):
    """The person is done."""


@dataclass(frozen=True, kw_only=True)
class ChatCommand:
    """Something said with a slash that is about the chat, not about the session."""

    description: str
    run: Callable[["Chat", str], Awaitable[None]]


class Chat:
    """One conversation: what the next prompt will be sent with."""

    def __init__(
        self,
        options: Options,
        magent: Magent,
        terminal: Terminal,
        commands: Mapping[str, ChatCommand],
        sink: Text,
    ) -> None:
        self.folder = options.cwd
        self._commands = commands
        self.magent = magent
        self.terminal = terminal
        self._sink = sink
        sink.kept = lambda session_id: bool(magent.session(session_id).messages)
        self._agent = options.agent
        self.session_id = (
            find_session(magent.sessions, options.session, options.cwd) if options.session else None
        )
        self.review: Review | None = None
        """What trusting the project's config would mean, as it was last shown."""

    async def talk(self, lines: Lines) -> None:
        """Take messages until the person leaves."""
        while True:
            try:
                said = (await lines.next()).strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                self.terminal.line("Ctrl-D or /quit leaves.", "dim")
                continue
            try:
                await self.take(said)
            except Leave:
                return
            except MagentError as error:
                self.terminal.line(f"magent-lsp: {error}", "red")

    async def take(self, said: str) -> None:
        """Do what one message asks: one of the chat's own commands, or a prompt for the agent."""
        name, _, words = said.removeprefix("/").partition(" ")
        if said.startswith("/") and (command := self._commands.get(name)):
            await command.run(self, words.strip())
        elif said:
            await self.prompt(said)

    async def prompt(self, said: str) -> None:
        """Run one prompt to its end."""
        self._sink.bare = not needs_model(said, self.magent.commands())
        files = named_files(said, self.folder)
        request = RunRequest(
            prompt=said,
            agent=self._agent if self.session_id is None else None,
            session_id=self.session_id,
            folder=self.folder,
            extra=f"Files named with @ in the prompt; read them first: {', '.join(files)}" if files else "",
        )
        started = self.magent.start(await self.magent.prepare(request))
        self.session_id = started.session_id
        finished = await self.magent.wait(started.run_id)
        self.terminal.fresh()
        explain_end(finished, started.session_id, self.terminal, again="")

    def cancel(self) -> None:
        """Stop what runs; the conversation stays."""
        self.magent.cancel()

    def completions(self) -> dict[str, str]:
        """What can be said with a slash, and what it does."""
        said = {name: command.description for name, command in self.magent.commands().items()}
        said |= SUMMARIES
        return said | {name: command.description for name, command in self._commands.items()}

    def status(self) -> str:
        """The line under the prompt."""
        session = self.magent.session(self.session_id) if self.session_id else None
        settings = self.magent.settings
        agent = session.agent if session else self._agent or settings.agent
        model = (session and session.model) or settings.model
        return f" {agent} · {model} · Enter sends, Alt-Enter begins a new line, Ctrl-D leaves · /help"
