"""A workspace with rules, links and secrets, what a model tries in it, and a person who answers."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.support.lsp_client import NO_ANSWER, LspClient

RULES = """\
permission:
  bash:
    "*": ask
    "git status *": allow
    "ls *": allow
    "echo *": allow
    "cat *": allow
    "grep *": allow
    "find *": allow
    "rm *": deny
  read_file: {"*": allow, ".env": deny, "vault/**": deny}
  edit_file: {"*": allow, ".env": deny}
  write_file: {"*": allow, ".env": deny}
"""
SECRET = "KEY=hush-hush-hush-1"


Wanted = Literal["allow", "ask", "deny"]


@dataclass(frozen=True)
class Row:
    """A call that a model tries, and what is to come of it."""

    wanted: Wanted
    tool: str
    value: str

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool is called with."""
        if self.tool == "bash":
            return {"command": self.value}
        if self.tool == "write_file":
            return {"path": self.value, "content": "x = 1\n"}
        if self.tool == "edit_file":
            return {"path": self.value, "edits": [{"old_string": "a", "new_string": "b"}]}
        if self.tool == "glob":
            return {"pattern": "**/*", "path": self.value}
        return {{"fetch": "url", "grep": "pattern"}.get(self.tool, "path"): self.value}


def furnish(home: Path) -> Path:
    """A workspace with what the rows speak of, and its surroundings."""
    workspace = home / "ws"
    for name in ("ws/sub", "ws/.git", "ws/vault", "beside", "ws-evil", "config"):
        (home / name).mkdir(parents=True)
    for path, text in {
        "ws/keep": "k",
        "ws/.env": SECRET,
        "ws/vault/key": SECRET,
        "ws/a.py": "a\n",
        "beside/f": "f",
        "ws-evil/f": "f",
    }.items():
        (home / path).write_text(text)
    (workspace / "away").symlink_to("/etc/hostname")
    (workspace / "envlink").symlink_to(".env")
    (workspace / "awaydir").symlink_to(home / "beside")
    (home / "config/config.yaml").write_text(RULES)
    return workspace


def calls(*each: Row) -> list[dict[str, Any]]:
    """A model that makes each call in a turn of its own, and then says "Done."."""
    script: list[dict[str, Any]] = [
        {"text": "", "calls": [{"tool": row.tool, "arguments": row.arguments}]} for row in each
    ]
    return [*script, {"text": "Done."}]


def silent(params: dict[str, Any]) -> Any:
    """A dialog that nobody looks at."""
    return NO_ANSWER


async def carried_out(
    client: LspClient, reply: dict[str, str]
) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The verdict and the output of each call that the script makes, and all events of the run."""
    started = await client.command("magent.prompt", prompt="try everything")
    answering = asyncio.create_task(answer_all(client, reply))
    finished = await client.finished(started["runId"], seconds=60)
    answering.cancel()
    assert finished["text"] == "Done.", finished
    events = client.of_run(started["runId"])
    asked = {event["toolCallId"] for event in events if event["type"] == "permission_requested"}
    ended = []
    for event in events:
        if event["type"] == "tool_call_finished":
            output = event["output"] or ""
            refused = output.startswith("Not allowed")
            verdict = "deny" if refused else "ask" if event["toolCallId"] in asked else "allow"
            ended.append((verdict, output))
    return ended, events


async def answer_all(client: LspClient, reply: dict[str, str]) -> None:
    """Give every question the same answer, as soon as it is there."""
    seen: list[dict[str, Any]] = []
    while True:
        await client.until(lambda: len(asked_for(client)) > len(seen), seconds=60)
        seen[:] = asked_for(client)
        for request in await client.command("magent.pending"):
            await client.command("magent.respond", requestId=request["requestId"], **reply)


def asked_for(client: LspClient) -> list[dict[str, Any]]:
    """The permission requests so far."""
    return [each for each in client.events if each["event"]["type"] == "permission_requested"]


async def prompt(client: LspClient, text: str = "go on", seconds: float = 30, **more: Any) -> dict[str, Any]:
    """A prompt, and what its run ended with."""
    run = await client.command("magent.prompt", prompt=text, **more)
    return {**run, **await client.finished(run["runId"], seconds=seconds)}


def bash(*commands: str) -> dict[str, Any]:
    """One turn that runs these commands."""
    return {"text": "", "calls": [{"tool": "bash", "arguments": {"command": each}} for each in commands]}


def choose(ending: str = "", beginning: str = "") -> Any:
    """The button whose title begins and ends like this."""

    def answer(params: dict[str, Any]) -> dict[str, str]:
        titles = [action["title"] for action in params["actions"]]
        return {"title": next(t for t in titles if t.endswith(ending) and t.startswith(beginning))}

    return answer
