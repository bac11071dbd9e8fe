"""`magent-lsp chat`: a conversation with an agent in the terminal."""

import asyncio
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.errors import MagentError
from magent_lsp.core.request import RunRequest
from magent_lsp.headless.complete import complete, named_files
from magent_lsp.headless.interrupts import CANCELLED, ENDINGS, interrupts
from magent_lsp.headless.lines import Lines, PipedLines, TypedLines
from magent_lsp.headless.loop import finish
from magent_lsp.headless.render import Text
from magent_lsp.headless.run import explain_end
from magent_lsp.headless.start import Options, find_session, opened
from magent_lsp.headless.terminal import Terminal
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.trust import Review


class Leave(Exception):
    """The person is done."""


class Chat:
    """One conversation: what the next prompt will be sent with."""

    def __init__(self, options: Options, magent: Magent, terminal: Terminal) -> None:
        self.folder = options.cwd
        self.magent = magent
        self.terminal = terminal
        self.agent = options.agent
        self.model = options.model
        self.session_id = (
            find_session(magent.sessions, options.session, options.cwd) if options.session else None
        )
        self.run_id: str | None = None
        """The last run, which undo takes back."""
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
        from magent_lsp.headless.chat_commands import COMMANDS

        name, _, words = said.removeprefix("/").partition(" ")
        if said.startswith("/") and (command := COMMANDS.get(name)):
            await command.run(self, words.strip())
        elif said:
            await self.prompt(said)

    async def prompt(self, said: str) -> None:
        """Run one prompt; Ctrl-C cancels the run."""
        files = named_files(said, self.folder)
        request = RunRequest(
            prompt=said,
            agent=self.agent,
            session_id=self.session_id,
            folder=self.folder,
            model=self.model,
            extra=f"Files named with @ in the prompt; read them first: {', '.join(files)}" if files else "",
        )
        started = self.magent.start(request)
        self.session_id, self.run_id = started.session_id, started.run_id
        with interrupts(self.cancel, names=("SIGINT",), twice_leaves=False):
            finished = await self.magent.wait(started.run_id)
        self.terminal.fresh()
        explain_end(finished, started.session_id, self.terminal, again="")

    def forget(self) -> None:
        """Let the next prompt begin a new conversation."""
        self.session_id = self.run_id = None

    def cancel(self) -> None:
        """Stop what runs; the conversation stays."""
        self.magent.cancel()

    def completions(self) -> dict[str, str]:
        """What can be said with a slash, and what it does."""
        from magent_lsp.headless.chat_commands import COMMANDS

        own = {name: command.description for name, command in COMMANDS.items()}
        return {name: command.description for name, command in self.magent.commands().items()} | own

    def status(self) -> str:
        """The line under the prompt."""
        agent = self.agent or self.magent.settings.agent
        model = self.model or self.magent.settings.model
        return f" {agent} · {model} · Enter sends, Alt-Enter begins a new line, Ctrl-D leaves · /help"


def chat(options: Options) -> int:
    """Talk until the person leaves; returns the exit code."""
    return finish(_chat(options, Terminal.standard()))


async def _chat(options: Options, terminal: Terminal) -> int:
    sink = Text(terminal, reasoning=options.verbose > 0)
    chats: list[Chat] = []

    def cancel() -> None:
        for chat in chats:
            chat.cancel()

    async with opened(options, terminal, sink, cancel) as magent:
        talk = Chat(options, magent, terminal)
        chats.append(talk)
        conversation = asyncio.create_task(talk.talk(_lines(talk, terminal)), name="chat")
        warm = asyncio.create_task(_warm_up(magent), name="warm-up")
        try:
            with interrupts(conversation.cancel, names=ENDINGS):
                await conversation
        except asyncio.CancelledError:
            if not conversation.cancelled():
                raise
            return CANCELLED
        finally:
            warm.cancel()
        if talk.session_id:
            terminal.line(f"`magent-lsp chat --session {talk.session_id}` goes on from here.", "dim")
    return 0


def _lines(talk: Chat, terminal: Terminal) -> Lines:
    if not terminal.interactive:
        return PipedLines(terminal)
    terminal.line("magent-lsp: say what is to be done; /help lists what else you can say.", "dim")
    return TypedLines(
        terminal,
        history=_history(talk),
        complete=lambda before: complete(before, talk.completions(), talk.folder),
        status=talk.status,
    )


def _history(talk: Chat) -> Path:
    import os

    return Dirs.from_environment(os.environ).state / "chat-history"


async def _warm_up(magent: Magent) -> None:
    if magent.settings.warm_up:
        await magent.warm_up()
