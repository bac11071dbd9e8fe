"""`magent-lsp chat`: a conversation with an agent in the terminal."""

import asyncio
import os
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.event_loop import finish
from magent_lsp.headless.chat_commands import COMMANDS
from magent_lsp.headless.complete import complete
from magent_lsp.headless.conversation import Chat
from magent_lsp.headless.interrupts import CANCELLED, ENDINGS, interrupts
from magent_lsp.headless.lines import Lines, PipedLines, TypedLines
from magent_lsp.headless.render import Text
from magent_lsp.headless.start import Options, opened
from magent_lsp.headless.terminal import Terminal
from magent_lsp.store.dirs import Dirs


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
        talk = Chat(options, magent, terminal, COMMANDS, sink)
        chats.append(talk)
        conversation = asyncio.create_task(talk.talk(_lines(talk, terminal)), name="chat")
        warm = asyncio.create_task(_warm_up(magent), name="warm-up")

        def interrupt() -> None:
            if magent.running():
                cancel()
            elif not terminal.interactive:
                conversation.cancel()

        try:
            with (
                interrupts(conversation.cancel, names=ENDINGS),
                interrupts(interrupt, names=("SIGINT",), twice_leaves=False),
            ):
                await conversation
        except asyncio.CancelledError:
            if not conversation.cancelled():
                raise
            return CANCELLED
        finally:
            warm.cancel()
        if talk.session_id and magent.session(talk.session_id).messages:
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
    return Dirs.from_environment(os.environ).state / "chat-history"


async def _warm_up(magent: Magent) -> None:
    settings = magent.settings
    if settings.warm_up and not settings.model.startswith("scripted:"):
        await magent.warm_up()
