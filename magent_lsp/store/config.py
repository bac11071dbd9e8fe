"""The settings in force, from all their sources: files, the editor, the environment, the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from magent_lsp.core.config import Settings
from magent_lsp.core.errors import ConfigError
from magent_lsp.permissions.rules import Layer, Rule, Source, parse_permission
from magent_lsp.store.config_environment import allow_rules, from_environment
from magent_lsp.store.config_project import tightened, without_secrets
from magent_lsp.store.config_values import Values, check, merge
from magent_lsp.store.data import Data, Keys, parse_json, parse_yaml
from magent_lsp.store.dirs import Dirs, config_in
from magent_lsp.store.files import NO_TEXTS, Texts, read_text
from magent_lsp.store.hooks import Hook, parse_hooks
from magent_lsp.store.permission import read_permission
from magent_lsp.store.problems import UNTRUSTED, Problem, from_error

SourceLayer = Literal["user", "project", "client", "environment"]


@dataclass(frozen=True, kw_only=True)
class ConfigSource:
    """One place that settings came from, as it was read."""

    layer: SourceLayer
    data: Data
    path: Path | None = None
    trusted: bool = True
    broken: bool = False
    """It could not be parsed and there is no earlier good state: nothing of it counts, every tool asks."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The settings in force and where they came from."""

    settings: Settings
    """`permission` is always empty here: rules are never merged, they are in `layers`."""
    layers: tuple[Layer, ...]
    """Permission layers of user, project, client and environment, in this order, if they say anything."""
    allow: tuple[Rule, ...] = ()
    """The rules of `--allow`, which also stand in the environment layer."""
    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    sources: tuple[ConfigSource, ...] = ()


def load_settings(
    *,
    dirs: Dirs,
    folder: Path | None,
    trusted: bool,
    client: Mapping[str, Any],
    environ: Mapping[str, str],
    allow: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    previous: Loaded | None = None,
    texts: Texts = NO_TEXTS,
) -> Loaded:
    """Read every source; a bad one is reported and never stops anything.

    `previous` is what was in force before: a file that no longer parses keeps its state from there.
    """
    loading = _Loading(previous, texts)
    loading.add_file(dirs.config_file, "user")
    if folder is not None:
        loading.add_project(folder, trusted)
    loading.add_client(client)
    loading.add_environment(environ, allow)
    loading.add_values(overrides or {}, label=lambda keys: f"--{keys[-1]}")
    return loading.result()


