"""The editor that the demo plays: buffers, dialogs, and the events of the agent as they come."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from magent_lsp.core.request import PermissionOption, PermissionReply, PermissionRequest
from magent_lsp.headless.buffers import Buffers
from magent_lsp.headless.lsp_client import Connection, Handler

CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "synchronization": {"didSave": True},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
    },
    "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}},
}
CLIENT = {"events": True, "save": True}
"""What this editor can do beyond the protocol."""

Decide = Callable[[PermissionRequest], Awaitable[PermissionReply]]


class DemoEditor:
    """Answers what a server asks of an editor."""

    def __init__(self, *, decide: Decide, watch: Callable[[dict[str, Any]], None]) -> None:
        self._decide = decide
        self._watch = watch
        self._requests: dict[str, PermissionRequest] = {}
        self._finished: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._connection: Connection | None = None
        self.buffers = Buffers(self._notify)
        self.before_save: list[str] = []
        """What the disk held each time just before a buffer was saved."""

    def use(self, connection: Connection) -> None:
        """Speak over this connection from now on."""
        self._connection = connection

    def handlers(self) -> dict[str, Handler]:
        """What is served, by method."""
        return {
            "workspace/applyEdit": self._apply,
            "workspace/configuration": self._configure,
            "window/showMessageRequest": self._show_dialog,
            "window/workDoneProgress/create": _nothing,
            "client/registerCapability": _nothing,
            "client/unregisterCapability": _nothing,
            "magent/event": self._take_event,
            "magent/save": self._save,
            "magent/input": _nothing,
        }

    async def finished(self) -> dict[str, Any]:
        """The next `run_finished` event of a run that no other run began."""
        return await self._finished.get()

    def _notify(self, method: str, params: Any) -> None:
        assert self._connection is not None
        self._connection.notify(method, params)

    async def _apply(self, params: Any) -> dict[str, Any]:
        return self.buffers.apply(params["edit"])

    async def _configure(self, params: Any) -> list[None]:
        return [None] * len(params["items"])

    async def _save(self, params: Any) -> dict[str, Any]:
        self.before_save += [buffer.on_disk for buffer in self.buffers.at(params["uris"])]
        return {"saved": self.buffers.save(params["uris"])}

    async def _take_event(self, params: Any) -> None:
        event = params["event"]
        if event["type"] == "permission_requested":
            self._requests[event["requestId"]] = _request(event)
        elif event["type"] == "permission_resolved":
            self._requests.pop(event["requestId"], None)
        self._watch(event)
        if event["type"] == "run_finished":
            self._finished.put_nowait(event)

    async def _show_dialog(self, params: Any) -> dict[str, Any] | None:
        """A permission dialog, recognised by the request whose event came just before."""
        titles = [action["title"] for action in params.get("actions") or ()]
        for request in list(self._requests.values()):
            if any(option.title in titles for option in request.options):
                return await self._answer(request)
        return None

    async def _answer(self, request: PermissionRequest) -> dict[str, Any] | None:
        reply = await self._decide(request)
        if reply.feedback:
            # Words do not fit into a dialog's buttons: the command takes them, and the first answer wins.
            assert self._connection is not None
            answer = {"requestId": request.request_id, "reply": reply.reply, "feedback": reply.feedback}
            parameters = {"command": "magent.respond", "arguments": [answer]}
            await self._connection.request("workspace/executeCommand", parameters)
            return None
        return next(({"title": o.title} for o in request.options if o.reply == reply.reply), None)


async def _nothing(params: Any) -> None:
    return None


def _request(event: dict[str, Any]) -> PermissionRequest:
    return PermissionRequest(
        request_id=event["requestId"],
        run_id=event["runId"],
        session_id=event["sessionId"],
        tool_call_id=event["toolCallId"],
        tool=event["tool"],
        title=event["title"],
        reason=event["reason"],
        options=tuple(PermissionOption(**option) for option in event["options"]),
        command=event.get("command"),
        diff=event.get("diff"),
        paths=tuple(event.get("paths", ())),
    )
