"""How the demo tells its story: numbered steps, what happens in them, and what was verified."""

from typing import Any

from magent_lsp.core.request import PermissionReply, PermissionRequest
from magent_lsp.headless.person import Person, show_request
from magent_lsp.headless.terminal import Terminal

_INDENT = "   "
_OUTPUT_LINES = 4


class Stage:
    """The screen, and the count of what held and what did not."""

    def __init__(self, terminal: Terminal, person: Person | None) -> None:
        self._terminal = terminal
        self._person = person
        """None: permission questions are answered with yes."""
        self._step = 0
        self._fresh_text = True
        self.commands = 0
        """Shell commands that the agent ran to their end."""
        self.verified = 0
        self.failed: list[str] = []
        self.error = ""
        """What ended the agent's run, after which there is nothing to verify."""

    def step(self, title: str) -> None:
        """Begin the next step."""
        self._step += 1
        self._terminal.line()
        self._terminal.line(f"{self._step}  {title}", "bold")

    def say(self, text: str = "", style: str = "") -> None:
        """Tell something, indented, in as many lines as it has."""
        for line in text.splitlines() or [""]:
            self._terminal.line(f"{_INDENT}{line}".rstrip(), style)

    def check(self, held: bool, claim: str) -> bool:
        """Show whether a claim held; one that did not makes the demo fail."""
        if held:
            self.verified += 1
            self.say(f"✓ {claim}", "green")
        else:
            self.failed.append(claim)
            self.say(f"✗ not so: {claim}", "bold red")
        return held

    async def decide(self, request: PermissionRequest) -> PermissionReply:
        """Ask the person, or answer for them; both in sight."""
        if self._person is not None:
            return await self._person.decide(request)
        show_request(self._terminal, request, _INDENT)
        for option in request.options:
            chosen = option.reply == "allow_once"
            self.say(f"{'→' if chosen else ' '} [{option.title}]", "bold" if chosen else "dim")
        self.say("  (the demo answered for you)", "dim")
        return PermissionReply(reply="allow_once")

    def watch(self, event: dict[str, Any]) -> None:
        """Show what an event of the agent says."""
        match event["type"]:
            case "text_delta":
                self._stream(event["text"])
                return
            case "tool_call_started":
                self._terminal.fresh()
                self.say(f"▸ {event['title']}", "cyan")
            case "tool_call_finished":
                self._tool(event)
            case "edit_applied":
                self.say(f"edit: {event['outcome']}", "green" if event["outcome"] == "applied" else "yellow")
            case "notice":
                self.say(f"{event['level']}: {event['message']}", "yellow")
        self._fresh_text = True

    def _stream(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            self._terminal.answer(f"{_INDENT}{line}" if self._fresh_text and line.strip() else line)
            self._fresh_text = line.endswith("\n")

    def _tool(self, event: dict[str, Any]) -> None:
        mark, style = ("✓", "green") if event["status"] == "completed" else ("✗", "red")
        self.say(f"{mark} {event['title']}: {event['status']}", style)
        if event["kind"] == "execute" and event["status"] == "completed":
            self.commands += 1
        if event["kind"] == "execute" or event["status"] != "completed":
            lines = [line for line in (event.get("output") or "").splitlines() if line.strip()]
            self.say("\n".join(f"  {line}" for line in lines[-_OUTPUT_LINES:]), "dim")
