"""Where a chat's lines come from: a terminal with history and completion, or a pipe."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from magent_lsp.headless.terminal import Terminal

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings


class Lines(Protocol):
    """Gives what the person says next."""

    async def next(self) -> str:
        """One message; EOFError at the end, KeyboardInterrupt when it was given up."""
        ...


class PipedLines:
    """Lines of a pipe or file, each one a message."""

    def __init__(self, terminal: Terminal) -> None:
        self._stdin = terminal.stdin

    async def next(self) -> str:
        """The next line."""
        line = await asyncio.to_thread(self._stdin.readline)
        if not line:
            raise EOFError
        return line.rstrip("\n")


class TypedLines:
    """Lines typed at a terminal: history in a file, completion, and messages of several lines."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        history: Path,
        complete: Callable[[str], Iterable[tuple[str, int, str]]],
        status: Callable[[], str],
    ) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import CompleteEvent, Completer, Completion
        from prompt_toolkit.document import Document
        from prompt_toolkit.history import FileHistory
        from prompt_toolkit.output import create_output

        class Suggestions(Completer):
            def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
                for text, taken, meta in complete(document.text_before_cursor):
                    yield Completion(text, start_position=-taken, display_meta=meta)

        history.parent.mkdir(parents=True, exist_ok=True)
        history.touch(mode=0o600)
        self._terminal = terminal
        self._session: PromptSession[str] = PromptSession(
            history=FileHistory(str(history)),
            completer=Suggestions(),
            complete_while_typing=True,
            multiline=True,
            key_bindings=_keys(),
            prompt_continuation="… ",
            bottom_toolbar=status,
            output=create_output(stdout=terminal.err),
        )

    async def next(self) -> str:
        """The next message."""
        self._terminal.fresh()
        return await self._session.prompt_async("> ", handle_sigint=False)


def _keys() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
