"""What the chat itself does; all other commands go to the agent's side."""

from collections.abc import Mapping

from magent_lsp.headless.conversation import Chat, ChatCommand, Leave
from magent_lsp.headless.start import find_session


async def _help(chat: Chat, words: str) -> None:
    said = chat.completions()
    width = max(map(len, said))
    for name, description in sorted(said.items()):
        chat.terminal.line(f"  /{name:{width}}  {description}")
    chat.terminal.line("  @path names a file; a line that ends in \\ goes on; Ctrl-C cancels a run", "dim")


async def _quit(chat: Chat, words: str) -> None:
    raise Leave


async def _new(chat: Chat, words: str) -> None:
    chat.session_id = None
    chat.terminal.line("A new conversation.", "dim")


async def _session(chat: Chat, words: str) -> None:
    if words:
        chat.session_id = find_session(chat.magent.sessions, words, chat.folder)
    if chat.session_id is None:
        chat.terminal.line("This conversation has not begun; say something.")
    else:
        chat.terminal.line(f"{chat.session_id}: {chat.magent.session(chat.session_id).title}")


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


COMMANDS: Mapping[str, ChatCommand] = {
    "help": ChatCommand(description="what can be said", run=_help),
    "quit": ChatCommand(description="leaves, as Ctrl-D does", run=_quit),
    "exit": ChatCommand(description="leaves", run=_quit),
    "new": ChatCommand(description="begins a new session", run=_new),
    "session": ChatCommand(description="this session; `/session ID` goes on with another", run=_session),
    "trust": ChatCommand(description="shows this project's own config, to be trusted", run=_trust),
}
