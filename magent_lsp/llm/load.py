"""All models behind one port: recorded scripts, and real ones through a client that loads in a thread."""

import asyncio
import contextlib
import gc
import importlib
import os
import sys
import threading
import weakref
from collections.abc import AsyncGenerator, MutableMapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, cast

from magent_lsp.core.errors import ModelError
from magent_lsp.core.home import expanded
from magent_lsp.core.messages import Message, StreamItem, Usage
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.tool import Tool
from magent_lsp.llm.catalogue import SCRIPTED, SCRIPTED_LIMITS, Limits
from magent_lsp.llm.faults import Lack, Lacking
from magent_lsp.llm.scripted import Script, read_script

_CLIENT = "magent_lsp.llm.litellm_model"


GUARDS: Final = MappingProxyType(
    {
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_OFFLINE_MODE": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
)
"""Variables that keep litellm from the network and from `.env` files; for this process, not its children."""


_USERS: Final["weakref.WeakSet[Models]"] = weakref.WeakSet()
"""Whoever uses the client: its connections belong to the process, and are closed by the last of them."""


class Client(Protocol):
    """What this module uses of `litellm_model`."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings
    ) -> AsyncGenerator[StreamItem]: ...
    def check(self, settings: ModelSettings) -> None: ...
    def limits(self, model: str) -> Limits: ...
    def cost(self, model: str, usage: Usage) -> float | None: ...
    def warm(self) -> None: ...
    async def close(self) -> None: ...


class Models:
    """The `Model` port; relative script files belong to `folder`."""

    def __init__(self, *, folder: Path | None = None) -> None:
        self._folder = folder or Path()
        self._loading: Future[Client] | None = None
        self._scripts: dict[Path, Script] = {}
        self._lacks: dict[tuple[str, str | None], set[Lack]] = {}
        """What models, at their addresses, were found to lack."""

    @property
    def ready(self) -> bool:
        """Whether a request to a real model can start without loading anything."""
        return self._loading is not None and self._loading.done() and self._loading.exception() is None

    async def warm_up(self) -> None:
        """Load the client, in a thread; a call that is cancelled leaves the loading on its way."""
        await self._client()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings
    ) -> AsyncGenerator[StreamItem]:
        """Deltas, then the whole AssistantMessage; raises ModelError. Close it to stop the request."""
        lacks = self._lacks.setdefault((settings.model, settings.api_base), set())
        while True:
            known = frozenset(lacks)
            try:
                async with aclosing(await self._open(messages, tools, _adapted(settings, known))) as items:
                    async for item in items:
                        yield item
                return
            except Lacking as error:
                if error.what in known:
                    raise
                lacks.add(error.what)

    async def limits(self, model: str) -> Limits:
        """What is known of a model; the user's own `contextLimit` is the caller's business."""
        return SCRIPTED_LIMITS if model.startswith(SCRIPTED) else (await self._client()).limits(model)

    async def check(self, settings: ModelSettings) -> None:
        """Raise ModelError for what can be told of a model without asking it."""
        if not settings.model.startswith(SCRIPTED):
            (await self._client()).check(settings)

    async def close(self) -> None:
        """Close idle connections, unless others of this process may still use them."""
        if self.ready and self._loading:
            _USERS.discard(self)
            if not _USERS:
                await self._loading.result().close()

    async def _open(
        self, messages: Sequence[Message], tools: Sequence[Tool], settings: ModelSettings
    ) -> AsyncGenerator[StreamItem]:
        if settings.model.startswith(SCRIPTED):
            script = await self._script(settings.model.removeprefix(SCRIPTED))
            return script.stream(messages, tools, settings)
        if settings.model in ("", "auto"):
            raise ModelError("no model was chosen; set `model` to provider/name", kind="unconfigured")
        return (await self._client()).stream(messages, tools, settings)

    async def _script(self, name: str) -> Script:
        path = await asyncio.to_thread(lambda: self._folder / expanded(name))
        if path not in self._scripts:
            script = await asyncio.to_thread(read_script, path)
            self._scripts.setdefault(path, script)
        return self._scripts[path]

    async def _client(self) -> Client:
        if self._loading is None or (self._loading.done() and self._loading.exception()):
            self._loading = _load_in_thread()
        try:
            client = await _result(self._loading)
            _USERS.add(self)
            return client
        except Exception as error:
            raise ModelError(
                f"the model client could not be loaded ({error}); reinstall magent-lsp", kind="unconfigured"
            ) from error


def _adapted(settings: ModelSettings, lacks: frozenset[Lack]) -> ModelSettings:
    """How to ask a model that cannot do everything."""
    if "tools" in lacks:
        settings = replace(settings, tools_in_text=True)
    if "streaming" in lacks:
        settings = replace(settings, extra={**settings.extra, "stream": False})
    return settings


def load() -> Client:
    """The client, loaded here and now: for a terminal command, or a thread."""
    if _CLIENT in sys.modules:  # loaded, or being loaded by another thread, for which this waits
        return cast("Client", importlib.import_module(_CLIENT))
    protect(os.environ)
    collecting = gc.isenabled()
    gc.disable()  # collections during the import would stop the event loop for up to 0.3 s
    try:
        client = cast("Client", importlib.import_module(_CLIENT))
        client.warm()
        gc.freeze()
        return client
    finally:
        if collecting:
            gc.enable()


def protect(environ: MutableMapping[str, str]) -> None:
    """Keep litellm from the network and from `.env` files when it is imported.

    In its default mode it loads a `.env` found above its own folder. Where the virtual environment lies in
    the workspace that is the workspace's: a repository could name the address to which keys are sent.
    """
    environ.update(GUARDS)


async def _result(loading: Future[Client]) -> Client:
    """Wait for another thread; whoever gives up spoils nothing for the others."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: Future[Client]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(done.set)

    loading.add_done_callback(wake)
    await done.wait()
    return loading.result()


def _load_in_thread() -> Future[Client]:
    future: Future[Client] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(load())
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)

    # a daemon, since leaving the program must not wait for an import
    threading.Thread(target=run, name="load-model-client", daemon=True).start()
    return future
