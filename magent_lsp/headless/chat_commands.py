"""What the chat itself does, beside the commands that go to the agent."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from magent_lsp.core.errors import CallerError
from magent_lsp.engine.undo import UndoReport
from magent_lsp.headless.chat import Chat, Leave
from magent_lsp.headless.start import find_session


@dataclass(frozen=True, kw_only=True)
class ChatCommand:
    """Something said with a slash that needs no model."""

    description: str
    run: Callable[[Chat, str], Awaitable[None]]


async def _help(chat: Chat, words: str) -> None:
    said = chat.completions()
    width = max(map(len, said))
    for name, description in sorted(said.items()):
        chat.terminal.line(f"  /{name:{width}}  {description}")
    chat.terminal.line("  @path names a file; a line that ends in \\ goes on; Ctrl-C cancels a run", "dim")


async def _quit(chat: Chat, words: str) -> None:
    raise Leave


async def _new(chat: Chat, words: str) -> None:
    chat.forget()
    chat.terminal.line("A new conversation.", "dim")


async def _session(chat: Chat, words: str) -> None:
    if not words:
        chat.terminal.line(chat.session_id or "This conversation has not begun; say something.")
        return
    chat.forget()
    chat.session_id = find_session(chat.magent.sessions, words, chat.folder)
    title = chat.magent.session(chat.session_id).title
    chat.terminal.line(f"Going on with {chat.session_id}: {title}", "dim")


async def _agent(chat: Chat, words: str) -> None:
    agents = {name: agent for name, agent in chat.magent.agents().items() if not agent.hidden}
    now = chat.agent or chat.magent.settings.agent
    if not words:
        for name, agent in agents.items():
            if agent.mode != "subagent":
                chat.terminal.line(f"{'→' if name == now else ' '} {name}: {agent.description}")
        return
    if words not in agents:
        raise CallerError(f"there is no agent {words!r}; /agent lists them")
    chat.agent = words
    chat.terminal.line(f"The agent is now {words}.", "dim")


async def _model(chat: Chat, words: str) -> None:
    if words:
        chat.model = words
        chat.terminal.line(f"The model is now {words}.", "dim")
        return
    for entry in await chat.magent.models():
        chat.terminal.line(f"  {entry['model']} ({entry['reason']})")
    chat.terminal.line("/model PROVIDER/NAME takes another one for this conversation.", "dim")


async def _undo(chat: Chat, words: str) -> None:
    if chat.run_id is None:
        raise CallerError("there is nothing to undo: no run of this conversation has ended")
    report = await chat.magent.undo(chat.run_id)
    _say(chat, "restored", report)


async def _redo(chat: Chat, words: str) -> None:
    if chat.run_id is None:
        raise CallerError("there is nothing to redo")
    report = await chat.magent.redo(chat.run_id)
    _say(chat, "brought back", report)


async def _trust(chat: Chat, words: str) -> None:
    if words == "yes" and chat.review is not None:
        # Exactly what was shown: what changed since is another digest, and is asked again.
        chat.magent.trust(chat.review)
        chat.review = None
        chat.terminal.line("Trusted, until it changes.", "dim")
        return
    chat.review = chat.magent.review_trust(chat.folder)
    chat.terminal.line(str(chat.review))
    if not chat.review.empty:
        chat.terminal.line("To trust exactly this, say /trust yes", "yellow")


def _say(chat: Chat, done: str, report: UndoReport) -> None:
    for path in report.restored:
        chat.terminal.line(f"  {done}: {path}")
    for path in report.conflicts:
        chat.terminal.line(f"  left alone, it was changed since: {path}", "yellow")
    if not report.restored and not report.conflicts:
        chat.terminal.line("  Nothing was to be done.", "dim")


COMMANDS: Mapping[str, ChatCommand] = {
    "help": ChatCommand(description="What can be said with a slash", run=_help),
    "quit": ChatCommand(description="Leave (Ctrl-D)", run=_quit),
    "exit": ChatCommand(description="Leave", run=_quit),
    "new": ChatCommand(description="Begin a new conversation", run=_new),
    "clear": ChatCommand(description="Begin a new conversation", run=_new),
    "session": ChatCommand(
        description="Which session this is; /session ID goes on with another", run=_session
    ),
    "agent": ChatCommand(description="The agents; /agent NAME takes one", run=_agent),
    "model": ChatCommand(description="The models; /model NAME takes one", run=_model),
    "undo": ChatCommand(description="Take back the last run's edits", run=_undo),
    "redo": ChatCommand(description="Bring back what /undo took", run=_redo),
    "trust": ChatCommand(description="Look at this project's own config, and trust it", run=_trust),
}
