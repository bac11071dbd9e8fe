"""What is set up, what is missing, and how to mend it."""

import asyncio
import errno
import os
import platform
import re
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from magent_lsp import __version__
from magent_lsp.core.errors import MagentError, ModelError
from magent_lsp.core.home import expanded
from magent_lsp.core.ways import DOCTOR, Ways
from magent_lsp.engine.programs import editors, sandbox, search
from magent_lsp.engine.report import Line, Report, Section, State
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.store.dirs import Dirs

__all__ = ["Chosen", "Report", "report"]

_SECONDS = 5.0
_HOSTS = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "gemini": "generativelanguage.googleapis.com",
    "openrouter": "openrouter.ai",
    "mistral": "api.mistral.ai",
    "groq": "api.groq.com",
    "deepseek": "api.deepseek.com",
    "xai": "api.x.ai",
}
"""Where providers are, to see whether the network leads there; no key is sent."""
_OLLAMA = ("ollama", "ollama_chat")


class Chosen(Protocol):
    """What a run would use."""

    @property
    def model(self) -> str: ...
    @property
    def api_base(self) -> str | None: ...
    @property
    def reason(self) -> str: ...


async def report(
    *,
    snapshot: Snapshot,
    folders: Sequence[Path],
    dirs: Dirs,
    environ: Mapping[str, str],
    choose: Callable[[], Awaitable[Chosen]],
    check: Callable[[], Awaitable[None]],
    secret_names: Collection[str],
    ways: Ways,
    servers: Callable[[], Awaitable[Sequence[Line]]] | None = None,
    more: Sequence[Section] = (),
) -> Report:
    """Look at everything; never raises for what it finds.

    `choose` takes the model that a run would use, and `check` raises ModelError for what is wrong with it; it
    is not asked. `secret_names` are the variables that hold keys: whether they are set is said, their value
    never. `servers` looks at the MCP servers; `more` was looked at already.
    """
    model, rg, bwrap, found, outside = await asyncio.gather(
        _model(choose, check, lambda chosen: _reach(chosen, environ, dirs.user)),
        search(environ),
        sandbox(wanted=snapshot.settings.bash.sandbox == "bwrap", environ=environ),
        editors(environ),
        servers() if servers is not None else _nothing(),
    )
    state = await asyncio.to_thread(_writable, dirs.state)
    return Report(
        sections=(
            Section(title="Program", lines=(_version(), state)),
            Section(title="Configuration", lines=tuple(_configuration(snapshot, folders, dirs, ways))),
            Section(title="Model", lines=(*_keys(secret_names), *model)),
            Section(title="Programs", lines=(rg, bwrap)),
            Section(title="Editors", lines=found),
            *((Section(title="MCP servers", lines=tuple(outside)),) if outside else ()),
            *more,
        )
    )


async def _nothing() -> Sequence[Line]:
    return ()


def _version() -> Line:
    detail = f"magent-lsp {__version__}, Python {platform.python_version()}, {platform.system()}"
    return Line(name="version", state="ok", detail=detail)


