"""Which model to ask: the one that is set, or for `auto` the first that can be used."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from magent_lsp.core.config import Settings
from magent_lsp.core.errors import ModelError
from magent_lsp.core.ways import DOCTOR, Ways
from magent_lsp.llm.catalogue import SCRIPTED
from magent_lsp.llm.keys import key_from_command
from magent_lsp.llm.local import LOCAL_SERVERS, LocalServer, ask, find_local
from magent_lsp.llm.providers import PROVIDERS, key_names
from magent_lsp.llm.secrets import known_secrets, redact, secret_names

__all__ = ["Choice", "choose", "known_secrets", "redact", "secret_names"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A model to ask, where, and why that one."""

    model: str
    small_model: str
    """For titles and summaries."""
    api_base: str | None = None
    api_key: str | None = None
    reason: str
    """For people, such as `ANTHROPIC_API_KEY is set`."""

    def __repr__(self) -> str:
        """Without the key and the address, which may hold one: neither must get into a log."""
        return f"Choice(model={self.model!r}, reason={self.reason!r})"


async def choose(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    keys: MutableMapping[str, str] | None = None,
    servers: Sequence[LocalServer] = LOCAL_SERVERS,
    ways: Ways | None = None,
) -> Choice:
    """The model to ask; ModelError of kind `unconfigured` says in one sentence what to set.

    `keys` remembers what `apiKeyCommand` printed, so that it runs once; the caller owns it.
    """
    model = settings.model
    if model.startswith(SCRIPTED):
        return Choice(model=model, small_model=settings.small_model or model, reason="`model` is a script")
    if settings.api_base and not _is_address(settings.api_base):
        # What the address is stays unsaid, here and in what a client would say: a piece may be a password.
        raise ModelError(
            "`apiBase` is no address, such as http://127.0.0.1:8080/v1; in a name or a password, "
            "write @ as %40, / as %2F, : as %3A, ? as %3F and # as %23",
            kind="bad_request",
        )
    if model not in ("auto", ""):
        return Choice(
            model=model,
            small_model=settings.small_model or model,
            api_base=settings.api_base,
            api_key=await _key(settings, key_names(model), environ, keys),
            reason="`model` is set",
        )
    if settings.api_base:
        return await _at_base(settings, settings.api_base, environ, keys)
    return _by_key(settings, environ) or await _local(settings, servers, ways or Ways())


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return False
        # In `http://user:12/34@host` the first digits of a password pass for a port.
        return parts.port is None or "@" in parts.netloc or "@" not in text
    except ValueError:
        return False


async def _key(
    settings: Settings,
    names: Sequence[str],
    environ: Mapping[str, str],
    keys: MutableMapping[str, str] | None,
) -> str | None:
    command = settings.api_key_command
    if not command:
        return next((environ[name].strip() for name in names if environ.get(name, "").strip()), None)
    if keys is not None and command in keys:
        return keys[command]
    key = await key_from_command(command, environ)
    if keys is not None:
        keys[command] = key
    return key


def _by_key(settings: Settings, environ: Mapping[str, str]) -> Choice | None:
    for provider in PROVIDERS:
        for name in provider.keys:
            if key := environ.get(name, "").strip():
                return Choice(
                    model=provider.model,
                    small_model=settings.small_model or provider.small or provider.model,
                    api_key=key,
                    reason=f"{name} is set",
                )
    return None


async def _at_base(
    settings: Settings, base: str, environ: Mapping[str, str], keys: MutableMapping[str, str] | None
) -> Choice:
    """A server of the person's own, which is asked what it has."""
    key = await _key(settings, ("OPENAI_API_KEY",), environ, keys)
    root = base.rstrip("/").removesuffix("/v1")
    found = await ask(LocalServer(title="the server", url=root, kind="openai"), key)
    if found is None:
        raise ModelError(
            "`model` is `auto`, but the server at `apiBase` lists no models; set `model`",
            kind="unconfigured",
        )
    return Choice(
        model=found.model,
        small_model=settings.small_model or found.model,
        api_base=found.api_base,
        api_key=key,
        reason="`apiBase` is set, and its server offers this model",
    )


async def _local(settings: Settings, servers: Sequence[LocalServer], ways: Ways) -> Choice:
    if settings.api_key_command:
        raise ModelError(
            "`apiKeyCommand` gives a key, but not whose it is; set `model` to provider/name too",
            kind="unconfigured",
        )
    found = await find_local(servers)
    if found is None:
        raise ModelError(
            f"no model is configured: {ways.model}; {DOCTOR}",
            kind="unconfigured",
            mend=ways.model,
        )
    return Choice(
        model=found.model,
        small_model=settings.small_model or found.model,
        api_base=found.api_base,
        reason=f"{found.title} answers at {found.api_base}, and no provider's key is set",
    )
