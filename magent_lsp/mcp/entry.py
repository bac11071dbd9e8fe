"""An entry of `mcpServers`: how to reach one server."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from magent_lsp.core.errors import UserError
from magent_lsp.mcp.names import prefix_of

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_STREAMABLE: Final = frozenset(
    {None, "stdio", "http", "streamable-http", "streamableHttp", "streamable_http"}
)


def _text(value: Any) -> Any:
    """Numbers and truth values as people write them in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


_Text = Annotated[str, BeforeValidator(_text)]


class _Form(BaseModel):
    """What we read of an entry; other programs' keys are left alone."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")

    type: str | None = None
    command: str | None = None
    args: list[_Text] = []
    env: dict[str, _Text] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, _Text] = {}
    timeout: float = Field(120, gt=0, le=86_400)
    start_timeout: float = Field(10, ge=0, le=600)
    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One server."""

    name: str
    prefix: str
    """How the names of its tools begin."""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120
    """Seconds that a call may take, or be silent."""
    patience: float = 10
    """Seconds that a run waits for it to start."""
    disabled: bool = False

    @property
    def place(self) -> str:
        """Where it is, for people, without what may be secret."""
        if self.command:
            return f"`{self.command}`"
        parts = urlsplit(str(self.url))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def identity(self) -> tuple[Any, ...]:
        """What it is, for the hash of a tool's definition; without values that may be secret."""
        return (
            self.name,
            self.command,
            self.args,
            self.cwd,
            self.url,
            sorted(self.env),
            sorted(self.headers),
        )


def read_entry(name: str, value: Any) -> Entry:
    """An entry as it is written; UserError says what is wrong with it."""
    try:
        form = _Form.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "entry"
        raise UserError(f"`{where}`: {fault['msg'].lower()}") from None
    if form.type not in _STREAMABLE:
        raise UserError(f"its type is {form.type!r}; only `stdio` and `http` (streamable HTTP) are served")
    if bool(form.command) == bool(form.url):
        raise UserError("it needs a `command` or a `url`, and not both")
    return Entry(
        name=name,
        prefix=prefix_of(name),
        command=form.command or None,
        args=tuple(form.args),
        env=form.env,
        cwd=form.cwd,
        url=form.url or None,
        headers=form.headers,
        timeout=form.timeout,
        patience=form.start_timeout,
        disabled=form.disabled,
    )


def expanded(entry: Entry, environ: Mapping[str, str]) -> Entry:
    """The entry with `${NAME}` and `${NAME:-default}` put in; UserError names what is not set."""
    missing: dict[str, None] = {}

    def put_in(text: str) -> str:
        def one(match: re.Match[str]) -> str:
            name, default = match.groups()
            value = environ.get(name)
            if value is None and default is None:
                missing[name] = None
            return value or default or ""

        return _VARIABLE.sub(one, text)

    result = replace(
        entry,
        command=put_in(entry.command) if entry.command else None,
        args=tuple(map(put_in, entry.args)),
        env={name: put_in(value) for name, value in entry.env.items()},
        cwd=put_in(entry.cwd) if entry.cwd else None,
        url=put_in(entry.url) if entry.url else None,
        headers={name: put_in(value) for name, value in entry.headers.items()},
    )
    if missing:
        names = ", ".join(f"${{{name}}}" for name in missing)
        raise UserError(f"it names {names}, which is not set; set it, or write ${{NAME:-default}}")
    if result.url is not None and not result.url.startswith(("http://", "https://")):
        raise UserError("its `url` does not begin with http:// or https://")
    return result
