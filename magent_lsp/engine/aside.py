"""Questions to a model beside the conversation: hidden agents that get a text and answer with one."""

import uuid
from collections.abc import Callable

from magent_lsp.core.config import Retry
from magent_lsp.core.events import Notice, RunEvent
from magent_lsp.core.messages import AssistantMessage, Message, SystemMessage, UserMessage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.engine.run import Run
from magent_lsp.engine.turn import ask_model


async def ask_aside(
    run: Run,
    agent: str,
    text: str,
    settings: ModelSettings,
    *,
    retry: Retry | None = None,
    emit: Callable[[RunEvent], None] = lambda event: None,
) -> AssistantMessage:
    """What a hidden agent of that name answers, without tools; what it used is not counted here.

    Raises ModelError. Of what happens on the way only notices are emitted: the answer is no part of the run.
    """
    hidden = run.snapshot.agents[agent]
    messages: list[Message] = [
        SystemMessage(text=hidden.prompt),
        UserMessage(id=f"msg-{uuid.uuid4().hex[:12]}", text=text),
    ]

    def notices(event: RunEvent) -> None:
        if isinstance(event, Notice):
            emit(event)

    return await ask_model(run.host.model, messages, (), settings, retry or run.settings.retry, notices)
