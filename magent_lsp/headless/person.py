"""The person at the terminal: permissions and questions, asked in plain text."""

import asyncio
from collections.abc import Callable

from magent_lsp.core.request import Answer, PermissionReply, PermissionRequest, Question, Reply
from magent_lsp.headless.terminal import Terminal

_KEYS: dict[Reply, str] = {"allow_once": "y", "allow_session": "s", "allow_always": "a", "reject": "n"}
_WORDS = {"yes": "y", "once": "y", "session": "s", "always": "a", "no": "n", "feedback": "f"}
_FEEDBACK = "f"
_YES = frozenset({"yes", "y", "ok"})
_NO = frozenset({"no", "n"})


class Person:
    """Somebody who can be asked; `interrupt` is called when they press Ctrl-C instead of answering."""

    def __init__(self, terminal: Terminal, interrupt: Callable[[], object]) -> None:
        self._terminal = terminal
        self._interrupt = interrupt
        self._one_at_a_time = asyncio.Lock()

    async def decide(self, request: PermissionRequest) -> PermissionReply:
        """Show a permission request whole and take the decision; anything unclear is asked again."""
        async with self._one_at_a_time:
            show_request(self._terminal, request)
            choices = {_KEYS[option.reply]: option.reply for option in request.options}
            for option in request.options:
                self._terminal.line(f"  [{_KEYS[option.reply]}] {option.title}")
            self._terminal.line(f"  [{_FEEDBACK}] Reject, and say what to do instead")
            keys = "/".join([*choices, _FEEDBACK])
            while True:
                answer = await self._line(f"{keys} > ")
                if answer is None:
                    return PermissionReply(reply="reject")
                key, _, feedback = answer.partition(" ")
                key = _WORDS.get(key.lower(), key.lower())
                if key in choices and (not feedback or key == "n"):
                    return PermissionReply(reply=choices[key], feedback=feedback.strip())
                if key == _FEEDBACK:
                    said = feedback.strip() or await self._line("What instead? > ") or ""
                    return PermissionReply(reply="reject", feedback=said)
                self._terminal.line(f"Please answer with one of {keys}.", "yellow")

    async def answer(self, question: Question) -> Answer | None:
        """Ask for information; options may be chosen by number or by text."""
        async with self._one_at_a_time:
            self._terminal.line(f"? {question.title}", "bold")
            if question.message:
                self._terminal.line(f"  {question.message}")
            for number, option in enumerate(question.options, 1):
                self._terminal.line(f"  [{number}] {option}")
            several = " (several: separate with commas)" if question.multiple else ""
            short = len(question.default) <= 60 and "\n" not in question.default
            usual = f" [{question.default if short else 'as shown'}]" if question.default else ""
            said = await self._line(f"Answer{several}{usual} > ")
            if said is None or not (said or question.default):
                return None
            parts = said.split(",") if question.multiple else [said]
            chosen = [_option(part.strip(), question) for part in parts if part.strip()]
            return Answer(values=tuple(chosen) or (question.default,))

    async def _line(self, prompt: str) -> str | None:
        """One line of the person; None for Ctrl-D, and for Ctrl-C, which also interrupts."""
        try:
            return (await read_line(self._terminal, prompt)).strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            self._interrupt()
            return None


async def read_line(terminal: Terminal, prompt: str) -> str:
    """Read a line from the terminal, asking on stderr; raises EOFError and KeyboardInterrupt."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    terminal.fresh()
    session: PromptSession[str] = PromptSession(output=create_output(stdout=terminal.err))
    # The run's own SIGINT handler must stay: prompt_toolkit would take it away with its own.
    return await session.prompt_async(prompt, handle_sigint=False)


def show_request(terminal: Terminal, request: PermissionRequest, margin: str = "") -> None:
    """Show all that a person must see to decide."""
    terminal.line()
    terminal.line(f"{margin}? {request.title}", "bold yellow")
    terminal.line(f"{margin}  {request.reason}", "dim")
    if request.command is not None:
        for number, line in enumerate(request.command.splitlines()):
            terminal.line(f"{margin}  {'>' if number else '$'} {line}", "bold")
    for path in request.paths:
        if path not in request.title:
            terminal.line(f"{margin}  {path}")
    if request.diff:
        terminal.diff(request.diff, indent=f"{margin}  ")


def _option(said: str, question: Question) -> str:
    """The option that is meant by its number, its text or, of a proposal, a yes or no; else the words."""
    options = question.options
    if question.default and options and said.casefold() in _YES | _NO:
        return options[0 if said.casefold() in _YES else -1]
    if said.isdecimal() and 1 <= int(said) <= len(options):
        return options[int(said) - 1]
    return next((option for option in options if option.casefold() == said.casefold()), said)
