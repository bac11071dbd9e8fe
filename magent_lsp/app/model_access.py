"""Which model is asked, with which key, and what must never be shown."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from magent_lsp.core.config import Settings
from magent_lsp.core.ports import ModelSettings
from magent_lsp.core.redact import Redactor
from magent_lsp.core.ways import Ways
from magent_lsp.llm.choose import Choice, choose, known_secrets, secret_names
from magent_lsp.llm.load import GUARDS, Models

_OF_LARGE_MODELS: Final = frozenset({"thinking", "reasoning_effort", "verbosity"})


class ModelAccess:
    """The models of one client: the choice, the key, the limits."""

    def __init__(self, environ: Mapping[str, str], folder: Path, ways: Ways | None = None) -> None:
        """Relative names of scripts belong to `folder`."""
        self.models = Models(folder=folder)
        self.chosen: Choice | None = None
        """What the last run used."""
        self._environ = environ
        self._ways = ways or Ways()
        self._choices: dict[object, Choice] = {}
        self._keys: dict[str, str] = {}
        self._secrets = set(known_secrets(environ))
        """They only grow: a key that is no longer used is no less secret."""
        self._redactor = Redactor(self._secrets)

    def forget(self) -> None:
        """Choose anew at the next run: settings, keys or local servers may have changed."""
        self._choices.clear()
        self._keys.clear()

    async def choose(self, settings: Settings) -> Choice:
        """The model to ask; ModelError says what to set if there is none."""
        key = (settings.model, settings.small_model, settings.api_base, settings.api_key_command)
        if key not in self._choices:
            self._choices[key] = await choose(settings, self._environ, keys=self._keys, ways=self._ways)
        choice = self._choices[key]
        if choice.api_key and choice.api_key not in self._secrets:
            self._secrets.add(choice.api_key)
            self._redactor = Redactor(self._secrets)
        return choice

    def learn(self, values: Mapping[str, str]) -> None:
        """Hide the values whose names say that they are secret, from now on."""
        found = known_secrets(values) - self._secrets
        if found:
            self._secrets |= found
            self._redactor = Redactor(self._secrets)

    async def settings(self, settings: Settings, wished: str | None) -> ModelSettings:
        """How to ask the wished-for model, or the configured one."""
        settings = _with_model(settings, wished)
        self.chosen = choice = await self.choose(settings)
        return _how(settings, choice, self._ways)

    async def check(self, settings: Settings) -> None:
        """Raise ModelError for what can be told of the configured model without asking it."""
        await self.models.check(_how(settings, await self.choose(settings), self._ways))

    async def small(self, settings: Settings, wished: str | None) -> ModelSettings:
        """How to ask the small model, for titles and summaries; where none is set, one that suits."""
        settings = _with_model(settings, wished)
        choice = await self.choose(settings)
        if choice.small_model in ("", "auto", choice.model):
            return _how(settings, choice, self._ways)
        settings = settings.model_copy(update={"model": choice.small_model})
        how = _how(settings, await self.choose(settings), self._ways)
        # Options that suit the large model, such as a budget for thinking, may be errors for this one.
        extra = {name: value for name, value in how.extra.items() if name not in _OF_LARGE_MODELS}
        return replace(how, extra=extra, max_tokens=None)

    async def context_limit(self, settings: Settings, model: str) -> int | None:
        """The size of a model's window in tokens; the user's own setting beats the catalogue."""
        return settings.context_limit or (await self.models.limits(model)).context

    async def listed(self, settings: Settings) -> list[dict[str, Any]]:
        """Models to choose from: the configured ones, and those a local server or a key makes possible."""
        entries: dict[str, dict[str, Any]] = {}
        for name in (settings.model, settings.small_model):
            if name and name != "auto":
                entries[name] = {"model": name, "reason": "configured"}
        with contextlib.suppress(Exception):
            choice = await self.choose(settings)
            entries.setdefault(choice.model, {"model": choice.model, "reason": choice.reason})
        return list(entries.values())

    @property
    def redactor(self) -> Redactor:
        """What takes out the secrets that are known by now; another one for each further secret."""
        return self._redactor

    def redact(self, text: str) -> str:
        """The text without any secret that is known here."""
        return self._redactor.text(text)

    def unfinished(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret."""
        return self._redactor.unfinished(text)

    @property
    def secret_names(self) -> list[str]:
        """Variables of the environment that hold keys, tokens or passwords."""
        return sorted(secret_names(self._environ))

    def child_environment(self, settings: Settings) -> dict[str, str]:
        """The environment of child processes, without secrets that the settings do not pass on.

        Nor with what guards our own model client: a project's programs are to find the person's environment.
        """
        hidden = set(secret_names(self._environ)) - set(settings.bash.pass_env)
        return {
            name: value
            for name, value in self._environ.items()
            if name not in hidden and GUARDS.get(name) != value
        }


def _with_model(settings: Settings, wished: str | None) -> Settings:
    if wished and wished != "auto":
        return settings.model_copy(update={"model": wished})
    return settings


def _how(settings: Settings, choice: Choice, ways: Ways) -> ModelSettings:
    extra = dict(settings.model_settings)
    return ModelSettings(
        model=choice.model,
        reason=choice.reason,
        ways=ways,
        api_base=choice.api_base,
        api_key=choice.api_key,
        temperature=extra.pop("temperature", None),
        top_p=extra.pop("topP", None),
        max_tokens=extra.pop("maxTokens", None),
        extra=extra,
        connect_timeout=settings.timeouts.connect,
        first_chunk_timeout=settings.timeouts.first_chunk,
        chunk_timeout=settings.timeouts.chunk,
    )
