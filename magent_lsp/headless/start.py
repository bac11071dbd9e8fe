"""What every command with an agent needs: the options, the app on the disk, the session meant."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from magent_lsp.app import Magent
from magent_lsp.core.errors import CallerError, UnknownId
from magent_lsp.core.events import Envelope
from magent_lsp.core.home import expanded
from magent_lsp.core.ports import EventSink
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.headless.person import Person
from magent_lsp.headless.terminal import Terminal
from magent_lsp.llm.catalogue import SCRIPTED
from magent_lsp.store.config_environment import allow_rules
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.sessions import SessionStore

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 5

LAST = "last"
"""Names the newest session of the folder, wherever a session id is taken."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be said on the command line about any run."""

    cwd: Path
    agent: str | None = None
    session: str | None = None
    model: str | None = None
    allow: tuple[str, ...] = ()
    yes: bool = False
    verbose: int = 0


class Nobody:
    """Watches nothing."""

    def emit(self, event: Envelope) -> None:
        """Forget the event."""


@asynccontextmanager
async def quiet(options: Options) -> AsyncIterator[Magent]:
    """The app to ask for facts; nothing is said of problems, nobody can be asked."""
    magent = _app(options, DiskEditor(), Nobody(), interactive=False)
    try:
        yield magent
    finally:
        await magent.close()


@asynccontextmanager
async def opened(
    options: Options, terminal: Terminal, sink: EventSink, interrupt: Callable[[], object]
) -> AsyncIterator[Magent]:
    """The app on `options.cwd`, closed at the end; problems of the settings are said on stderr."""
    person = Person(terminal, interrupt)
    editor = (
        DiskEditor(permission=person.decide, question=person.answer) if terminal.interactive else DiskEditor()
    )
    magent = _app(options, editor, sink, interactive=terminal.interactive)
    try:
        for problem in magent.problems:
            if problem.needs_trust:  # one line about all of that comes with the run
                continue
            terminal.line(f"{problem.severity}: {problem}", "yellow")
        yield magent
    finally:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await magent.close()
        except TimeoutError:
            logger.warning("something did not end within %s s and is left behind", _CLOSE_SECONDS)


def here(model: str) -> str:
    """A model as it is named on the command line: a script's relative path belongs to the current folder."""
    name = model.removeprefix(SCRIPTED)
    return model if name == model else f"{SCRIPTED}{expanded(name).resolve()}"


def _check_allowed(allow: tuple[str, ...]) -> None:
    """CallerError if `--allow` names what does not exist: the person would wait for its effect in vain."""
    _, problems = allow_rules(allow)
    for problem in problems:
        said = problem.message.replace(": --allow: ", ": ").removesuffix("; its rules grant nothing")
        raise CallerError(said)


def _app(options: Options, editor: DiskEditor, sink: EventSink, *, interactive: bool) -> Magent:
    if not options.cwd.is_dir():
        raise CallerError(f"--cwd: {str(options.cwd)!r} is not a folder; give one that exists")
    _check_allowed(options.allow)
    return Magent(
        folders=[options.cwd],
        editor=editor,
        sink=sink,
        dirs=Dirs.from_environment(os.environ),
        environ=os.environ,
        allow=options.allow,
        overrides={"model": here(options.model)} if options.model else {},
        interactive=interactive,
        assume_yes=options.yes,
        terminal=True,
    )


def find_session(store: SessionStore, said: str, folder: Path | None) -> str:
    """The id of a session given by its id, a unique beginning of it, or `last`."""
    if said == LAST:
        infos = store.list(folder)
        if not infos:
            raise UnknownId(f"there is no session of {str(folder)!r} yet; start one with `magent-lsp run`")
        return infos[0].id
    ids = [info.id for info in store.list()]
    if said in ids:
        return said
    close = [name for name in ids if name.startswith(said)]
    if len(close) == 1:
        return close[0]
    why = f"{len(close)} sessions begin so" if close else "there is none of that id"
    raise UnknownId(f"session {said!r}: {why}; see `magent-lsp sessions list`")
