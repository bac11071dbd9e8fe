"""Asks the person through the client: permissions, questions, and places to look at."""

import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound

from magent_lsp.core.config import Client
from magent_lsp.core.diff import reveal
from magent_lsp.core.request import Answer, PermissionReply, PermissionRequest, Question
from magent_lsp.lsp.habits import Habits
from magent_lsp.lsp.parcel import Caller

logger = logging.getLogger(__name__)

_LINES = 40
_CHARACTERS = 3000
"""A dialog that is longer hides its own buttons in some editors; the diff is in the event as a whole."""


class Dialogs:
    """Dialogs of one client; whoever calls sees to it that only one is open at a time."""

    def __init__(self, caller: Caller, client: Client, habits: Habits) -> None:
        self._caller = caller
        self._client = client
        self._habits = habits

    async def permission(self, request: PermissionRequest) -> PermissionReply | None:
        """The person's decision; only an exact offered title is one. None if the client has no dialogs."""
        if self._client.edits_after_actions:
            return None  # the action that allows an edit is the one after which the client takes it
        offered = self._habits.in_order(request.options)
        if self._habits.only_first_button:
            offered = [option for option in offered if option.reply in ("allow_once", "reject")]
        titles = {option.title: option.reply for option in offered}
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=_permission_text(request),
            actions=[types.MessageActionItem(title=title) for title in titles],
        )
        try:
            answer = await self._caller.call(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=None)
        except JsonRpcMethodNotFound:
            return None
        except (JsonRpcException, OSError) as error:
            logger.warning("the permission dialog failed: %s", error)
            return PermissionReply(reply="reject")
        title = getattr(answer, "title", None)
        return PermissionReply(reply=titles.get(title, "reject") if isinstance(title, str) else "reject")

    async def question(self, question: Question) -> Answer | None:
        """The person's answer; None if there is none, or no way to ask."""
        try:
            if self._client.input:
                return await self._by_input(question)
            if question.options and not question.multiple:
                return await self._by_buttons(question)
        except (JsonRpcException, OSError) as error:
            logger.warning("the question %r could not be asked: %s", question.title, error)
        return None

    async def _by_input(self, question: Question) -> Answer | None:
        params: dict[str, Any] = {"title": question.title, "message": question.message}
        if question.options:
            params |= {"options": list(question.options), "multiple": question.multiple}
        if question.default:
            params["default"] = question.default
        if question.tool_call_id:
            params |= {"runId": question.run_id, "toolCallId": question.tool_call_id}
        answer = await self._caller.call("magent/input", params, seconds=None)
        value = answer.get("value") if isinstance(answer, dict) else None
        values = tuple(
            item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)
        )
        return Answer(values=values) if values else None

    async def _by_buttons(self, question: Question) -> Answer | None:
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=f"{question.title}\n{question.message}" if question.message else question.title,
            actions=[types.MessageActionItem(title=option) for option in question.options],
        )
        answer = await self._caller.call(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=None)
        title = getattr(answer, "title", None)
        return Answer(values=(title,)) if title in question.options else None


def what_is_asked(request: PermissionRequest) -> str:
    """The command, or the difference that an edit makes, shortened for a person; empty for others."""
    what = request.command if request.command is not None else request.diff
    return _shortened(reveal(what)) if what else ""


def _permission_text(request: PermissionRequest) -> str:
    parts = [f"Magent: {request.title}", what_is_asked(request), request.reason]
    return "\n".join(part for part in parts if part)


def _shortened(text: str) -> str:
    lines = text.split("\n")
    shown = "\n".join(lines[:_LINES])[:_CHARACTERS]
    rest = len(lines) - shown.count("\n") - 1
    if len(shown) == len(text):
        return text
    return f"{shown}\n… {rest} more lines" if rest else f"{shown}…"
