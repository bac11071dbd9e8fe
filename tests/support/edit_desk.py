"""A desk for tests of edits: a real server, an editor's buffers, and a model that does what it is told.

async with desk(tmp_path, files={"a.py": "x = 1\\n"}) as at:
    told = await at.agent([change("a.py", "x = 1", "x = 2")])
    assert told.statuses == ["completed"]
    assert at.bytes("a.py") == b"x = 2\\n"
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.support.lsp_buffer import Buffer
from tests.support.lsp_client import LspClient, editor
from tests.support.lsp_profiles import VSCODE, Profile

ALLOW = {"edit_file": "allow", "write_file": "allow", "bash": "allow"}

_scripts = itertools.count(1)


def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
    """A call of a tool, as the model makes it."""
    return {"tool": tool, "arguments": arguments}


def change(path: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    """A call that replaces one text."""
    return call("edit_file", path=path, edits=[{"old_string": old, "new_string": new, **more}])


@dataclass(frozen=True)
class Told:
    """What became of a run, and what its model was told."""

    id: str
    finished: dict[str, Any]
    results: list[dict[str, Any]]
    """The `tool_call_finished` events, in the order of the calls."""

    @property
    def statuses(self) -> list[str]:
        """How each call ended."""
        return [result["status"] for result in self.results]

    @property
    def outputs(self) -> list[str]:
        """What the model was told of each call."""
        return [result["output"] for result in self.results]

    @property
    def outcomes(self) -> list[str]:
        """The outcome of every attempted edit."""
        return [edit["outcome"] for edit in self.finished["edits"]]


class Desk:
    """One editor with its files and an agent at work."""

    def __init__(self, home: Path, client: LspClient) -> None:
        self.home = home
        self.client = client
        self.ws = home / "ws"
        self._left = asyncio.Event()

    def bytes(self, name: str) -> bytes:
        """What the disk holds."""
        return (self.ws / name).read_bytes()

    def open(self, name: str, text: str | None = None, **more: Any) -> Buffer:
        """Open a file in the editor; a text that the disk does not have is unsaved."""
        return self.client.open(name, text, **more)

    def close(self, buffer: Buffer) -> None:
        """Close a file in the editor."""
        del self.client.buffers[buffer.uri]
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    async def start(self, *replies: Any, prompt: str = "go", **more: Any) -> dict[str, Any]:
        """Begin a run in which the model makes these calls, one list for each of its replies."""
        script = [reply if isinstance(reply, dict) else {"calls": reply} for reply in replies]
        path = self.home / f"script-{next(_scripts)}.json"
        path.write_text(json.dumps([*script, {"text": "Done."}]), encoding="utf-8")
        started: dict[str, Any] = await self.client.command(
            "magent.prompt", prompt=prompt, model=f"scripted:{path}", **more
        )
        return started

    async def told(self, run_id: str, seconds: float = 60) -> Told:
        """Wait until a run is over."""

        def ended() -> list[dict[str, Any]]:
            return [event for event in self.client.of_run(run_id) if event["type"] == "run_finished"]

        [finished] = await self.client.until(ended, seconds)
        events = self.client.of_run(run_id)
        ended_calls = {e["toolCallId"]: e for e in events if e["type"] == "tool_call_finished"}
        begun = [event["toolCallId"] for event in events if event["type"] == "tool_call_started"]
        results = [ended_calls[call_id] for call_id in begun]
        return Told(run_id, finished, results)

    async def agent(self, *replies: Any, seconds: float = 60, **more: Any) -> Told:
        """As `start`, and wait until it is over."""
        return await self.told((await self.start(*replies, **more))["runId"], seconds)

    async def undo(self, run: "Told | str") -> dict[str, list[str]]:
        """Undo a run; `restored` and `conflicts` as names in the workspace."""
        return await self._back("magent.undo", run)

    async def redo(self, run: "Told | str") -> dict[str, list[str]]:
        """Redo a run."""
        return await self._back("magent.redo", run)

    async def _back(self, command: str, run: "Told | str") -> dict[str, list[str]]:
        report = await self.client.command(command, runId=run if isinstance(run, str) else run.id)
        return {kind: [uri.rpartition("/ws/")[2] for uri in uris] for kind, uris in report.items()}


def saves(client: LspClient) -> list[list[str]]:
    """Let a client save, as our own plugins do; what it was asked for."""
    asked: list[list[str]] = []

    async def save(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["uris"])
        saved = []
        for uri in params["uris"]:
            if (buffer := client.buffers.get(uri)) is None:
                continue
            path = Path(_path(uri))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(buffer.text.encode())
            buffer.saved = buffer.text
            client.key()  # what changed is told before a save is, in every editor
            client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            saved.append(uri)
        await asyncio.sleep(0)  # the notifications go out before the answer
        return {"saved": saved}

    client.on["magent/save"] = save
    return asked


def opens_closed_files(client: LspClient) -> None:
    """Let a client open a document for an edit of a file that is closed, as VS Code and Neovim do."""
    honest = client._apply_edit  # the harness' own way

    async def apply(params: dict[str, Any]) -> Any:
        edit = params["edit"]
        changes = [one for one in edit.get("documentChanges") or [] if "textDocument" in one]
        uris = [one["textDocument"]["uri"] for one in changes] or list(edit.get("changes") or {})
        for uri in uris:
            if uri not in client.buffers:
                path = Path(_path(uri))
                text = path.read_bytes().decode() if path.exists() else ""
                client.open(path, text, uri=uri)
        if edit.get("documentChanges") is not None:
            edit["documentChanges"] = changes
        result, after = await honest(params)
        if after is not None:
            asyncio.get_running_loop().call_later(client.profile.debounce, after)
        return result

    client.on["workspace/applyEdit"] = apply


def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path)


@asynccontextmanager
async def desk(
    home: Path,
    *,
    profile: Profile = VSCODE,
    client: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    permission: Any = ALLOW,
    **more: Any,
) -> AsyncIterator[Desk]:
    """A desk in `home`; the agent may edit without being asked unless `permission` says otherwise."""
    workspace = home / "ws"
    workspace.mkdir(exist_ok=True)
    put(workspace, files or {})
    options = {"permission": permission, **(settings or {})}
    declared = {"events": True, **(client or {})}
    async with editor(home, profile=profile, client=declared, settings=options, **more) as session:
        yield Desk(home, session)


def put(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def lines(*texts: str) -> str:
    """Lines with LF."""
    return "".join(f"{text}\n" for text in texts)


def numbered(count: int) -> Sequence[str]:
    """Lines that differ."""
    return [f"line {number}" for number in range(count)]