def _writable(folder: Path) -> Line:
    """Whether sessions and undo can be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Line(name="state", state="ok", detail=f"{folder} can be written")
    except OSError as error:
        mend = "Make the folder writable, or name another in $MAGENT_STATE_DIR."
        return Line(name="state", state="fail", detail=f"{folder}: {error.strerror}", mend=mend)


def _configuration(snapshot: Snapshot, folders: Sequence[Path], dirs: Dirs, ways: Ways) -> Iterator[Line]:
    if dirs.config_file.exists():
        yield Line(name="user config", state="ok", detail=str(dirs.config_file))
    else:
        yield Line(name="user config", state="ok", detail=f"none; it would be {dirs.config_file}")
    for folder in folders:
        project = folder / ".magent"
        found = "has a" if project.is_dir() else "has no"
        yield Line(name="project", state="ok", detail=f"{folder} {found} `.magent` folder")
    if snapshot.trusted:
        yield Line(name="trust", state="ok", detail="nothing of this project's config waits to be trusted")
    else:
        mend = f"To read it and trust it: {ways.trust}."
        detail = "this project's config is not trusted: it can only tighten"
        yield Line(name="trust", state="warn", detail=detail, mend=mend)
    for problem in snapshot.problems:
        if problem.needs_trust:  # which the line before says how to give
            yield Line(name="waits for trust", state="warn", detail=str(problem))
            continue
        state: State = "fail" if problem.severity == "error" else "warn"
        where = f"in {problem.path.name}" if problem.path else "there"
        mend = f"Mend it {where}; that counts from the next prompt on."
        yield Line(name="problem", state=state, detail=str(problem), mend=mend)


def _keys(secret_names: Collection[str]) -> Iterator[Line]:
    keys = sorted(name for name in secret_names if "API_KEY" in name or name.startswith("AWS_"))
    if keys:
        yield Line(name="keys", state="ok", detail=f"set: {', '.join(keys)}")
    else:
        yield Line(
            name="keys", state="warn", detail="no key of a provider is set; only hosted models need one"
        )


async def _model(
    choose: Callable[[], Awaitable[Chosen]],
    check: Callable[[], Awaitable[None]],
    reach: Callable[[Chosen], Awaitable[Line]],
) -> tuple[Line, ...]:
    try:
        async with asyncio.timeout(3 * _SECONDS):
            chosen = await choose()
    except TimeoutError:
        mend = "Run `apiKeyCommand` by hand and see why it does not end."
        return (Line(name="model", state="fail", detail="choosing one took too long", mend=mend),)
    except MagentError as error:
        mend = error.mend if isinstance(error, ModelError) else ""
        if not mend:
            mend = "Mend `model`, `apiBase` or `apiKeyCommand` in the configuration named above."
            return (Line(name="model", state="fail", detail=str(error), mend=mend),)
        return (Line(name="model", state="fail", detail="none is configured", mend=f"To get one: {mend}."),)
    line = Line(name="model", state="ok", detail=f"{chosen.model}: {chosen.reason}")
    try:
        await check()
    except MagentError as error:
        why = str(error).removesuffix(f"; {DOCTOR}")
        line = Line(name="model", state="fail", detail=f"{chosen.model}: {why}")
    try:
        async with asyncio.timeout(3 * _SECONDS):
            return line, await reach(chosen)
    except (MagentError, OSError, ValueError) as error:  # ValueError: it is no address, or no name of a file
        where = _bare(chosen.api_base) if chosen.api_base else "the provider"
        why = str(error) or "no answer in time"
        if isinstance(error, ValueError) and not chosen.model.startswith("scripted:"):
            why = "this is no address"  # what Python says of it holds pieces of it, such as of its password
        mend = "Check the network, `apiBase`, and whether the server runs."
        if chosen.model.startswith("scripted:"):
            where, mend = "the script", "Name one that exists in `model`."
        elif chosen.model.partition("/")[0] in _OLLAMA and not chosen.api_base:
            where, mend = "Ollama", "Start it: `ollama serve`."
        return line, Line(name="reachable", state="fail", detail=f"{where}: {why}", mend=mend)


async def _reach(chosen: Chosen, environ: Mapping[str, str], scripts: Path) -> Line:
    """Open a connection, to the proxy if there is one, and send nothing; raises OSError.

    A relative name of a script belongs to the folder `scripts`, as in a run.
    """
    if chosen.model.startswith("scripted:"):
        script = chosen.model.removeprefix("scripted:")
        await asyncio.to_thread(_look, scripts, script)
        return Line(name="reachable", state="ok", detail=f"{script} is there")
    address = _address(chosen, environ)
    if not address:
        detail = f"not tried: the address of {chosen.model!r} is known to its client only"
        return Line(name="reachable", state="warn", detail=detail)
    parts = urlsplit(address if "//" in address else f"//{address}")
    port = parts.port or (80 if parts.scheme == "http" else 443)
    async with asyncio.timeout(_SECONDS):
        _, writer = await asyncio.open_connection(parts.hostname, port)
    writer.close()
    return Line(name="reachable", state="ok", detail=f"{parts.hostname}:{port} takes connections")


def _address(chosen: Chosen, environ: Mapping[str, str]) -> str:
    """Where a model is asked; empty if only its client knows."""
    provider = chosen.model.partition("/")[0]
    if chosen.api_base:
        return chosen.api_base
    if provider in _OLLAMA:
        return environ.get("OLLAMA_API_BASE") or "http://localhost:11434"
    host = _HOSTS.get(provider)
    return environ.get("HTTPS_PROXY") or environ.get("https_proxy") or (f"https://{host}" if host else "")


def _bare(address: str) -> str:
    """An address without the password or the key that it may hold."""
    scheme, mark, rest = address.partition("://")
    return scheme + mark + re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def _look(folder: Path, script: str) -> None:
    path = folder / expanded(script)
    if not path.is_file():
        path.stat()
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
