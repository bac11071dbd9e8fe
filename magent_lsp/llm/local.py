"""Model servers on this machine, found by asking the usual ports."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

_SECONDS = 1.5
_EMBEDS = re.compile(r"embed|bge-|minilm|rerank|whisper|-tts|clip", re.IGNORECASE)
_PREFERRED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"qwen3.*coder",
        r"devstral",
        r"gpt-oss",
        r"qwen.*coder",
        r"coder|codestral",
        r"qwen3",
        r"instruct",
    )
)


@dataclass(frozen=True, kw_only=True)
class LocalServer:
    """A place to ask, and how."""

    title: str
    url: str
    kind: Literal["ollama", "openai"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A server that answered, and the model to use there."""

    title: str
    model: str
    api_base: str
    models: tuple[str, ...]


LOCAL_SERVERS = (
    LocalServer(title="Ollama", url="http://127.0.0.1:11434", kind="ollama"),
    LocalServer(title="llama.cpp", url="http://127.0.0.1:8080", kind="openai"),
    LocalServer(title="LM Studio", url="http://127.0.0.1:1234", kind="openai"),
    LocalServer(title="vLLM", url="http://127.0.0.1:8000", kind="openai"),
)


async def find_local(servers: Sequence[LocalServer] = LOCAL_SERVERS) -> Found | None:
    """The first of these that answers with a model; all are asked at once."""
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(server)) for server in servers]
    return next((found for task in asked if (found := task.result())), None)


async def ask(server: LocalServer, key: str | None = None) -> Found | None:
    """What one server offers; None if there is no such server, or no model for chats."""
    path = "/api/tags" if server.kind == "ollama" else "/v1/models"
    answer = await _get(server.url + path, key)
    entries = (
        answer.get("models" if server.kind == "ollama" else "data") if isinstance(answer, dict) else None
    )
    if not isinstance(entries, list):
        return None
    field = "name" if server.kind == "ollama" else "id"
    names = [entry.get(field) for entry in entries if isinstance(entry, dict)]
    models = tuple(name for name in names if isinstance(name, str) and name and not _EMBEDS.search(name))
    if not models:
        return None
    prefix, base = ("ollama_chat", server.url) if server.kind == "ollama" else ("openai", f"{server.url}/v1")
    return Found(title=server.title, model=f"{prefix}/{_best(models)}", api_base=base, models=models)


def _best(models: Sequence[str]) -> str:
    """The one most likely to write code and use tools; among equals the server's first."""
    for pattern in _PREFERRED:
        for model in models:
            if pattern.search(model):
                return model
    return models[0]


async def _get(url: str, key: str | None) -> Any:
    import httpx  # here, since an editor's server is imported without it

    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        # no proxy, no certificates: this is the machine itself, or an address the person gave
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
            answer = await client.get(url, headers=headers)
        return answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