class _Loading:
    """The sources in order, each on top of those before."""

    def __init__(self, previous: Loaded | None, texts: Texts) -> None:
        self.previous = previous
        self.texts = texts
        self.values: Values = {}
        self.layers: list[Layer] = []
        self.allow: tuple[Rule, ...] = ()
        self.hooks: list[Hook] = []
        self.problems: list[Problem] = []
        self.sources: list[ConfigSource] = []

    def result(self) -> Loaded:
        return Loaded(
            settings=Settings.model_validate(self.values),
            layers=tuple(self.layers),
            allow=self.allow,
            hooks=tuple(self.hooks),
            problems=tuple(dict.fromkeys(self.problems)),
            sources=tuple(self.sources),
        )

    def report(self, message: str, path: Path | None = None, line: int | None = None) -> None:
        self.problems.append(Problem(message=message, path=path, line=line))

    # files

    def read(self, path: Path, layer: SourceLayer, trusted: bool) -> ConfigSource | None:
        """A config file as it is, or in its last good state; None if there is none."""
        try:
            text = read_text(path, within=None if trusted else path.parent.parent, texts=self.texts)
            data = parse_json(text) if path.suffix == ".json" else parse_yaml(text)
            if not isinstance(data.value, dict | None):
                raise ConfigError("must be a mapping of settings", line=1)
        except FileNotFoundError:
            return None
        except ConfigError as error:
            good = self.last_good(path)
            then = "its last good state stays in force" if good else "it is ignored and every tool asks"
            self.problems.append(replace(from_error(error, path), message=f"{error.reason}; {then}"))
            return (
                replace(good, trusted=trusted)
                if good
                else ConfigSource(layer=layer, data=Data(), path=path, trusted=trusted, broken=True)
            )
        for keys, _ in data.duplicates:
            line = data.line(*keys[:-1], f"{keys[-1]} (again)")
            self.report(
                f"{keys[-1]!r} is given twice; the first one counts, of verdicts the stricter", path, line
            )
        return ConfigSource(layer=layer, data=data, path=path, trusted=trusted)

    def last_good(self, path: Path) -> ConfigSource | None:
        sources = self.previous.sources if self.previous else ()
        return next((source for source in sources if source.path == path and not source.broken), None)

    def add_file(self, path: Path, layer: SourceLayer, trusted: bool = True) -> None:
        source = self.read(path, layer, trusted)
        if source is None:
            return
        self.sources.append(source)
        if source.broken:
            rules, _ = parse_permission({"*": "ask"}, Source(name=str(path)))
            self.layers.append(Layer(name=layer, rules=rules, trusted=trusted))
            return
        values, problems = check(source.data.value or {}, data=source.data, path=path)
        self.problems += problems
        if layer == "project":
            values = self.of_project(values, source)
        self.add_rules(source, str(path))
        self.take(values, source)

    def add_project(self, folder: Path, trusted: bool) -> None:
        if trusted:
            self.add_mcp_json(folder / ".mcp.json")
        path = config_in(folder / ".magent", self.texts)
        if path is not None:
            self.add_file(path, "project", trusted)

    def of_project(self, values: Values, source: ConfigSource) -> Values:
        """Without API keys and doors for others; until it is trusted, without what does not only tighten."""
        options, secret = without_secrets(values.get("modelSettings", {}))
        for key in secret:
            name = f"modelSettings.{key}"
            message = f"{name!r}: a project may not hold API keys; use the environment or apiKeyCommand"
            self.report(message, source.path, source.data.line("modelSettings", key))
        if secret:
            values = {**values, "modelSettings": options}
        if values.get("serveMcp") is True and not self.values.get("serveMcp"):
            message = "'serveMcp': only your own config or your editor can turn it on"
            self.report(message, source.path, source.data.line("serveMcp"))
            values = {key: value for key, value in values.items() if key != "serveMcp"}
        if source.trusted:
            return values
        values, ignored = tightened(values, self.values)
        if ignored:
            names = ", ".join(repr(".".join(map(str, keys))) for keys in ignored)
            message = f"ignored {UNTRUSTED}: {names}"
            self.report(message, source.path, source.data.line(*ignored[0]))
        return values

    def add_mcp_json(self, path: Path) -> None:
        """The servers of a trusted project's `.mcp.json`."""
        try:
            data = parse_json(read_text(path, texts=self.texts))
        except FileNotFoundError:
            return
        except ConfigError as error:
            self.problems.append(from_error(error, path))
            return
        servers = data.value.get("mcpServers", data.value) if isinstance(data.value, dict) else data.value
        values, problems = check({"mcpServers": servers}, path=path)
        self.problems += problems
        self.take(values, ConfigSource(layer="project", data=data, path=path))

    # the others

    def add_client(self, client: Mapping[str, Any]) -> None:
        value = {key: item for key, item in client.items() if key != "client"}
        source = ConfigSource(layer="client", data=Data(value=value))
        self.sources.append(source)
        self.add_values(
            value, label=lambda keys: f"{'.'.join(map(str, keys))!r} (from the editor)", source=source
        )
        self.add_rules(source, "the editor's settings")

    def add_environment(self, environ: Mapping[str, str], allow: Sequence[str]) -> None:
        data, names, problems = from_environment(environ)
        self.problems += problems
        source = ConfigSource(layer="environment", data=data)
        self.sources.append(source)
        self.add_values(
            data.value or {},
            label=lambda keys: names.get(keys) or names.get(keys[:1], str(keys[0])),
            source=source,
        )
        self.allow, more = allow_rules(allow)
        self.problems += more
        self.add_rules(source, "MAGENT_PERMISSION", self.allow)

    def add_values(
        self, value: Mapping[str, Any], *, label: Callable[[Keys], str], source: ConfigSource | None = None
    ) -> None:
        values, problems = check(value, label=label)
        self.problems += problems
        self.take(values, source or ConfigSource(layer="environment", data=Data(value=dict(value))))

    # what a source adds

    def add_rules(self, source: ConfigSource, name: str, more: tuple[Rule, ...] = ()) -> None:
        rules, problems = read_permission(source.data, ("permission",), name, source.path)
        self.problems += problems
        if rules or more:
            self.layers.append(Layer(name=source.layer, rules=(*rules, *more), trusted=source.trusted))

    def take(self, values: Values, source: ConfigSource) -> None:
        if "hooks" in values:
            hooks, problems = parse_hooks(values["hooks"], source.path, source.data)
            self.hooks += hooks
            self.problems += problems
        if "mcpServers" in values:
            values = {**values, "mcpServers": self.servers(values["mcpServers"], source)}
        self.values = merge(self.values, values)

    def servers(self, servers: Mapping[str, Any], source: ConfigSource) -> dict[str, Any]:
        """The MCP servers that say how to reach them."""
        good: dict[str, Any] = {}
        for name, server in servers.items():
            entry = server if isinstance(server, dict) else {}
            if is_ourselves(
                entry
            ):  # in files that other programs read too: it gives them what our agents have
                continue
            command, url = entry.get("command"), str(entry.get("url", ""))
            if (isinstance(command, str) and command) or url.startswith(("http://", "https://", "${")):
                good[name] = server
            else:
                message = f"the MCP server {name!r} needs a `command`, or a `url` with http(s)"
                self.report(message, source.path, source.data.line("mcpServers", name))
        return good


def is_ourselves(entry: Mapping[str, Any]) -> bool:
    """Whether an MCP server is `magent-lsp mcp`."""
    command, args = entry.get("command"), entry.get("args")
    ours = isinstance(command, str) and Path(command).stem == "magent-lsp"
    return ours and isinstance(args, list) and "mcp" in args
