"""Where the user's configuration and our own state live."""

import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from magent_lsp.core.home import expanded

APP = "magent-lsp"


@dataclass(frozen=True, kw_only=True)
class Dirs:
    """The folders outside any project; they may not exist yet."""

    user: Path
    """Holds the user's config file, agents, skills, commands, AGENTS.md and grants."""
    state: Path
    """Holds sessions, pre-images of edits and which projects are trusted."""
    config_file: Path
    """The user's settings; usually `config.yaml` in `user`."""

    @property
    def guests(self) -> Path:
        """Where a server that takes calls of other agents can be reached; closed to sandboxed commands."""
        return self.state / "guests"

    @staticmethod
    def from_environment(environ: Mapping[str, str]) -> "Dirs":
        """The folders that `$MAGENT_CONFIG` (a file) and `$MAGENT_STATE_DIR` name, else the platform's."""
        named = environ.get("MAGENT_CONFIG", "")
        if named:
            config_file = _absolute(named, environ)
        else:
            config_file = _first_of(
                _base("XDG_CONFIG_HOME", environ) or platformdirs.user_config_path(APP, False)
            )
        state = environ.get("MAGENT_STATE_DIR", "")
        return Dirs(
            user=config_file.parent,
            state=_absolute(state, environ)
            if state
            else _base("XDG_STATE_HOME", environ) or platformdirs.user_state_path(APP, False),
            config_file=config_file,
        )

    @staticmethod
    def under(folder: Path) -> "Dirs":
        """All of it in one folder, as for a demo or a test."""
        return Dirs(
            user=folder / "config", state=folder / "state", config_file=folder / "config" / "config.yaml"
        )


def _base(variable: str, environ: Mapping[str, str]) -> Path | None:
    """Our folder in an XDG base folder; relative values do not count, as the specification says."""
    value = environ.get(variable, "")
    return Path(value) / APP if sys.platform != "win32" and value and Path(value).is_absolute() else None


def _absolute(value: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    if home and (value == "~" or value.startswith("~/")):
        return Path(home + value[1:])
    return expanded(value).absolute()


def _first_of(folder: Path) -> Path:
    return config_in(folder) or folder / "config.yaml"


def config_in(folder: Path, open: Container[Path] = ()) -> Path | None:
    """The config file of a folder: `config.yaml`, else `.yml`, else `.json`; None if there is none.

    `open` are files that are buffers, and need not be on disk.
    """
    names = ("config.yaml", "config.yml", "config.json")
    paths = (folder / name for name in names)
    return next((path for path in paths if path in open or path.exists()), None)
