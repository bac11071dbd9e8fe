"""Names sessions after their first turn, in the background; never in the way of a run."""

import asyncio
import logging
import re
from typing import Final

from magent_lsp.core.config import Retry
from magent_lsp.core.errors import MagentError
from magent_lsp.core.messages import AssistantMessage
from magent_lsp.engine.aside import ask_aside
from magent_lsp.engine.flatten import flatten
from magent_lsp.engine.run import Run

logger = logging.getLogger(__name__)

SECONDS: Final = 60
LONGEST: Final = 60
_PROMPT: Final = 6_000
"""Characters of the first turn that are shown to the model."""
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_LABEL: Final = re.compile(r"^(?:#+\s*|[-*]\s+)?(?:\**(?:title|titel|titre)\**\s*:\s*)?", re.IGNORECASE)
_QUOTES: Final = " \t\"'`*_“”„«»"
_ONCE: Final = Retry(tries=1, base_seconds=0, max_seconds=0)


class Titles:
    """Owns the tasks that ask for titles; a name that a person gave is never replaced."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def after(self, run: Run) -> None:
        """A run has ended: if it was the first of its session, ask for a title beside everything else."""
        if self._closing or not _wanted(run):
            return
        task = asyncio.create_task(self._name(run, run.session.title), name=f"title {run.session.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is still being asked."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _name(self, run: Run, provisional: str) -> None:
        session = run.session
        try:
            async with asyncio.timeout(SECONDS):
                settings = await run.host.small_settings(run.settings, session.model)
                if settings.model.startswith("scripted:"):
                    return
                text = run.host.redact(flatten(session.messages, _PROMPT))
                reply = await ask_aside(run, "title", text, settings, retry=_ONCE)
        except (MagentError, TimeoutError) as error:
            logger.debug("no title for session %s: %s", session.id, error)
            return
        session.add_usage(reply.usage)
        title = cleaned(run.host.redact(reply.text))
        if title and session.title == provisional:
            session.rename(title)


def _wanted(run: Run) -> bool:
    """Whether the run was the first of its session and got an answer from the model."""
    if not (run.names_session and run.settings.titles):
        return False
    return any(isinstance(m, AssistantMessage) and m.usage.output_tokens for m in run.session.messages)


def title_from(prompt: str) -> str:
    """A session's title until a better one is made: the prompt's first line, at most 60 characters."""
    line = next((line.strip() for line in prompt.split("\n") if line.strip()), "New session")
    return line if len(line) <= 60 else line[:59] + "…"


def cleaned(text: str) -> str:
    """The title in a model's answer: one line without marks and quotes; empty if there is none."""
    lines = (line.strip() for line in _THOUGHT.sub("", text).splitlines())
    line = next((line for line in lines if line), "")
    line = _LABEL.sub("", line)
    line = " ".join(line.lstrip(_QUOTES).rstrip(_QUOTES + ".").split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"
